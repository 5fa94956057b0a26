#include "orthant/density/gaussian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace orthant::density {
namespace {

static_assert(Density<Gaussian>);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUlp = 4e-16;  // one rounding from extended precision, with room for library functions

TEST(Gaussian, WholeMoments) {
  const Gaussian law;
  EXPECT_EQ(law.mass(-kInf, kInf), 1);
  EXPECT_EQ(law.first_moment(-kInf, kInf), 0);
  EXPECT_EQ(law.second_moment(-kInf, kInf), 1);
  EXPECT_EQ(law.mass(kInf, kInf), 0);
  EXPECT_NEAR(law.first_moment(0, kInf), 1 / std::sqrt(2 * std::numbers::pi), kUlp);
}

TEST(Gaussian, ClosedFormsAgreeWithLocalQuadrature) {
  const Gaussian law;
  for (const double a : {-9.0, -2.0, -0.5, 0.0, 0.7, 1.2, 6.0}) {
    for (const double width : {1e-3, 0.05, 1.0, 4.0, kInf}) {
      SCOPED_TRACE(testing::Message() << "[" << a << ", " << a + width << "]");
      const CellMoments cell = law.cell_moments(0, a, a + width);
      const auto mass = static_cast<double>(cell.mass);
      const auto second = static_cast<double>(cell.second);
      EXPECT_NEAR(law.mass(a, a + width), mass, kUlp * mass + 1e-18);
      EXPECT_NEAR(law.first_moment(a, a + width), static_cast<double>(cell.first),
                  kUlp * mass * (1 + std::abs(a)) + 1e-18);
      EXPECT_NEAR(law.second_moment(a, a + width), second, kUlp * second + 1e-18);
    }
  }
}

TEST(Gaussian, TailsKeepTheirDigits) {
  // Q(10), Q(30): mpmath, 30 digits.
  EXPECT_NEAR(Gaussian().mass(10, kInf) / 7.6198530241605260659e-24, 1, kUlp);
  EXPECT_NEAR(Gaussian().mass(-kInf, -30) / 4.9067139271481871e-198, 1, kUlp);
}

TEST(Gaussian, CellMomentsAboutACentre) {
  const CellMoments about_zero = Gaussian().cell_moments(0, 0.5, 0.6);
  const CellMoments about_c = Gaussian().cell_moments(0.55L, 0.5, 0.6);
  EXPECT_NEAR(static_cast<double>(about_c.first), static_cast<double>(about_zero.first - 0.55L * about_zero.mass),
              1e-19);
  EXPECT_GT(about_c.second, 0);
}

}  // namespace
}  // namespace orthant::density
