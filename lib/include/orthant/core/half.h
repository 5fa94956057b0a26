#pragma once

#include <cstdint>

namespace orthant {

/// IEEE 754 binary16 and bfloat16, as bit patterns. All conversions from float round to nearest, ties to even;
/// overflow gives infinity; a NaN stays a (quiet) NaN; subnormals and signed zeros are kept.
/// Conversions to float are exact.
std::uint16_t float_to_half(float x);
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float x);
float bfloat16_to_float(std::uint16_t bits);

}  // namespace orthant
