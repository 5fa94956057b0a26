#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orthant::quantizer {

/// The `count` levels of least weighted squared error for points on a line,
///   min over levels of  sum_i w_i min_k (x_i - l_k)^2,
/// exactly, by dynamic programming over intervals of the sorted points (Bruce 1965; Wu 1991): the k-means that random
/// starts may miss. The interval cost has the quadrangle inequality, so divide and conquer needs O(count n log n) time
/// and 4 count n bytes. Costs from prefix sums about the mean, in extended precision.
/// Ascending; when there are fewer distinct points than levels, the largest level is repeated.
/// weights: as many as points, finite and not negative, or empty for equal ones. Throws InvalidArgument otherwise, for
/// points that are not finite, for no points of positive weight, and unless 1 <= count <= 256.
std::vector<double> weighted_levels(std::span<const double> points, std::span<const double> weights, std::size_t count);

/// The index of the nearest level, the lower one at equal distance. levels: ascending, not empty.
std::size_t nearest_level(std::span<const double> levels, double x);

}  // namespace orthant::quantizer
