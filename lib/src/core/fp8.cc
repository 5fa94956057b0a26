#include "orthant/core/fp8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orthant {
namespace {

struct Layout {
  int mantissa_bits;
  int least_exponent;    // of the smallest normal number
  std::uint8_t largest;  // code of the largest finite value
  std::uint8_t nan;
};

constexpr Layout layout_of(Fp8Type type) {
  switch (type) {
    case Fp8Type::kE4M3:
      return {3, -6, 0x7E, 0x7F};
    case Fp8Type::kE5M2:
      return {2, -14, 0x7B, 0x7E};
    case Fp8Type::kE4M3Fnuz:
      return {3, -7, 0x7F, 0x80};
  }
  return {};
}

constexpr std::uint8_t kInfinityE5M2 = 0x7C;

}  // namespace

std::uint8_t float_to_fp8(float x, Fp8Type type, bool saturate) {
  const Layout layout = layout_of(type);
  const bool unsigned_zero = type == Fp8Type::kE4M3Fnuz;
  const std::uint8_t sign = std::signbit(x) ? 0x80 : 0x00;
  if (std::isnan(x)) return static_cast<std::uint8_t>(sign | layout.nan);

  std::uint32_t code = 0xFF;  // beyond every finite code
  if (std::isfinite(x) && std::fabs(x) < 0x1p17F) {
    // The binade of x, or the subnormal one below all binades of the format.
    const int exponent = x == 0 ? layout.least_exponent : std::max(std::ilogb(x), layout.least_exponent);
    // Scaling by a power of two is exact, so the only rounding is nearbyint's. A mantissa that rounds up to 2^(m+1)
    // carries into the exponent field by itself.
    const float mantissa = std::nearbyint(std::ldexp(std::fabs(x), layout.mantissa_bits - exponent));
    code = (static_cast<std::uint32_t>(exponent - layout.least_exponent) << layout.mantissa_bits) +
           static_cast<std::uint32_t>(mantissa);
  }
  if (code > layout.largest) {
    if (saturate) return static_cast<std::uint8_t>(sign | layout.largest);
    if (type == Fp8Type::kE5M2) return static_cast<std::uint8_t>(sign | kInfinityE5M2);
    return unsigned_zero ? layout.nan : static_cast<std::uint8_t>(sign | layout.nan);
  }
  if (code == 0 && unsigned_zero) return 0;
  return static_cast<std::uint8_t>(sign | code);
}

float fp8_to_float(std::uint8_t bits, Fp8Type type) {
  const Layout layout = layout_of(type);
  const std::uint32_t magnitude = bits & 0x7FU;
  const bool nan = type == Fp8Type::kE4M3Fnuz ? bits == layout.nan : magnitude > layout.largest;
  if (type == Fp8Type::kE5M2 && magnitude == kInfinityE5M2) {
    return bits > 0x7F ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  if (nan) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t one = 1U << layout.mantissa_bits;
  const std::uint32_t field = magnitude >> layout.mantissa_bits;
  const std::uint32_t fraction = magnitude & (one - 1);
  // Subnormals have the exponent of the first normal binade and no hidden bit.
  const std::uint32_t mantissa = field == 0 ? fraction : fraction + one;
  const int exponent = layout.least_exponent + (field == 0 ? 0 : static_cast<int>(field) - 1) - layout.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(mantissa), exponent);
  return bits > 0x7F ? -value : value;
}

float fp8_max(Fp8Type type) { return fp8_to_float(layout_of(type).largest, type); }

}  // namespace orthant
