#include "orthant/transform/matched_transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/composed.h"
#include "orthant/transform/make_rotation.h"

namespace orthant::transform {
namespace {

Matrix<double> random_moment(std::size_t d, std::uint64_t trial) {
  Matrix<double> g(d, d), m(d, d);
  RngStream(5, Domain::kData, trial).fill_normal(std::span(g.data(), d * d));
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t k = 0; k < d; ++k) m(i, j) += g(i, k) * g(j, k) * (1 + static_cast<double>(k));
  return m;
}

std::shared_ptr<const Transform> matched(Match match, std::size_t d, std::uint64_t trial = 0) {
  const Matrix<double> sk = shrunk(random_moment(d, trial).view(), 0.02);
  const Matrix<double> sq = shrunk(random_moment(d, trial + 100).view(), 0.02);
  return std::make_shared<MatchedTransform>(matching_map(match, sk.view(), sq.view()));
}

Matrix<float> random_rows(std::size_t n, std::size_t d, std::uint64_t trial) {
  Matrix<float> x(n, d);
  RngStream(6, Domain::kData, trial).fill_normal(std::span(x.data(), n * d));
  return x;
}

/// Scores are kept, keys come back, in place or not; A = the map itself.
void expect_dual(const Transform& map, double tolerance) {
  const std::size_t d = map.dim(), n = 19;
  SCOPED_TRACE(map.describe() + " d=" + std::to_string(d));
  Workspace work(map.workspace_bytes(n));
  const Matrix<float> x = random_rows(n, d, 1), q = random_rows(n, d, 2);
  Matrix<float> y(n, d), p = q, back(n, d);
  map.apply_keys(x.view(), y.view(), work);
  map.apply_queries(p.view(), p.view(), work);
  map.invert_keys(y.view(), back.view(), work);
  for (std::size_t i = 0; i < n; ++i) {
    double before = 0, after = 0;
    for (std::size_t j = 0; j < d; ++j) {
      before += static_cast<double>(x(i, j)) * static_cast<double>(q(i, j));
      after += static_cast<double>(y(i, j)) * static_cast<double>(p(i, j));
      EXPECT_NEAR(back(i, j), x(i, j), tolerance);
    }
    EXPECT_NEAR(before, after, tolerance * static_cast<double>(d));
  }
  Matrix<float> alone(1, d);
  map.apply_keys(x.view().middle_rows(n - 1, 1), alone.view(), work);
  for (std::size_t j = 0; j < d; ++j) EXPECT_EQ(alone(0, j), y(n - 1, j)) << "a row depends on its neighbours";
  EXPECT_EQ(work.used(), 0U);
  Matrix<float> wrong(n, d + 1);
  EXPECT_THROW(map.apply_keys(x.view(), wrong.view(), work), InvalidArgument);
}

TEST(MatchedTransform, KeepsScoresAndGivesKeysBack) {
  for (const std::size_t d : {1U, 5U, 64U})
    for (const Match match : {Match::kNone, Match::kDiagonal, Match::kFull})
      // d * 2^-24 * cond(A) * |x|, cond(A) <= sqrt(1 + 49 d) = 56 at d = 64, coordinates below 5.
      expect_dual(*matched(match, d), 64 * 6e-8 * 56 * 5);
}

TEST(MatchedTransform, KnowsWhatItIs) {
  EXPECT_EQ(matched(Match::kNone, 4)->describe(), "match=none");
  EXPECT_EQ(matched(Match::kDiagonal, 4)->describe(), "match=diag");
  EXPECT_EQ(matched(Match::kFull, 4)->describe(), "match=full");
  EXPECT_TRUE(matched(Match::kNone, 4)->orthogonal());
  EXPECT_FALSE(matched(Match::kDiagonal, 4)->orthogonal());
  EXPECT_FALSE(matched(Match::kFull, 4)->orthogonal());
}

TEST(MatchedTransform, RefusesBrokenMaps) {
  MatchingMap map = matching_map(Match::kDiagonal, shrunk(random_moment(3, 1).view(), 0.1).view(),
                                 shrunk(random_moment(3, 2).view(), 0.1).view());
  map.importance.pop_back();
  EXPECT_THROW(MatchedTransform{map}, InvalidArgument);
  map.importance.push_back(0);
  map.inverse(0, 0) = std::nan("");
  EXPECT_THROW(MatchedTransform{map}, InvalidArgument);
  EXPECT_THROW(MatchedTransform{MatchingMap{}}, InvalidArgument);
}

TEST(Composed, IsOneMapAfterTheOther) {
  const std::size_t d = 24;
  const auto first = matched(Match::kFull, d);
  const std::shared_ptr<const Transform> second = make_rotation("haar", d, 3);
  const Composed map(first, second);
  expect_dual(map, 64 * 6e-8 * 56 * 5);
  EXPECT_EQ(map.describe(), "haar,match=full");
  const Matrix<float> x = random_rows(2, d, 4);
  Matrix<float> step(2, d), whole(2, d);
  Workspace work(map.workspace_bytes(2));
  first->apply_keys(x.view(), step.view(), work);
  second->apply_keys(step.view(), step.view(), work);
  map.apply_keys(x.view(), whole.view(), work);
  for (std::size_t j = 0; j < d; ++j) EXPECT_EQ(step(1, j), whole(1, j));
  EXPECT_THROW(Composed(first, make_rotation("haar", d + 1, 3)), InvalidArgument);
}

TEST(SideBySide, KeepsItsPartsApart) {
  const SideBySide map({make_rotation("haar", 7, 1), matched(Match::kDiagonal, 5), make_rotation("hadamard:2", 12, 1)});
  EXPECT_EQ(map.dim(), 24U);
  EXPECT_FALSE(map.orthogonal());
  EXPECT_EQ(map.describe(), "haar+match=diag+hadamard:2");
  expect_dual(map, 64 * 6e-8 * 56 * 5);
  Matrix<float> x(1, 24);
  for (std::size_t j = 7; j < 12; ++j) x(0, j) = 1;
  Workspace work(map.workspace_bytes(1));
  map.apply_keys(x.view(), x.view(), work);
  for (std::size_t j = 0; j < 24; ++j) EXPECT_EQ(x(0, j) != 0, j >= 7 && j < 12) << j;
  EXPECT_THROW(SideBySide({}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::transform
