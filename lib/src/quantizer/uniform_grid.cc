#include "orthant/quantizer/uniform_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/core/error.h"
#include "quantizer/meta_float.h"

namespace orthant::quantizer {

UniformGrid::UniformGrid(int bits, bool symmetric, MetaType meta)
    : bits_(bits),
      symmetric_(symmetric),
      meta_(meta),
      top_(symmetric ? (1 << (bits - 1)) - 1 : (1 << bits) - 1),
      zero_(symmetric ? 1 << (bits - 1) : 0) {
  const int least = symmetric ? 2 : 1;
  if (bits < least || bits > 8) {
    throw_invalid_argument("uniform", symmetric ? "bits (symmetric)" : "bits", std::to_string(bits),
                           std::to_string(least) + " to 8");
  }
}

UniformGrid::Group UniformGrid::fit(float low, float high) const {
  if (symmetric_) {
    const double peak = std::max(std::fabs(low), std::fabs(high));
    return {0, meta_ceil(meta_, peak / top_)};
  }
  const float minimum = meta_floor(meta_, low);
  return {minimum, meta_ceil(meta_, (static_cast<double>(high) - static_cast<double>(minimum)) / top_)};
}

bool UniformGrid::finite(const Group& group) { return std::isfinite(group.minimum) && std::isfinite(group.step); }

std::uint8_t UniformGrid::code(const Group& group, float x) const {
  if (group.step == 0) return static_cast<std::uint8_t>(zero_);
  // Rounded to float first: an exact half of a step stays a tie although the step itself had to be rounded.
  const auto steps = static_cast<float>((static_cast<double>(x) - static_cast<double>(group.minimum)) /
                                        static_cast<double>(group.step));
  return static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(steps)) + zero_);
}

float UniformGrid::value(const Group& group, std::uint8_t code) const {
  const double x = static_cast<double>(group.minimum) + static_cast<double>(group.step) * (code - zero_);
  // Near the end of the float range the outward rounding of the grid must not turn a finite value infinite.
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -kLargest, kLargest));
}

void UniformGrid::store(const Group& group, std::uint8_t* out) const {
  store_meta(meta_, out, group.step);
  if (!symmetric_) store_meta(meta_, out + meta_bytes(meta_), group.minimum);
}

UniformGrid::Group UniformGrid::load(const std::uint8_t* in) const {
  return {symmetric_ ? 0 : load_meta(meta_, in + meta_bytes(meta_)), load_meta(meta_, in)};
}

}  // namespace orthant::quantizer
