#pragma once

#include <bit>
#include <cstdint>

namespace orthant {

/// IEEE 754 binary16 and bfloat16, as bit patterns. All conversions from float round to nearest, ties to even;
/// overflow gives infinity; a NaN stays a (quiet) NaN; subnormals and signed zeros are kept.
/// Conversions to float are exact.
std::uint16_t float_to_half(float x);
float half_to_float(std::uint16_t bits);
inline std::uint16_t float_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const std::uint32_t quiet = bits >> 16 | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded);
}
float bfloat16_to_float(std::uint16_t bits);

}  // namespace orthant
