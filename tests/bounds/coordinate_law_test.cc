#include "orthant/bounds/coordinate_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(CoordinateLaw, RefusesDimensionOne) {
  EXPECT_THROW(CoordinateLaw::sphere(1), InvalidArgument);
  EXPECT_THROW(CoordinateLaw::sphere(0), InvalidArgument);
  EXPECT_THROW(CoordinateLaw::sphere(-3), InvalidArgument);
}

TEST(CoordinateLaw, SmallDimensionsAreElementary) {
  for (const double x : {-0.999, -0.3, 0.0, 0.5, 0.75, 1.0}) {
    SCOPED_TRACE(x);
    EXPECT_NEAR(CoordinateLaw::sphere(2).cdf(x), 0.5 + std::asin(x) / kPi, 1e-15);
    EXPECT_NEAR(CoordinateLaw::sphere(3).cdf(x), (1 + x) / 2, 1e-15);
    EXPECT_NEAR(CoordinateLaw::sphere(4).cdf(x), 0.5 + (x * std::sqrt(1 - x * x) + std::asin(x)) / kPi, 1e-15);
  }
  EXPECT_DOUBLE_EQ(CoordinateLaw::sphere(3).density(0.4), 0.5);
  EXPECT_DOUBLE_EQ(CoordinateLaw::sphere(3).density(1.0), 0.5);
  EXPECT_DOUBLE_EQ(CoordinateLaw::sphere(3).density(1.1), 0.0);
  EXPECT_TRUE(std::isinf(CoordinateLaw::sphere(2).density(-1)));
  EXPECT_DOUBLE_EQ(CoordinateLaw::sphere(5).density(1), 0.0);
  EXPECT_NEAR(CoordinateLaw::sphere(2).density(0.6), 1 / (kPi * 0.8), 1e-15);
}

// Mass 1, mean 0, variance 1/d, for any cut of the support: the quadrature's error at its worst.
TEST(CoordinateLaw, CellsAddUpToTheMoments) {
  for (const std::int64_t d : {2, 3, 4, 5, 7, 64, 128, 1536, 65536, 1000000}) {
    SCOPED_TRACE(d);
    const CoordinateLaw law = CoordinateLaw::sphere(d);
    const double cut = 0.7 * law.standard_deviation();
    const auto a = law.cell(-1, cut, 0);
    const auto b = law.cell(cut, 5, 0);
    EXPECT_NEAR(a.mass + b.mass, 1, 2e-14);
    EXPECT_NEAR(a.first + b.first, 0, 2e-15);
    expect_close(a.second + b.second, 1 / static_cast<double>(d), 2e-14);
    expect_close(b.mass, law.upper_tail(cut), 1e-12);
  }
  const CoordinateLaw normal = CoordinateLaw::gaussian();
  const auto tail = normal.cell(8, std::numeric_limits<double>::infinity(), 8);
  expect_close(tail.mass, normal.upper_tail(8), 1e-13);
  expect_close(tail.first, normal.density(8) - 8 * normal.upper_tail(8), 1e-11);
}

TEST(CoordinateLaw, TailsKeepTheirDigits) {
  // d = 4: P(X > x) = (acos x - x sqrt(1 - x^2)) / pi = (2/3)(2 e)^{3/2} / pi (1 - ...) as e = 1 - x -> 0.
  const double e = 1e-6;
  expect_close(CoordinateLaw::sphere(4).upper_tail(1 - e), 2 * std::pow(2 * e, 1.5) / (3 * kPi), 1e-6);
  EXPECT_EQ(CoordinateLaw::sphere(4).upper_tail(1), 0);
  EXPECT_EQ(CoordinateLaw::sphere(4).upper_tail(-1), 1);
  EXPECT_LT(CoordinateLaw::sphere(128).upper_tail(0.9), 1e-40);
  EXPECT_GT(CoordinateLaw::sphere(128).upper_tail(0.9), 0);
}

TEST(CoordinateLaw, MeanAbsoluteCoordinateAgreesWithGolden) {
  for (const auto& row : golden_json("bounds/sign_code.json")) {
    const std::int64_t d = row["d"];
    SCOPED_TRACE(d);
    expect_close(CoordinateLaw::sphere(d).mean_abs() * std::sqrt(static_cast<double>(d)), row["mean"], 1e-13);
  }
}

TEST(CoordinateLaw, MidpointsWantIncreasingLevels) {
  EXPECT_EQ(midpoints({-1, 1, 2}), (std::vector<double>{0, 1.5}));
  EXPECT_THROW(midpoints({0, 0}), InvalidArgument);
  EXPECT_THROW(midpoints({}), InvalidArgument);
  EXPECT_THROW(midpoints({0, std::nan("")}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::bounds
