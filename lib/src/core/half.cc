#include "orthant/core/half.h"

#include <bit>

namespace orthant {

std::uint16_t float_to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U) {  // infinity, or a NaN whose leading payload bits are kept and made quiet
    const std::uint32_t payload = magnitude > 0x7F800000U ? 0x200U | (magnitude >> 13 & 0x3FFU) : 0U;
    return static_cast<std::uint16_t>(sign | 0x7C00U | payload);
  }
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 1/2 aligns the value so that the float's own rounding leaves multiples of 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  // Rebias the exponent from 127 to 15, then round the 13 dropped bits to nearest, ties to even.
  const std::uint32_t rounded = magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112U) << 23 | fraction << 13);
}

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace orthant
