#include "orthant/bounds/mse_moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/bounds/turboquant.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

TEST(MseMoments, AgreeWithGolden) {
  for (const auto& row : golden_json("bounds/moments.json")) {
    const std::int64_t d = row["d"];
    const int bits = row["bits"];
    SCOPED_TRACE(testing::Message() << "d=" << d << " b=" << bits);
    const MseMoments m = mse_moments(d, optimal_levels(CoordinateLaw::sphere(d), bits));
    expect_close(m.distortion, row["distortion"]);
    expect_close(m.distortion_variance, row["distortion_variance"]);
    expect_close(m.alignment, 1 - row["distortion"].get<double>(), 1e-12);
    expect_close(m.alignment_variance, row["alignment_variance"]);
    expect_close(m.residual_on_key, row["residual_on_key"]);
    if (bits == 1) {
      EXPECT_NEAR(m.norm_square_variance, 0, 1e-13);  // every reconstruction has the same norm
    } else {
      expect_close(m.norm_square_variance, row["norm_square_variance"]);
    }
    const double n = static_cast<double>(d);
    expect_close(n * m.perpendicular_variance, row["mse_perpendicular_times_d"]);
    const ProductError prod = prod_error_gaussian(d, d, m);
    expect_close(n * prod.perpendicular, row["prod_perpendicular_times_d"]);
    expect_close(n * prod.parallel, row["prod_parallel_times_d"]);
  }
}

// On the circle everything is a single integral: one bit gives x_hat = (+-2/pi, +-2/pi), so
// <x_hat, x> = (2/pi)(|cos t| + |sin t|), ||x_hat||^2 = 8/pi^2.
TEST(MseMoments, OneBitOnTheCircle) {
  const double pi = std::numbers::pi;
  const MseMoments m = mse_moments(2, {-2 / pi, 2 / pi});
  expect_close(m.distortion, 1 - 8 / (pi * pi), 1e-12);
  // E (|cos| + |sin|)^2 = 1 + 2/pi.
  expect_close(m.alignment_variance, 4 / (pi * pi) * (1 + 2 / pi) - std::pow(8 / (pi * pi), 2), 1e-11);
  EXPECT_NEAR(m.norm_square_variance, 0, 1e-14);
  EXPECT_THROW(mse_moments(1, {-1, 1}), InvalidArgument);
}

// On S^2 one bit gives x_hat = (+-1/2, +-1/2, +-1/2): <x_hat, x> = (|y_1| + |y_2| + |y_3|)/2, E|y_1 y_2| = 2/(3 pi).
TEST(MseMoments, OneBitOnTheSphere) {
  const double pi = std::numbers::pi;
  const MseMoments m = mse_moments(3, {-0.5, 0.5});
  const double square = (1 + 4 / pi) / 4;
  expect_close(m.alignment, 0.75, 1e-13);
  expect_close(m.alignment_variance, square - 0.5625, 1e-12);
  expect_close(m.residual_on_key, square - 0.5, 1e-12);
  expect_close(m.distortion_variance, 4 * (square - 0.5625), 1e-12);  // ||r||^2 = 7/4 - 2 <x_hat, x>
  EXPECT_NEAR(m.norm_square_variance, 0, 1e-14);
}

// Levels that are no centroids: q = 0 everywhere gives r = x, so ||r||^2 = <r,x> = 1 without any spread.
TEST(MseMoments, TheEmptyCode) {
  for (const std::int64_t d : {2, 3, 5, 128}) {
    const MseMoments m = mse_moments(d, {0.0});
    EXPECT_NEAR(m.distortion, 1, 1e-13);
    EXPECT_NEAR(m.alignment, 0, 1e-13);
    EXPECT_NEAR(m.residual_on_key, 1, 1e-12);
    EXPECT_NEAR(m.distortion_variance, 0, 1e-12);
    EXPECT_NEAR(m.perpendicular_variance, 0, 1e-12);
  }
}

TEST(StructuredRotation, OneRoundViolatesTheorem1) {
  const CoordinateLaw law = CoordinateLaw::sphere(128);
  // At b = 2 and 3 a one-hot vector, at b = 4 to 8 a two-hot one.
  EXPECT_NEAR(flat_vector_distortion(128, optimal_levels(law, 2)), 0.2552, 5e-5);
  EXPECT_NEAR(flat_vector_distortion(128, optimal_levels(law, 3)), 0.0608, 5e-5);
  EXPECT_NEAR(half_zero_vector_distortion(128, optimal_levels(law, 4)), 0.0220, 5e-5);
  for (int b = 2; b <= 8; ++b) {
    const std::vector<double> levels = optimal_levels(law, b);
    const double worst = std::max(flat_vector_distortion(128, levels), half_zero_vector_distortion(128, levels));
    EXPECT_GT(worst, theorem1(b)) << b;
  }
}

}  // namespace
}  // namespace orthant::bounds
