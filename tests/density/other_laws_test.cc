#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/core/error.h"
#include "orthant/density/gaussian.h"
#include "orthant/density/laplace.h"
#include "orthant/density/truncated_gaussian.h"

namespace orthant::density {
namespace {

static_assert(Density<Laplace>);
static_assert(Density<TruncatedGaussian>);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUlp = 4e-16;  // one rounding from extended precision, with room for library functions

TEST(Laplace, MomentsAreClosedForm) {
  const Laplace law;
  const double root = std::numbers::sqrt2;
  EXPECT_NEAR(law.mass(-kInf, kInf), 1, kUlp);
  EXPECT_NEAR(law.second_moment(-kInf, kInf), 1, kUlp);
  EXPECT_NEAR(law.first_moment(-kInf, kInf), 0, 1e-18);    // the two halves' rounding
  EXPECT_NEAR(law.first_moment(0, kInf), root / 4, kUlp);  // E|X| = 1 / sqrt 2, half of it on each side
  for (const double a : {0.0, 0.3, 2.0, 20.0}) {
    const double tail = std::exp(-root * a) / 2;
    EXPECT_NEAR(law.mass(a, kInf), tail, 2 * kUlp * (1 + root * a) * tail) << a;
    EXPECT_NEAR(law.mass(-kInf, -a), tail, 2 * kUlp * (1 + root * a) * tail) << a;
    EXPECT_NEAR(law.mass(-a, a), -std::expm1(-root * a), kUlp) << a;
  }
  EXPECT_EQ(law.mass(1, 1), 0);
}

TEST(TruncatedGaussian, InfiniteEndsGiveTheScaledGaussian) {
  const TruncatedGaussian law(0, 3, -kInf, kInf);
  EXPECT_TRUE(law.symmetric());
  EXPECT_NEAR(law.variance(), 9, 18 * kUlp);
  EXPECT_NEAR(law.mass(1, 5), Gaussian().mass(1.0 / 3, 5.0 / 3), kUlp);
  EXPECT_NEAR(law.pdf(2), Gaussian().pdf(2.0 / 3) / 3, kUlp);
}

TEST(TruncatedGaussian, KnowsItsOwnMoments) {
  // N(0, 1) on [0, inf): mean sqrt(2 / pi), variance 1 - 2 / pi.
  const TruncatedGaussian half(0, 1, 0, kInf);
  EXPECT_FALSE(half.symmetric());
  EXPECT_NEAR(half.mean(), std::sqrt(2 / std::numbers::pi), kUlp);
  EXPECT_NEAR(half.variance(), 1 - 2 / std::numbers::pi, kUlp);
  EXPECT_NEAR(half.mass(0, kInf), 1, kUlp);
  // A narrow interval is nearly uniform: variance w^2 / 12 (1 - w^2 / 30 + O(w^4)) for N(0, 1) on [-w/2, w/2].
  const double w = 1e-3;
  const TruncatedGaussian narrow(0, 1, -w / 2, w / 2);
  EXPECT_NEAR(narrow.variance() / (w * w / 12), 1 - w * w / 30, 1e-12);
  EXPECT_EQ(narrow.pdf(w), 0);
}

TEST(TruncatedGaussian, FarTailsAreLawsToo) {
  const TruncatedGaussian tail(0, 1, 30, kInf);
  EXPECT_NEAR(tail.mass(30, 31), 1, 1e-13);  // all but exp(-30.5)
  // Mills ratio: mean = 30 + 1/30 - 2/30^3 + 10/30^5 + O(30^-7).
  EXPECT_NEAR(tail.mean(), 30 + 1 / 30.0 - 2 / 27000.0 + 10 / 24300000.0, 1e-8);
}

TEST(TruncatedGaussian, WhatIsNoLawIsRefused) {
  EXPECT_THROW(TruncatedGaussian(0, 0, -1, 1), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(0, -1, -1, 1), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(0, 1, 1, 1), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(0, 1, 2, -2), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(std::nan(""), 1, -1, 1), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(0, 1, std::nan(""), 1), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(0, kInf, -1, 1), InvalidArgument);
  EXPECT_THROW(TruncatedGaussian(0, 1, 50, 60), InvalidArgument);
}

}  // namespace
}  // namespace orthant::density
