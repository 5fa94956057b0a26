#include "orthant/density/sphere_coordinate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/core/error.h"

namespace orthant::density {
namespace {

static_assert(Density<SphereCoordinate>);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;
// Everything is evaluated with 64-bit significands and rounded once: 1 ulp of a double, with room for library
// functions.
constexpr double kUlp = 4e-16;

TEST(SphereCoordinate, DimensionOutOfRangeIsRefused) {
  EXPECT_THROW(SphereCoordinate(0), InvalidArgument);
  EXPECT_THROW(SphereCoordinate(-3), InvalidArgument);
  EXPECT_THROW(SphereCoordinate(SphereCoordinate::kMaxDim + 1), InvalidArgument);
  EXPECT_THROW(sphere_normalizer(1), InvalidArgument);
}

TEST(SphereCoordinate, OneDimensionIsTheTwoPointLaw) {
  const SphereCoordinate law(1);
  EXPECT_EQ(law.pdf(0.5), 0);
  EXPECT_EQ(law.mass(-1, 1), 1);
  EXPECT_EQ(law.mass(-kInf, 0), 0.5);
  EXPECT_EQ(law.mass(-0.5, 0.5), 0);
  EXPECT_EQ(law.first_moment(0, 1), 0.5);
  EXPECT_EQ(law.second_moment(-1, 1), 1);
}

TEST(SphereCoordinate, SmallDimensionsAreTheirNamedLaws) {
  for (const double x : {0.0, 1e-9, 0.1, 0.5, 0.7, 0.9, 0.999}) {
    SCOPED_TRACE(x);
    EXPECT_NEAR(SphereCoordinate(2).mass(0, x), std::asin(x) / kPi, kUlp);
    EXPECT_NEAR(SphereCoordinate(2).pdf(x), 1 / (kPi * std::sqrt((1 - x) * (1 + x))),
                4 * kUlp * SphereCoordinate(2).pdf(x));
    EXPECT_EQ(SphereCoordinate(3).mass(0, x), x / 2);
    EXPECT_EQ(SphereCoordinate(3).pdf(x), 0.5);
    EXPECT_NEAR(SphereCoordinate(4).mass(0, x), (x * std::sqrt(1 - x * x) + std::asin(x)) / kPi, kUlp);
    EXPECT_NEAR(SphereCoordinate(5).mass(0, x), 0.75 * (x - x * x * x / 3), kUlp);
  }
  EXPECT_EQ(SphereCoordinate(2).pdf(1), kInf);
  EXPECT_EQ(SphereCoordinate(4).pdf(-1), 0);
}

// Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) by the two-step recursion in long double, on both sides of where the
// implementation changes its method, and against sqrt(d / (2 pi)) (1 - 3/(4d) + O(d^-2)) far out.
TEST(SphereCoordinate, NormalizerNeitherOverflowsNorCancels) {
  for (int parity : {0, 1}) {
    long double c = parity == 0 ? 1 / std::numbers::pi_v<long double> : 0.5L;
    for (int d = 2 + parity; d < 3000; d += 2) {
      ASSERT_NEAR(static_cast<double>(sphere_normalizer(d) / c - 1), 0, 3e-17) << d;  // 1500 roundings of 5e-20
      c *= static_cast<long double>(d) / static_cast<long double>(d - 1);
    }
  }
  const double d = 1e9;
  const double limit = std::sqrt(d / (2 * kPi)) * (1 - 0.75 / d);
  EXPECT_NEAR(static_cast<double>(sphere_normalizer(1'000'000'000)), limit, 1e-15 * limit);
}

TEST(SphereCoordinate, WholeMomentsAreOneZeroAndOneOverD) {
  for (const std::int64_t d :
       {1LL, 2LL, 3LL, 4LL, 5LL, 8LL, 65LL, 66LL, 128LL, 4097LL, 1'000'000LL, 10'000'000LL, 1'000'000'000LL}) {
    SCOPED_TRACE(d);
    const SphereCoordinate law(d);
    EXPECT_NEAR(law.mass(-kInf, kInf), 1, kUlp);
    EXPECT_NEAR(law.first_moment(-1, 1), 0, kUlp);
    EXPECT_NEAR(law.second_moment(-2, 2) * static_cast<double>(d), 1, 2 * kUlp);
    EXPECT_NEAR(law.mass(0, 1), 0.5, kUlp);
    const CellMoments all = law.cell_moments(0, -1, 1);
    EXPECT_NEAR(static_cast<double>(all.mass), 1, kUlp);
    EXPECT_NEAR(static_cast<double>(all.second) * static_cast<double>(d), 1, 2 * kUlp);
  }
}

// The closed forms and the panels share nothing but C_d.
TEST(SphereCoordinate, ClosedFormsAgreeWithLocalQuadrature) {
  for (const std::int64_t d : {2LL, 3LL, 4LL, 7LL, 8LL, 33LL, 128LL, 1024LL, 65536LL, 10'000'000LL}) {
    const SphereCoordinate law(d);
    const double sigma = std::sqrt(law.variance());
    for (const double a : {-6.0, -1.5, -0.3, 0.0, 0.01, 0.9, 1.9, 2.1, 5.0}) {
      for (const double width : {1e-3, 0.02, 0.5, 3.0, 40.0}) {
        const double low = std::max(-1.0, a * sigma);
        const double high = std::min(1.0, (a + width) * sigma);
        if (low >= high) continue;
        SCOPED_TRACE(testing::Message() << "d=" << d << " [" << low << ", " << high << "]");
        const CellMoments cell = law.cell_moments(0, low, high);
        const auto mass = static_cast<double>(cell.mass);
        // 1e-18 of the half-line is what a difference of two central masses keeps.
        const double near = 2e-18;
        EXPECT_NEAR(law.mass(low, high), mass, kUlp * mass + near);
        EXPECT_NEAR(law.first_moment(low, high), static_cast<double>(cell.first),
                    kUlp * mass * std::max(-low, high) + near * sigma);
        EXPECT_NEAR(law.second_moment(low, high), static_cast<double>(cell.second),
                    kUlp * static_cast<double>(cell.second) + near / static_cast<double>(d));
      }
    }
  }
}

TEST(SphereCoordinate, TailsKeepTheirDigits) {
  // P(X > x) = I_{1-x^2}((d-1)/2, 1/2) / 2; 30-digit values by mpmath.
  EXPECT_NEAR(SphereCoordinate(128).mass(0.7, 1) / 1.3499704453297681e-20, 1, kUlp);
  EXPECT_NEAR(SphereCoordinate(2).mass(0.999999, 1) / (std::acos(0.999999) / kPi), 1, kUlp);
  EXPECT_NEAR(SphereCoordinate(1'000'000).mass(8e-3, 1) / 6.2147995909253986e-16, 1, kUlp);
}

TEST(SphereCoordinate, TendsToTheGaussian) {
  const SphereCoordinate law(1'000'000'000);
  const double sigma = std::sqrt(law.variance());
  // f_d differs from phi by He_4 / (4d) relative: below 1e-8 for |x| <= 2 sigma.
  for (const double z : {0.0, 0.5, 1.0, 2.0}) {
    EXPECT_NEAR(law.mass(-sigma, z * sigma),
                0.5 * (std::erf(z / std::numbers::sqrt2) + std::erf(1 / std::numbers::sqrt2)), 1e-8);
  }
}

}  // namespace
}  // namespace orthant::density
