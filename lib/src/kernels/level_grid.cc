#include "kernels/level_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace orthant::kernels {
namespace {

struct Range {
  double centre;
  double half;
};

Range range_of(std::span<const float> levels) {
  const auto [low, high] = std::ranges::minmax(levels);
  return {(double{low} + double{high}) / 2, (double{high} - double{low}) / 2};
}

/// True when level_k = level_0 + k * spacing up to float rounding.
bool evenly_spaced(std::span<const float> levels, const Range& range) {
  const double spacing = (double{levels.back()} - double{levels.front()}) / static_cast<double>(levels.size() - 1);
  const double tolerance = 4 * 0x1p-24 * (std::abs(range.centre) + range.half);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const double expected = double{levels.front()} + static_cast<double>(k) * spacing;
    if (std::abs(double{levels[k]} - expected) > tolerance) return false;
  }
  return spacing > 0;
}

/// Fills high and low with the grid points nearest to the levels; returns the largest error.
double fill(LevelGrid& grid, std::span<const float> levels, double centre, double step) {
  double worst = 0;
  for (std::size_t k = 0; k < std::size(grid.high); ++k) {
    const double level = double{levels[k % levels.size()]};
    const auto point = static_cast<int>(std::lround((level - centre) / step));
    worst = std::max(worst, std::abs(centre + step * point - level));
    if (grid.planes == 1) {
      grid.high[k] = static_cast<std::uint8_t>(point + grid.zero);
      grid.centred[k] = static_cast<std::uint8_t>(point);
    } else {
      const int shifted = point + grid.zero * grid.base;
      grid.high[k] = static_cast<std::uint8_t>(shifted / grid.base);
      grid.low[k] = static_cast<std::uint8_t>(shifted % grid.base);
    }
  }
  return worst;
}

}  // namespace

int query_planes_for(int bits) { return bits >= 6 ? 2 : 1; }

LevelGrid make_level_grid(std::span<const float> levels, int bits, Arithmetic arithmetic) {
  LevelGrid grid;
  const bool narrow = arithmetic == Arithmetic::kNarrow;
  grid.zero = narrow ? 64 : 128;
  grid.base = narrow ? 128 : 256;
  const Range range = range_of(levels);
  const int top = grid.zero - 1;
  double centre = range.centre;
  double step = range.half > 0 ? range.half / top : 1;
  const auto last = static_cast<double>(levels.size() - 1);
  const bool even = evenly_spaced(levels, range);
  if (even && bits == 8) {
    grid.direct = true;
    grid.zero = 128;
    step = 2 * range.half / last;
    centre = double{levels.front()} + 128 * step;
  } else if (even && last <= top) {
    // Level k lies at (2 k - last) half spacings from the centre: an integer number of steps of half / (last * m).
    step = range.half / last / std::floor(top / last);
  } else if (bits >= 6) {
    grid.planes = 2;
    step = range.half / (static_cast<double>(top) * grid.base);
  }
  grid.centre = static_cast<float>(centre);
  grid.step = static_cast<float>(step);
  grid.max_error = static_cast<float>(fill(grid, levels, double{grid.centre}, double{grid.step}));
  return grid;
}

}  // namespace orthant::kernels
