#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orthant::quantizer {

/// The `count` levels of least weighted squared error, codebook::optimal_levels, with the largest repeated where there
/// are fewer distinct points than levels: a code of fixed width needs all of them. Ascending. Throws InvalidArgument
/// as that does, and unless 1 <= count <= 256.
std::vector<double> weighted_levels(std::span<const double> points, std::span<const double> weights, std::size_t count);

/// The index of the nearest level, the lower one at equal distance. levels: ascending, not empty.
std::size_t nearest_level(std::span<const double> levels, double x);

}  // namespace orthant::quantizer
