// Inputs that broke other implementations, with their right values (30-digit arithmetic; 1e-9 relative as printed).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/codebook/lloyd_max.h"

namespace orthant::codebook {
namespace {

using density::CellMoments;
using density::Gaussian;
using density::SphereCoordinate;

double relative_mse(const LloydMaxResult& result) {
  const std::int64_t d = result.codebook.dim();
  return result.codebook.distortion() * (d == 0 ? 1.0 : static_cast<double>(d));
}

/// E (X - s c(X))^2 d: what a codebook whose values are multiplied by s does on a coordinate of S^{d-1}.
double mse_on_sphere(const Codebook& book, double scale, std::int64_t d) {
  const SphereCoordinate law(d);
  long double sum = 0;
  for (std::size_t k = 0; k < book.size(); ++k) {
    const double low = k == 0 ? -1 : scale * book.boundaries()[k - 1];
    const double high = k + 1 == book.size() ? 1 : scale * book.boundaries()[k];
    sum += law.cell_moments(scale * book.centroids()[k], low, high).second;
  }
  return static_cast<double>(sum) * static_cast<double>(d);
}

// Seeding the levels evenly over [-1, 1] freezes most of them: the density is a needle (vortex PR 8076).
TEST(FieldCases, NoCellIsFrozenAtLargeDimensions) {
  struct Case {
    std::int64_t d;
    int bits;
    double mse;
  };
  for (const Case& c : {Case{4096, 4, 0.00949514401}, Case{1024, 8, 4.1066021e-5}, Case{256, 4, 0.00940752943}}) {
    const LloydMaxResult result = lloyd_max(SphereCoordinate(c.d), {.bits = c.bits});
    EXPECT_NEAR(relative_mse(result), c.mse, 1e-8 * c.mse) << c.d;
    EXPECT_GT(*std::min_element(result.probabilities.begin(), result.probabilities.end()), 0);
  }
}

// A fixed number of Lloyd sweeps is not convergence (turboquant_plus PR 96, issue 3).
TEST(FieldCases, OuterLevelIsConverged) {
  const LloydMaxResult gaussian = lloyd_max(Gaussian(), {.bits = 4});
  EXPECT_NEAR(gaussian.codebook.centroids().back(), 2.73258957, 1e-8);
  EXPECT_NEAR(gaussian.codebook.centroids().back() / std::sqrt(128.0), 0.2415290770, 1e-10);
  EXPECT_NEAR(relative_mse(gaussian), 0.00950100801, 1e-11);
  const LloydMaxResult sphere = lloyd_max(SphereCoordinate(128), {.bits = 4});
  EXPECT_NEAR(sphere.codebook.centroids().back(), 0.2376638268, 1e-10);
  EXPECT_NEAR(relative_mse(sphere), 0.00931478795, 1e-11);
  EXPECT_LE(gaussian.residual, 1e-12);
  EXPECT_LE(sphere.residual, 1e-12);
}

// The table for N(0, 1) used on unit vectors without 1/sqrt(d) (faiss issue 5317).
TEST(FieldCases, UnitVarianceTableOnTheSphereIsFarOff) {
  EXPECT_NEAR(mse_on_sphere(sphere_codebook(64, 4), 1, 64), 0.00913151760, 1e-11);
  EXPECT_NEAR(mse_on_sphere(gaussian_codebook(4), 1, 64), 0.3555, 5e-5);
  EXPECT_NEAR(mse_on_sphere(gaussian_codebook(4), 1, 768), 7.98, 5e-3);
}

// A quantile anchor that is right only at 2 bits (turbovec issue 454): Phi of the outermost Gaussian level.
TEST(FieldCases, ProbabilityLevelOfTheOuterCentroid) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double expected[] = {0.934532, 0.984299, 0.996858};
  for (int bits = 2; bits <= 4; ++bits) {
    EXPECT_NEAR(Gaussian().mass(-infinity, gaussian_codebook(bits).centroids().back()), expected[bits - 2], 5e-7);
  }
}

// Quadrature on a density that is infinite or degenerate at its ends (turbovec PR 10, vortex PR 7167).
TEST(FieldCases, DegenerateDimensions) {
  EXPECT_EQ(sphere_codebook(1, 1).centroids()[0], -1);
  EXPECT_EQ(sphere_codebook(1, 1).centroids()[1], 1);
  EXPECT_EQ(sphere_codebook(1, 1).distortion(), 0);
  EXPECT_NEAR(2 * sphere_codebook(2, 2).distortion(), 0.041809578, 5e-10);
  EXPECT_EQ(sphere_codebook(3, 2).centroids()[0], -0.75);
  EXPECT_EQ(sphere_codebook(3, 2).centroids()[2], 0.25);
  EXPECT_NEAR(3 * sphere_codebook(3, 2).distortion(), 0.0625, 1e-16);
  EXPECT_NEAR(1e6 * sphere_codebook(1'000'000, 4).distortion(), 0.00950098, 1e-7);
}

// The codebook of the full head on blocks normalised separately (llama-cpp-turboquant PR 5).
TEST(FieldCases, CodebookOfAnotherDimension) {
  EXPECT_NEAR(mse_on_sphere(sphere_codebook(32, 3), 1, 32), 0.032261066, 1e-9);
  EXPECT_NEAR(mse_on_sphere(sphere_codebook(32, 4), 1, 32), 0.0087738256, 1e-10);
  EXPECT_NEAR(mse_on_sphere(sphere_codebook(128, 3), 1, 32), 0.128422, 5e-7);
  EXPECT_NEAR(mse_on_sphere(sphere_codebook(128, 4), 1, 32), 0.0634541, 5e-8);
}

}  // namespace
}  // namespace orthant::codebook
