#include "quantizer/meta_float.h"

#include <cmath>
#include <limits>

#include "orthant/core/half.h"
#include "quantizer/little_endian.h"

namespace orthant::quantizer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint16_t to_bits(MetaType type, float x) {
  return type == MetaType::kF16 ? float_to_half(x) : float_to_bfloat16(x);
}

float from_bits(MetaType type, std::uint16_t bits) {
  return type == MetaType::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

/// The number of the format just below x; both 16-bit formats order their magnitudes as their bit patterns.
float below(MetaType type, float x) {
  if (type == MetaType::kF32) return std::nextafter(x, -kInfinity);
  if (x == 0) return from_bits(type, 0x8001);
  const std::uint16_t bits = to_bits(type, x);
  return from_bits(type, static_cast<std::uint16_t>(x > 0 ? bits - 1 : bits + 1));
}

}  // namespace

float meta_round(MetaType type, float x) { return type == MetaType::kF32 ? x : from_bits(type, to_bits(type, x)); }

float meta_floor(MetaType type, double x) {
  const float nearest = meta_round(type, static_cast<float>(x));
  return static_cast<double>(nearest) > x ? below(type, nearest) : nearest;
}

float meta_ceil(MetaType type, double x) { return -meta_floor(type, -x); }

void store_meta(MetaType type, std::uint8_t* out, float x) {
  if (type == MetaType::kF32) {
    store_float(out, x);
  } else {
    store_u16(out, to_bits(type, x));
  }
}

float load_meta(MetaType type, const std::uint8_t* in) {
  return type == MetaType::kF32 ? load_float(in) : from_bits(type, load_u16(in));
}

}  // namespace orthant::quantizer
