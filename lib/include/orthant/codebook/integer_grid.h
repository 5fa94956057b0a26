#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orthant/codebook/codebook.h"
#include "orthant/density/density.h"

namespace orthant::codebook {

/// Integers a kernel can look levels up in.
struct IntegerRange {
  int lowest;
  int highest;
};
inline constexpr IntegerRange kInt8{-128, 127};
inline constexpr IntegerRange kInt7{-64, 63};

/// Levels scale * m_k with distinct ascending integers m_k.
struct IntegerCodebook {
  double scale = 0;
  std::vector<int> levels;
  double distortion = 0;    ///< of one coordinate, thresholds at midpoints
  double excess = 0;        ///< distortion / optimal distortion - 1
  double least_on_set = 0;  ///< least distortion of any integer codebook at any scale of the set
  double scale_on_set = 0;  ///< the scale of the set that reaches it
  std::size_t scales = 0;   ///< size of the set
};

/// Scales c / u for `count` values u spaced evenly between a quarter of the largest integer and 1.25 times it, c the
/// optimum's outer level: from coarse steps that waste the ends of the range to fine ones that clip.
std::vector<double> integer_scales(const Codebook& optimum, IntegerRange range, std::size_t count = 512);

/// The best integer codebook: for each scale of the set, the best 2^bits of the range's integers, found exactly by
/// dynamic programming over
///   cost(i, j) = integral over [s i, s j] of min((x - s i)^2, (x - s j)^2) f(x) dx
/// (divide and conquer on its Monge property, Wu 1991); then the best one's scale moved to its own optimum, which can
/// only lower the distortion. So no integer codebook at any scale of the set is better than the result: costs are sums
/// of positive moments in extended precision, wrong by less than 1e-13 of the distortion.
/// `law` must be the optimum's. Throws InvalidArgument when the range has fewer than 2^bits integers or more than 4096,
/// for an empty set, or a scale that is not positive and finite.
IntegerCodebook optimal_integer_codebook(density::DensityView law, const Codebook& optimum, IntegerRange range,
                                         std::span<const double> scales);

}  // namespace orthant::codebook
