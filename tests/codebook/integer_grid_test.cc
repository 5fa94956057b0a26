#include "orthant/codebook/integer_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

double distortion(density::DensityView law, const std::vector<int>& m, double scale) {
  const auto [lower, upper] = law.support();
  long double sum = 0;
  for (std::size_t k = 0; k < m.size(); ++k) {
    sum += law.cell_moments(scale * m[k], k == 0 ? lower : scale * (m[k - 1] + m[k]) / 2,
                            k + 1 == m.size() ? upper : scale * (m[k] + m[k + 1]) / 2)
               .second;
  }
  return static_cast<double>(sum);
}

/// Least distortion over every choice of `left` more integers from `next` on.
double brute_force(density::DensityView law, std::vector<int>& chosen, int next, int highest, std::size_t levels,
                   double scale) {
  if (chosen.size() == levels) return distortion(law, chosen, scale);
  double least = std::numeric_limits<double>::infinity();
  for (int m = next; m <= highest; ++m) {
    chosen.push_back(m);
    least = std::min(least, brute_force(law, chosen, m + 1, highest, levels, scale));
    chosen.pop_back();
  }
  return least;
}

TEST(IntegerGrid, IsTheBestOfAllChoices) {
  const IntegerRange range{-5, 4};
  for (const std::int64_t d : {2, 3, 8, 128}) {
    const density::SphereCoordinate law(d);
    for (const int bits : {1, 2}) {
      const Codebook optimum = sphere_codebook(d, bits);
      const std::vector<double> scales = integer_scales(optimum, range, 7);
      const IntegerCodebook grid = optimal_integer_codebook(law, optimum, range, scales);
      double least = std::numeric_limits<double>::infinity();
      for (const double s : scales) {
        std::vector<int> chosen;
        least = std::min(least, brute_force(law, chosen, range.lowest, range.highest, optimum.size(), s));
      }
      EXPECT_NEAR(grid.least_on_set, least, 1e-13 * least) << d << " " << bits;
      EXPECT_LE(grid.distortion, least * (1 + 1e-13));
      EXPECT_NEAR(grid.distortion, distortion(law, grid.levels, grid.scale), 1e-13 * least);
      EXPECT_GE(grid.excess, -1e-13);
    }
  }
}

TEST(IntegerGrid, EightBitsCostLittleAndSevenBitsMore) {
  for (int bits = 1; bits <= 6; ++bits) {
    const Codebook optimum = sphere_codebook(128, bits);
    const density::SphereCoordinate law(128);
    const IntegerCodebook fine = optimal_integer_codebook(law, optimum, kInt8, integer_scales(optimum, kInt8, 64));
    const IntegerCodebook coarse = optimal_integer_codebook(law, optimum, kInt7, integer_scales(optimum, kInt7, 64));
    EXPECT_EQ(fine.levels.size(), optimum.size());
    EXPECT_TRUE(std::ranges::adjacent_find(fine.levels, std::greater_equal<>()) == fine.levels.end());
    EXPECT_GE(fine.levels.front(), -128);
    EXPECT_LE(fine.levels.back(), 127);
    // Rounding a level by at most half a step costs at most scale^2 / 4, so the optimum does no worse at scale c/127.
    const double step = optimum.centroids().back() / 127;
    EXPECT_LE(fine.distortion, optimum.distortion() + step * step / 4);
    EXPECT_LE(fine.excess, coarse.excess + 1e-3);
  }
}

// All 256 integers: a uniform quantizer of step `scale` whose middle lies half a step off the mean.
TEST(IntegerGrid, AllIntegersAreTheUniformGrid) {
  const Codebook optimum = sphere_codebook(3, 8);
  const density::SphereCoordinate law(3);
  const IntegerCodebook grid = optimal_integer_codebook(law, optimum, kInt8, integer_scales(optimum, kInt8, 16));
  for (int k = 0; k < 256; ++k) EXPECT_EQ(grid.levels[static_cast<std::size_t>(k)], k - 128);
}

TEST(IntegerGrid, RefusesWhatDoesNotFit) {
  const density::SphereCoordinate law(128);
  const std::vector<double> one = {0.01};
  EXPECT_THROW(optimal_integer_codebook(law, sphere_codebook(128, 8), kInt7, one), InvalidArgument);
  EXPECT_THROW(optimal_integer_codebook(law, sphere_codebook(128, 2), kInt8, {}), InvalidArgument);
  EXPECT_THROW(optimal_integer_codebook(law, sphere_codebook(128, 2), {-3000, 3000}, one), InvalidArgument);
  EXPECT_THROW(optimal_integer_codebook(law, sphere_codebook(128, 2), kInt8, std::vector<double>{0.0}),
               InvalidArgument);
  EXPECT_THROW(optimal_integer_codebook(law, sphere_codebook(128, 2), kInt8, std::vector<double>{std::nan("")}),
               InvalidArgument);
}

}  // namespace
}  // namespace orthant::codebook
