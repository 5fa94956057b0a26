#include "orthant/transform/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/second_moments.h"

namespace orthant::transform {
namespace {

Matrix<double> random_rows(std::size_t n, std::size_t d, std::uint64_t trial) {
  Matrix<double> x(n, d);
  RngStream(1, Domain::kData, trial).fill_normal(std::span(x.data(), n * d));
  return x;
}

TEST(Rope, TurnsTheFirstPairByOneRadianAPosition) {
  for (const RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
    const Rope rope(layout, 4, 100);  // frequencies 1 and 1/10
    Matrix<double> x(1, 4);
    const std::size_t second = layout == RopeLayout::kHalf ? 2 : 1;
    x(0, 0) = 1;
    rope.turn(x.view(), 3, x.view());
    EXPECT_DOUBLE_EQ(x(0, 0), std::cos(3.0));
    EXPECT_DOUBLE_EQ(x(0, second), std::sin(3.0));
    x = Matrix<double>(1, 4);
    const std::size_t slow = layout == RopeLayout::kHalf ? 1 : 2;
    x(0, slow) = 1;
    rope.turn(x.view(), 3, x.view());
    EXPECT_DOUBLE_EQ(x(0, slow), std::cos(0.3));
    EXPECT_DOUBLE_EQ(x(0, 3), std::sin(0.3));
  }
}

TEST(Rope, TurnsAddAndKeepScores) {
  for (const RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
    const Rope rope(layout, 64, 10000);
    const Matrix<double> x = random_rows(2, 64, 1);
    Matrix<double> once = x, twice = x;
    rope.turn(x.view(), 5, once.view());
    rope.turn(x.view(), 2000, twice.view());
    rope.turn(twice.view(), -1995, twice.view());
    double before = 0, after = 0;
    for (std::size_t j = 0; j < 64; ++j) {
      // Three roundings of an angle up to 2000 (2000 * 2^-53 = 2.3e-13) times a coordinate below 5.
      EXPECT_NEAR(once(0, j), twice(0, j), 5e-12);
      before += x(0, j) * x(1, j);
      after += once(0, j) * once(1, j);
    }
    EXPECT_NEAR(before, after, 64 * 25 * 4e-16);
  }
}

TEST(Rope, TurnsAlikeByPhases) {
  for (const RopeLayout layout : {RopeLayout::kNone, RopeLayout::kHalf, RopeLayout::kInterleaved}) {
    const Rope rope =
        layout == RopeLayout::kNone ? Rope(layout, 10, 0) : Rope(layout, 10, std::vector<double>{1.0, 0.5, 0.1});
    Matrix<float> x(3, 10), a(3, 10), b(3, 10);
    RngStream(1, Domain::kData, 9).fill_normal(std::span(x.data(), 30));
    std::vector<float> phases(2 * rope.frequencies().size());
    rope.phases(-7, phases);
    rope.turn(x.view(), -7.0, a.view());
    rope.turn(x.view(), phases, b.view());
    for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(a.data()[i], b.data()[i]);
  }
}

TEST(Rope, LeavesWhatIsBeyondTheRotaryPartAlone) {
  const Rope rope(RopeLayout::kHalf, 6, std::vector<double>{1.0});
  const Matrix<double> x = random_rows(1, 6, 2);
  Matrix<double> y(1, 6);
  rope.turn(x.view(), 1, y.view());
  EXPECT_NE(y(0, 0), x(0, 0));
  for (std::size_t j = 2; j < 6; ++j) EXPECT_EQ(y(0, j), x(0, j));
}

TEST(Rope, NoLayoutTurnsNothing) {
  const Rope rope(RopeLayout::kNone, 5, 0);
  const Matrix<double> x = random_rows(1, 5, 3);
  Matrix<double> y(1, 5);
  rope.turn(x.view(), 77, y.view());
  for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(y(0, j), x(0, j));
}

TEST(Rope, RefusesOddDimensionsAndTooManyPairs) {
  EXPECT_THROW(Rope(RopeLayout::kHalf, 5, 10000), InvalidArgument);
  EXPECT_THROW(Rope(RopeLayout::kHalf, 4, 0), InvalidArgument);
  EXPECT_THROW(Rope(RopeLayout::kHalf, 4, std::vector<double>(3, 1.0)), InvalidArgument);
  EXPECT_THROW(Rope(RopeLayout::kHalf, 4, std::vector<double>{std::nan("")}), InvalidArgument);
  EXPECT_THROW(Rope(RopeLayout::kNone, 4, std::vector<double>{1.0}), InvalidArgument);
  Matrix<float> x(1, 4), y(1, 3);
  EXPECT_THROW(Rope(RopeLayout::kHalf, 4, 100).turn(x.view(), 1, y.view()), InvalidArgument);
}

TEST(SecondMoments, AreTheTextbookSums) {
  // Rows (1, 2), (3, 6), (5, 4): mean (3, 4), scatter [[8, 4], [4, 8]].
  Matrix<float> x(3, 2);
  x(0, 0) = 1, x(0, 1) = 2, x(1, 0) = 3, x(1, 1) = 6, x(2, 0) = 5, x(2, 1) = 4;
  SecondMoments m(2);
  EXPECT_EQ(m.count(), 0U);
  EXPECT_EQ(m.covariance()(0, 0), 0);
  m.add(x.view());
  EXPECT_EQ(m.mean()[0], 3);
  EXPECT_EQ(m.mean()[1], 4);
  EXPECT_DOUBLE_EQ(m.covariance()(0, 0), 8.0 / 3);
  EXPECT_DOUBLE_EQ(m.covariance()(0, 1), 4.0 / 3);
  EXPECT_DOUBLE_EQ(m.second_moment()(1, 1), 8.0 / 3 + 16);
}

TEST(SecondMoments, MergeAsIfSeenTogether) {
  const std::size_t d = 5, n = 700;
  Matrix<float> x(n, d);
  RngStream rng(1, Domain::kData, 4);
  rng.fill_normal(std::span(x.data(), n * d));
  for (std::size_t i = 0; i < n; ++i) x(i, 2) += 1000;  // a mean that would cancel every digit of a sum of squares
  SecondMoments whole(d), parts(d), empty(d);
  whole.add(x.view());
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 300}, {301, 399}}) {
    SecondMoments part(d);
    part.add(x.view().middle_rows(first, count));
    parts.merge(part);
  }
  parts.merge(empty);
  EXPECT_EQ(parts.count(), n);
  const Matrix<double> a = whole.covariance(), b = parts.covariance();
  for (std::size_t i = 0; i < d; ++i) {
    EXPECT_NEAR(whole.mean()[i], parts.mean()[i], 1e-12 * (1 + std::abs(whole.mean()[i])));
    for (std::size_t j = 0; j < d; ++j) {
      EXPECT_EQ(a(i, j), a(j, i));
      // Centred data of size about 1; a mean rounded to 1000 * 2^-53 moves the scatter by its square only.
      EXPECT_NEAR(a(i, j), b(i, j), 1e-12);
    }
  }
  EXPECT_NEAR(a(2, 2), 1, 0.25);
}

TEST(SecondMoments, TurnLikeTheVectorsThemselves) {
  const std::size_t d = 16, n = 40;
  Matrix<float> x(n, d);
  RngStream rng(1, Domain::kData, 5);
  rng.fill_normal(std::span(x.data(), n * d));
  const Rope rope(RopeLayout::kInterleaved, d, 10000);
  SecondMoments after(d), before(d);
  before.add(x.view());
  before.turn(rope, 9);
  rope.turn(x.view(), 9, x.view());
  after.add(x.view());
  const Matrix<double> a = before.second_moment(), b = after.second_moment();
  // Turned floats are rounded: relative 2^-24 in each factor of products that average about 1.
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(a(i, j), b(i, j), 1e-6);
}

TEST(SecondMoments, RefuseWhatIsNotFinite) {
  Matrix<float> x(2, 3);
  x(1, 2) = std::numeric_limits<float>::quiet_NaN();
  SecondMoments m(3);
  try {
    m.add(x.view());
    FAIL() << "a NaN was accepted";
  } catch (const InvalidArgument& e) {
    EXPECT_NE(std::string(e.what()).find("row 1, column 2"), std::string::npos) << e.what();
  }
  EXPECT_EQ(m.count(), 0U);
  Matrix<float> narrow(1, 2);
  EXPECT_THROW(m.add(narrow.view()), InvalidArgument);
}

}  // namespace
}  // namespace orthant::transform
