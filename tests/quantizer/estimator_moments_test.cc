// Bias and mean squared error of every inner-product estimator against its exact value at finite d (estimator_study.h),
// for queries orthogonal and parallel to the vector and between; the full grid is in estimator_grid_test.cc.
//
// 80 draws: a mean leaves 4 standard errors with probability 1.4e-4 (Student, 79 degrees of freedom). 3 dimensions, 73
// methods, 5 correlations, bias and square: 2190 comparisons, so a fresh seed fails with probability 0.31 at most; the
// seed is fixed.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/moments.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/quantizer/turbo_prod.h"
#include "orthant/transform/haar.h"
#include "quantizer/estimator_study.h"
#include "quantizer/pairs.h"

namespace orthant::quantizer {
namespace {

using codebook::sphere_codebook;
constexpr double kHalfPi = std::numbers::pi / 2;

class Estimators : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Dimensions, Estimators, testing::Values(64, 128, 256));

TEST_P(Estimators, HaveTheirExactBiasAndMeanSquare) {
  expect_exact_values({.dim = GetParam(), .correlations = {0, 0.1, 0.5, 0.9, 1}});
}

TEST(TurboProd, CorrectionStageDoesItsWork) {
  // x.y = 0.5. Without the stage the slope is 1 - D(128, 3) = 0.966034; with it 1, and d Var = (pi/2) D less about
  // 0.0003 to 0.001 (the parts of r along q).
  const std::size_t d = 128;
  const double distortion = 128 * sphere_codebook(128, 3).distortion();
  Moments with;
  Moments without;
  Moments variance;
  std::vector<float> q(d);
  for (std::uint64_t draw = 0; draw < 40; ++draw) {
    const auto rotation = std::make_shared<const transform::Haar>(d, 1, draw);
    const TurboProd prod(rotation, sphere_codebook(128, 3),
                         std::make_shared<const Sketch>(SketchKind::kGaussian, d, d, 1, draw),
                         {ResidualNorm::kStored, ScaleFormat::kFloat});
    const TurboMse mse(rotation, sphere_codebook(128, 3), {ScaleRule::kRaw, ScaleFormat::kFloat});
    RngStream(2, Domain::kData, draw).fill_unit_vector(q);
    const Matrix<float> x = rows_at_correlation(q, 0.5, 250, 3, draw);
    const auto score = [&](const VectorQuantizer& quantizer) {
      Workspace work(quantizer.workspace_bytes(250));
      Matrix<std::uint8_t> packed(250, quantizer.bytes_per_vector());
      std::vector<float> estimates(250);
      quantizer.encode(x.view(), packed.view(), work);
      quantizer.estimate(q, packed.view(), estimates, work);
      return estimates;
    };
    const std::vector<float> corrected = score(prod);
    const std::vector<float> plain = score(mse);
    EXPECT_NE(corrected, plain);
    Moments a;
    Moments b;
    Moments square;
    for (std::size_t i = 0; i < 250; ++i) {
      a.add(static_cast<double>(corrected[i]) / 0.5);
      b.add(static_cast<double>(plain[i]) / 0.5);
      square.add(std::pow(static_cast<double>(corrected[i]) - 0.5, 2));
    }
    with.add(a.mean());
    without.add(b.mean());
    variance.add(128 * square.mean());
  }
  EXPECT_NEAR(with.mean(), 1, 4 * with.standard_error());
  EXPECT_NEAR(without.mean(), 0.966034, 4 * without.standard_error());
  EXPECT_NEAR(variance.mean(), kHalfPi * distortion, 4 * variance.standard_error() + 0.001);
  EXPECT_GT(std::abs(without.mean() - 1), 8 * without.standard_error()) << "a dead stage would be seen";
}

TEST(Sketch, OrthogonalRowsWithTheGaussianCoefficientWouldBeNoticed) {
  // Planted fault: sqrt(pi/2)/d on orthonormal rows, sqrt(d) too small; slopes .67 to .99 instead of 1 in a library.
  const Sketch sketch(SketchKind::kOrthogonal, 64, 64, 1);
  const double released = std::sqrt(kHalfPi) / 64;
  EXPECT_NEAR(sketch.factor() * sketch.beta(), released, 1e-15);  // for rows of length sqrt(d), as ours are
  EXPECT_NEAR(sketch.beta(), 1.00391, 5e-6);
  EXPECT_NEAR(Sketch(SketchKind::kHadamard, 128, 128, 1).beta(), 1.00196, 5e-6);
  std::vector<float> x(64);
  std::vector<float> s(64);
  RngStream(1, Domain::kData, 1).fill_unit_vector(x);
  Workspace work(sketch.workspace_bytes());
  sketch.project(x, s, work);
  EXPECT_NEAR(inner_product(s, s), 64, 1e-4);
}

}  // namespace
}  // namespace orthant::quantizer
