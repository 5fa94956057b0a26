#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orthant::codebook {

/// The optimal quantizer of a finite weighted sample: what one-dimensional weighted k-means asks for.
struct WeightedLevels {
  std::vector<double> centroids;   ///< ascending; fewer than asked for when there are fewer distinct points
  std::vector<std::size_t> first;  ///< first sorted point of each cell
  double distortion = 0;           ///< sum w_i (x_i - c(x_i))^2 / sum w_i, the global minimum
};

/// Global optimum by dynamic programming over the sorted points, divide and conquer on the monotone split (Wu 1991;
/// Groenlund et al. 2017): O(levels n log n) time, O(levels n) memory. Costs come from prefix sums in extended
/// precision about the sample's mean: absolute error about 1e-19 n of the sample variance. Equal weights when `weights`
/// is empty; points of weight 0 are left out. Throws InvalidArgument for no point of positive weight, a point or weight
/// that is not finite, a negative weight, lists of different length, no level, or levels * points above 2^28 (1 GiB of
/// splits).
WeightedLevels optimal_levels(std::span<const double> points, std::span<const double> weights, std::size_t levels);

}  // namespace orthant::codebook
