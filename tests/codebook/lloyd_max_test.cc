#include "orthant/codebook/lloyd_max.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

using density::Gaussian;
using density::SphereCoordinate;

constexpr double kEps = std::numeric_limits<double>::epsilon();

TEST(LloydMax, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(lloyd_max(Gaussian(), {.bits = -1}), InvalidArgument);
  EXPECT_THROW(lloyd_max(Gaussian(), {.bits = 11}), InvalidArgument);
  EXPECT_THROW(lloyd_max(Gaussian(), {.tolerance = 0}), InvalidArgument);
  EXPECT_THROW(lloyd_max(Gaussian(), {.tolerance = std::nan("")}), InvalidArgument);
  EXPECT_THROW(lloyd_max(Gaussian(), {.max_iterations = 0}), InvalidArgument);
  EXPECT_THROW(sphere_codebook(0, 4), InvalidArgument);
  EXPECT_THROW(sphere_codebook(128, 11), InvalidArgument);
}

TEST(LloydMax, ZeroBitsIsTheMean) {
  for (const std::int64_t d : {1, 2, 3, 128}) {
    const Codebook book = sphere_codebook(d, 0);
    EXPECT_EQ(book.centroids()[0], 0);
    EXPECT_NEAR(book.distortion() * static_cast<double>(d), 1, 2 * kEps);
    EXPECT_EQ(book.entropy(), 0);
  }
}

TEST(LloydMax, TwoPointLawIsHitExactly) {
  for (int bits = 1; bits <= 10; ++bits) {
    const LloydMaxResult result = lloyd_max(SphereCoordinate(1), {.bits = bits});
    EXPECT_EQ(result.codebook.centroids().front(), -1);
    EXPECT_EQ(result.codebook.centroids().back(), 1);
    EXPECT_EQ(result.codebook.distortion(), 0);
    EXPECT_EQ(result.codebook.entropy(), 1);
    EXPECT_EQ(result.residual, 0);
    EXPECT_EQ(result.termination, Termination::kConverged);
  }
}

TEST(LloydMax, UniformLawIsTheUniformQuantizer) {
  for (int bits = 1; bits <= 10; ++bits) {
    const Codebook book = sphere_codebook(3, bits);
    const double levels = std::ldexp(1.0, bits);
    for (std::size_t k = 0; k < book.size(); ++k) {
      EXPECT_EQ(book.centroids()[k], (2 * static_cast<double>(k) + 1) / levels - 1);
    }
    EXPECT_NEAR(3 * book.distortion(), std::ldexp(1.0, -2 * bits), 2 * kEps * std::ldexp(1.0, -2 * bits));
    EXPECT_EQ(book.entropy(), bits);
  }
}

TEST(LloydMax, OneBitIsClosedForm) {
  for (const std::int64_t d : {2, 3, 4, 8, 80, 128, 4096, 1'000'000}) {
    // c = E|X| = 2 C_d / (d - 1);  d D = 1 - d c^2.
    const double c = static_cast<double>(2 * density::sphere_normalizer(d) / static_cast<long double>(d - 1));
    const Codebook book = sphere_codebook(d, 1);
    EXPECT_NEAR(book.centroids()[1], c, kEps * c);
    const double n = static_cast<double>(d);
    EXPECT_NEAR(n * book.distortion(), 1 - n * c * c, 4 * kEps);
  }
  EXPECT_NEAR(2 * sphere_codebook(2, 1).distortion(), 1 - 8 / (std::numbers::pi * std::numbers::pi), 4 * kEps);
}

TEST(LloydMax, EveryCodebookIsAStationaryPointAndSymmetric) {
  for (const std::int64_t d : {2, 3, 4, 5, 8, 17, 32, 80, 96, 576, 4096, 1'000'000, 10'000'000, 1'000'000'000}) {
    for (int bits = 1; bits <= 10; ++bits) {
      SCOPED_TRACE(testing::Message() << "d=" << d << " bits=" << bits);
      const LloydMaxResult result = lloyd_max(SphereCoordinate(d), {.bits = bits});
      EXPECT_EQ(result.termination, Termination::kConverged);
      EXPECT_LT(result.residual, 1e-13);
      EXPECT_LE(result.iterations, 20);
      const auto c = result.codebook.centroids();
      const auto t = result.codebook.boundaries();
      for (std::size_t k = 0; k < c.size() / 2; ++k) EXPECT_EQ(c[k], -c[c.size() - 1 - k]);
      EXPECT_EQ(t[t.size() / 2], 0);
      const double total = std::accumulate(result.probabilities.begin(), result.probabilities.end(), 0.0);
      EXPECT_NEAR(total, 1, static_cast<double>(c.size()) * kEps);
      for (const double p : result.probabilities) EXPECT_GT(p, 0);
    }
  }
}

// Planted fault: a solver stopped early says so, and its residual shows how far off it is.
TEST(LloydMax, NotConvergingIsAnAnswer) {
  const LloydMaxResult result = lloyd_max(Gaussian(), {.bits = 8, .max_iterations = 1});
  EXPECT_EQ(result.termination, Termination::kIterationLimit);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_GT(result.residual, 1e-13);
}

// D(b) - D_inf(b) = a_1 / d + O(d^-2) with a_1 = -E[(Z - q(Z))^2 He_4(Z)] / 4; at d = 1e6 the second term is below
// 1e-11. One bit: a_1 = -1 / pi.
TEST(LloydMax, ApproachesTheGaussianAtTheKnownRate) {
  const double d = 1e6;
  EXPECT_NEAR(d * (d * sphere_codebook(1'000'000, 1).distortion() - gaussian_codebook(1).distortion()),
              -1 / std::numbers::pi, 1e-5);
  EXPECT_NEAR(d * (d * sphere_codebook(1'000'000, 4).distortion() - gaussian_codebook(4).distortion()),
              -0.0240248217535427325, 1e-5);
}

}  // namespace
}  // namespace orthant::codebook
