#include "orthant/core/moments.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

#include "orthant/core/rng.h"

namespace orthant {
namespace {

Moments of(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.add(v);
  return m;
}

TEST(Moments, DegenerateSamples) {
  EXPECT_EQ(Moments().count(), 0U);
  EXPECT_EQ(Moments().standard_error(), 0);
  const Moments one = of({3});
  EXPECT_EQ(one.mean(), 3);
  EXPECT_EQ(one.variance(), 0);
  Moments merged = one;
  merged.merge(Moments());
  EXPECT_EQ(merged.count(), 1U);
  Moments empty;
  empty.merge(one);
  EXPECT_EQ(empty.mean(), 3);
}

TEST(Moments, ExactOnSmallIntegers) {
  const Moments m = of({1, 2, 3, 4});
  EXPECT_EQ(m.mean(), 2.5);
  EXPECT_EQ(m.sum_of_squares(), 5);
  EXPECT_EQ(m.variance(), 5.0 / 3);
  EXPECT_EQ(m.min(), 1);
  EXPECT_EQ(m.max(), 4);
}

TEST(Moments, LargeOffsetDoesNotCancel) {
  // Welford's update: relative error of the sum of squares <= n eps cond, cond = sqrt(1 + mean^2 n / S) ~ 1e9 / 1.1
  // (Chan, Golub & LeVeque 1983, table 1); sum x^2 - n mean^2 would lose everything here.
  const Moments m = of({1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4});
  EXPECT_NEAR(m.sum_of_squares(), 5, 5 * 4 * DBL_EPSILON * 1e9);
}

TEST(Moments, MergeAgreesWithOnePass) {
  RngStream rng(1, Domain::kData, 0);
  std::vector<double> values(1000);
  rng.fill_normal(values);
  const Moments whole = of(values);
  for (const std::size_t cut : {0U, 1U, 499U, 999U, 1000U}) {
    Moments left = of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(cut)});
    left.merge(of({values.begin() + static_cast<std::ptrdiff_t>(cut), values.end()}));
    EXPECT_EQ(left.count(), whole.count());
    EXPECT_NEAR(left.mean(), whole.mean(), 1000 * DBL_EPSILON);
    EXPECT_NEAR(left.variance(), whole.variance(), 1000 * DBL_EPSILON * whole.variance());
    EXPECT_EQ(left.min(), whole.min());
    EXPECT_EQ(left.max(), whole.max());
  }
}

TEST(Moments, NanIsNotHidden) {
  EXPECT_TRUE(std::isnan(of({1, NAN, 2}).mean()));
  EXPECT_TRUE(std::isnan(of({1, NAN, 2}).variance()));
}

}  // namespace
}  // namespace orthant
