#include "orthant/quantizer/scale.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "orthant/core/error.h"
#include "quantizer/little_endian.h"

namespace orthant::quantizer {
namespace {

struct Range {
  const char* name;
  float low;
  float high;
  float (*round)(float);
};
// In the order of ScaleFormat.
constexpr std::array<Range, 2> kRanges = {{
    {"f16", 0x1p-14F, 65504.0F, [](float x) { return half_to_float(float_to_half(x)); }},
    {"f32", 0x1p-149F, 0x1p126F, [](float x) { return x; }},
}};

}  // namespace

double scale_factor(ScaleRule rule, double c_dot_y, double c_square) {
  if (c_dot_y <= 0 || c_square <= 0) return 1;
  switch (rule) {
    case ScaleRule::kRaw:
      return 1;
    case ScaleRule::kMatched:
      return 1 / std::sqrt(c_square);
    case ScaleRule::kMse:
      return c_dot_y / c_square;
    case ScaleRule::kUnbiased:
      return 1 / c_dot_y;
  }
  return 1;
}

float stored_scale(ScaleFormat format, double scale, std::size_t row) {
  const Range& range = kRanges[static_cast<std::size_t>(format)];
  const float rounded = range.round(static_cast<float>(scale));
  if (scale == 0 || (rounded >= range.low && rounded <= range.high)) return rounded;
  throw_invalid_argument("encode", "scale of row " + std::to_string(row), fmt::format("{:.6g}", scale),
                         fmt::format("0 or {:.6g} to {:.6g}, the range of norm={}{}", range.low, range.high,
                                     name(format), format == ScaleFormat::kHalf ? "; a wider format is norm=f32" : ""));
}

void store_scale(ScaleFormat format, float scale, std::uint8_t* out) {
  if (format == ScaleFormat::kHalf) {
    store_half(out, scale);
  } else {
    store_float(out, scale);
  }
}

float load_scale(ScaleFormat format, const std::uint8_t* in) {
  return format == ScaleFormat::kHalf ? load_half(in) : load_float(in);
}

const char* name(ScaleFormat format) { return kRanges[static_cast<std::size_t>(format)].name; }

const char* name(ScaleRule rule) {
  constexpr std::array kNames = {"raw", "matched", "mse", "unbiased"};
  return kNames[static_cast<std::size_t>(rule)];
}

}  // namespace orthant::quantizer
