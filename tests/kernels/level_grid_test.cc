#include "kernels/level_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace orthant::kernels {
namespace {

std::vector<float> even(int bits, float first, float spacing) {
  std::vector<float> levels(std::size_t{1} << bits);
  for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = first + static_cast<float>(k) * spacing;
  return levels;
}

double value(const LevelGrid& grid, std::size_t k) {
  const int point = grid.planes == 1 ? grid.high[k] - grid.zero : (grid.high[k] - grid.zero) * grid.base + grid.low[k];
  return double{grid.centre} + double{grid.step} * point;
}

TEST(LevelGrid, EvenLevelsAreExactWhereTheyFit) {
  for (const Arithmetic arithmetic : {Arithmetic::kWide, Arithmetic::kNarrow}) {
    for (int bits = 1; bits <= (arithmetic == Arithmetic::kWide ? 7 : 6); ++bits) {
      const std::vector<float> levels = even(bits, -3, 0.25F);
      const LevelGrid grid = make_level_grid(levels, bits, arithmetic);
      EXPECT_EQ(grid.planes, 1);
      EXPECT_LT(grid.max_error, 1e-5F) << bits;  // float rounding of centre and step: 2^-24 times 32 steps
    }
    const LevelGrid bytes = make_level_grid(even(8, -128, 1), 8, arithmetic);
    EXPECT_TRUE(bytes.direct);
    EXPECT_EQ(bytes.max_error, 0);
    for (std::size_t k = 0; k < 256; ++k) EXPECT_EQ(bytes.high[k], k);
  }
}

// The claim that the score bound rests on: half a step of 2 C / (2 * 127), or 63, or with two planes 127 or 63 * 128.
TEST(LevelGrid, ErrorIsAtMostHalfAStep) {
  for (const Arithmetic arithmetic : {Arithmetic::kWide, Arithmetic::kNarrow, Arithmetic::kTables}) {
    for (int bits = 1; bits <= 8; ++bits) {
      std::vector<float> levels(std::size_t{1} << bits);
      for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = std::sinh(static_cast<float>(k) * 0.01F) - 0.3F;
      std::ranges::reverse(levels);  // any order is allowed
      const LevelGrid grid = make_level_grid(levels, bits, arithmetic);
      const double half_range = (double{levels.front()} - double{levels.back()}) / 2;
      const double steps = (arithmetic == Arithmetic::kNarrow ? 63 : 127) *
                           (grid.planes == 2 ? (arithmetic == Arithmetic::kNarrow ? 128 : 256) : 1);
      for (std::size_t k = 0; k < levels.size(); ++k) {
        EXPECT_LE(std::abs(value(grid, k) - double{levels[k]}), half_range / steps / 2 * (1 + 1e-3)) << bits;
        EXPECT_LE(std::abs(value(grid, k) - double{levels[k]}), double{grid.max_error} * (1 + 1e-6));
        EXPECT_LT(grid.low[k], grid.base);
        EXPECT_LT(grid.high[k], 2 * grid.zero);
      }
    }
  }
}

TEST(LevelGrid, OneLevelIsItself) {
  const std::vector<float> one = {0.75F};
  const LevelGrid grid = make_level_grid(one, 0, Arithmetic::kWide);
  EXPECT_EQ(value(grid, 0), 0.75);
}

}  // namespace
}  // namespace orthant::kernels
