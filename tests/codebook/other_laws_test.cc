#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/density/laplace.h"
#include "orthant/density/truncated_gaussian.h"

namespace orthant::codebook {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(OtherLaws, LaplaceOneBitIsClosedForm) {
  const LloydMaxResult result = lloyd_max(density::Laplace(), {.bits = 1});
  EXPECT_NEAR(result.codebook.centroids()[1], 1 / std::numbers::sqrt2, 1e-15);
  EXPECT_NEAR(result.codebook.distortion(), 0.5, 1e-15);
}

// Two bits: with s = sqrt 2, levels a, a + h and threshold t = a + h/2, the exponential tail gives a + h = t + 1/s,
// hence h = 2/s, and a is the mean of [0, t]: a = 1/s - t / (exp(s t) - 1).
TEST(OtherLaws, LaplaceTwoBitsIsATranscendentalEquation) {
  const LloydMaxResult result = lloyd_max(density::Laplace(), {.bits = 2});
  const double s = std::numbers::sqrt2;
  double a = 0.4;
  for (int i = 0; i < 200; ++i) a = 1 / s - (a + 1 / s) / std::expm1(s * (a + 1 / s));
  EXPECT_NEAR(result.codebook.centroids()[2], a, 1e-14);
  EXPECT_NEAR(result.codebook.centroids()[3], a + 2 / s, 1e-14);
}

TEST(OtherLaws, EveryLawConvergesAtEveryWidth) {
  const density::Laplace laplace;
  const density::TruncatedGaussian half(0, 1, 0, kInf);
  const density::TruncatedGaussian skew(1, 2, -1.5, 7);
  const density::TruncatedGaussian clipped(0, 1, -2, 2);
  for (int bits = 0; bits <= 8; ++bits) {
    for (const density::DensityView law : {density::DensityView(laplace), density::DensityView(half),
                                           density::DensityView(skew), density::DensityView(clipped)}) {
      const LloydMaxResult result = lloyd_max(law, {.bits = bits});
      EXPECT_EQ(result.termination, Termination::kConverged) << law.name() << " " << bits;
      EXPECT_LT(result.residual, 1e-13) << law.name() << " " << bits;
    }
  }
}

TEST(OtherLaws, ScalingAndShiftingTheLawDoesTheSameToTheCodebook) {
  const density::TruncatedGaussian law(5, 0.25, -kInf, kInf);
  const LloydMaxResult result = lloyd_max(law, {.bits = 4});
  const Codebook standard = gaussian_codebook(4);
  for (std::size_t k = 0; k < 16; ++k) {
    EXPECT_NEAR(result.codebook.centroids()[k], 5 + 0.25 * standard.centroids()[k], 2e-15);
  }
  EXPECT_NEAR(result.codebook.distortion(), standard.distortion() / 16, 1e-17);
}

// As the interval shrinks the law becomes uniform: D -> width^2 / (12 N^2), with a relative difference below width^2.
TEST(OtherLaws, ANarrowGaussianIsUniform) {
  const density::TruncatedGaussian law(0, 1, -0.005, 0.005);
  const LloydMaxResult result = lloyd_max(law, {.bits = 3});
  const double uniform = 0.01 * 0.01 / (12 * 64);
  EXPECT_NEAR(result.codebook.distortion() / uniform, 1, 1e-4);
}

}  // namespace
}  // namespace orthant::codebook
