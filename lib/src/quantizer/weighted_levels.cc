#include "orthant/quantizer/weighted_levels.h"

#include <algorithm>
#include <string>

#include "orthant/codebook/weighted_levels.h"
#include "orthant/core/error.h"

namespace orthant::quantizer {

std::vector<double> weighted_levels(std::span<const double> points, std::span<const double> weights,
                                    std::size_t count) {
  if (count < 1 || count > 256) throw_invalid_argument("weighted_levels", "levels", std::to_string(count), "1 to 256");
  std::vector<double> levels = codebook::optimal_levels(points, weights, count).centroids;
  levels.resize(count, levels.back());
  return levels;
}

std::size_t nearest_level(std::span<const double> levels, double x) {
  const auto above = std::ranges::lower_bound(levels, x);
  if (above == levels.begin()) return 0;
  std::size_t index = static_cast<std::size_t>(above - levels.begin());
  if (above == levels.end() || x - levels[index - 1] <= levels[index] - x) --index;
  // Equal levels: the first of them.
  return static_cast<std::size_t>(std::ranges::lower_bound(levels, levels[index]) - levels.begin());
}

}  // namespace orthant::quantizer
