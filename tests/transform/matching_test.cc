#include "orthant/transform/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/score_error.h"

namespace orthant::transform {
namespace {

using Mat = Matrix<double>;

Mat product(const Mat& a, const Mat& b) {
  Mat c(a.rows(), b.cols());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t k = 0; k < a.cols(); ++k)
      for (std::size_t j = 0; j < b.cols(); ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

Mat transposed(const Mat& a) {
  Mat t(a.cols(), a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.cols(); ++j) t(j, i) = a(i, j);
  return t;
}

Mat diagonal(std::vector<double> values) {
  Mat m(values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) m(i, i) = values[i];
  return m;
}

double largest(const Mat& a) {
  double m = 0;
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.cols(); ++j) m = std::max(m, std::abs(a(i, j)));
  return m;
}

double largest_difference(const Mat& a, const Mat& b) {
  double m = 0;
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.cols(); ++j) m = std::max(m, std::abs(a(i, j) - b(i, j)));
  return m;
}

/// G G^T / d + spread-out diagonal: positive definite, eigenvalues from 0.01 up to about 100.
Mat random_moment(std::size_t d, std::uint64_t trial) {
  Mat g(d, d);
  RngStream rng(7, Domain::kData, trial);
  rng.fill_normal(std::span(g.data(), d * d));
  for (std::size_t i = 0; i < d; ++i) {
    const double scale = std::exp(rng.normal());
    for (std::size_t j = 0; j < d; ++j) g(i, j) *= scale / std::sqrt(static_cast<double>(d));
  }
  Mat m = product(g, transposed(g));
  for (std::size_t i = 0; i < d; ++i) m(i, i) += 0.01;
  return m;
}

TEST(GeometricMean, OfNumbersAndCommutingMatrices) {
  EXPECT_NEAR(geometric_mean(diagonal({4}).view(), diagonal({9}).view())(0, 0), 6, 1e-14);
  const Mat m = geometric_mean(diagonal({1, 4, 100}).view(), diagonal({9, 4, 1}).view());
  EXPECT_LT(largest_difference(m, diagonal({3, 4, 10})), 1e-13);
}

TEST(GeometricMean, OfTwoByTwoMatricesIsClosedForm) {
  // A # B = sqrt(ab) (A/a + B/b) / sqrt(det(A/a + B/b)),  a = sqrt(det A), b = sqrt(det B) (Bhatia 2007, Prop. 4.1.12).
  Mat a(2, 2), b(2, 2);
  a(0, 0) = 2, a(0, 1) = a(1, 0) = 1, a(1, 1) = 3;
  b(0, 0) = 5, b(0, 1) = b(1, 0) = -1, b(1, 1) = 1;
  const double da = std::sqrt(5.0), db = 2;
  Mat sum(2, 2);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) sum(i, j) = a(i, j) / da + b(i, j) / db;
  const double det = sum(0, 0) * sum(1, 1) - sum(0, 1) * sum(1, 0);
  const double scale = std::sqrt(da * db / det);
  const Mat mean = geometric_mean(a.view(), b.view());
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(mean(i, j), scale * sum(i, j), 1e-14 * 10);
}

TEST(GeometricMean, IsSymmetricInItsArgumentsAndSolvesItsEquation) {
  for (const std::size_t d : {1U, 2U, 7U, 32U}) {
    const Mat a = random_moment(d, d), b = random_moment(d, d + 100);
    const Mat x = geometric_mean(a.view(), b.view());
    // d * epsilon * cond(A), cond(A) about 1e5 here.
    EXPECT_LT(largest_difference(x, geometric_mean(b.view(), a.view())), 1e-8 * largest(x)) << d;
  }
}

TEST(MatchingMetric, SolvesMSkMEqualsSq) {
  for (const std::size_t d : {1U, 3U, 16U, 64U}) {
    const Mat sk = shrunk(random_moment(d, 1).view(), 0.02), sq = shrunk(random_moment(d, 2).view(), 0.02);
    const Mat m = matching_metric(Match::kFull, sk.view(), sq.view());
    const Mat left = product(product(m, sk), m);
    // Shrunk at 2 %, cond <= 1 + 49 d < 3200; d * epsilon * cond of each of two roots, times |M|^2 |Sk| / |Sq| <= cond.
    EXPECT_LT(largest_difference(left, sq), 1e-8 * largest(sq)) << d;
  }
}

TEST(MatchingMap, BalancesKeysAndQueries) {
  for (const Match match : {Match::kDiagonal, Match::kFull}) {
    const std::size_t d = 24;
    const Mat sk = random_moment(d, 11), sq = random_moment(d, 12);
    const MatchingMap map = matching_map(match, sk.view(), sq.view());
    const Mat keys = product(product(map.forward, sk), transposed(map.forward));
    const Mat queries = product(product(transposed(map.inverse), sq), map.inverse);
    EXPECT_LT(largest_difference(product(map.forward, map.inverse), diagonal(std::vector<double>(d, 1.0))), 1e-9);
    const MappedMoments mapped = mapped_moments(map, sk.view(), sq.view());
    for (std::size_t i = 0; i < d; ++i) {
      const double root = std::sqrt(map.importance[i]);
      EXPECT_NEAR(mapped.keys[i], keys(i, i), 1e-10 * root);
      EXPECT_NEAR(mapped.queries[i], queries(i, i), 1e-10 * root);
      EXPECT_NEAR(keys(i, i), root, 1e-8 * root);
      EXPECT_NEAR(queries(i, i), root, 1e-8 * root);
      if (i > 0) {
        EXPECT_LE(map.importance[i], map.importance[i - 1]);
      }
      if (match == Match::kFull)
        for (std::size_t j = 0; j < d; ++j)
          if (i != j) {
            EXPECT_LT(std::abs(keys(i, j)), 1e-8 * std::sqrt(map.importance[0]));
          }
    }
    EXPECT_NEAR(error_product(matching_metric(match, sk.view(), sq.view()).view(), sk.view(), sq.view()),
                least_error_product(map.importance), 1e-8 * least_error_product(map.importance));
  }
}

// A closed-form optimum cannot be beaten, not by far-away metrics and not by its neighbours.
TEST(MatchingMetric, BeatsAThousandOthers) {
  const std::size_t d = 8;
  const Mat sk = random_moment(d, 21), sq = random_moment(d, 22);
  const Mat full = matching_metric(Match::kFull, sk.view(), sq.view());
  const Mat diag = matching_metric(Match::kDiagonal, sk.view(), sq.view());
  const double best = error_product(full.view(), sk.view(), sq.view());
  const double best_diagonal = error_product(diag.view(), sk.view(), sq.view());
  const double plain = error_product(diagonal(std::vector<double>(d, 1)).view(), sk.view(), sq.view());
  EXPECT_LT(best, best_diagonal);
  EXPECT_LT(best_diagonal, plain);
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    const Mat other = random_moment(d, 1000 + trial);
    EXPECT_GT(error_product(other.view(), sk.view(), sq.view()), best);
    RngStream rng(8, Domain::kData, trial);
    // Neighbours: (1 + small) on a diagonal metric; P M P with P = I + small for the full one.
    Mat scaled = diag, turn(d, d);
    for (std::size_t i = 0; i < d; ++i) {
      scaled(i, i) *= std::exp(0.1 * rng.normal());
      for (std::size_t j = 0; j <= i; ++j) turn(i, j) = turn(j, i) = (i == j ? 1.0 : 0.0) + 0.02 * rng.normal();
    }
    EXPECT_GT(error_product(scaled.view(), sk.view(), sq.view()), best_diagonal);
    const Mat near = product(product(turn, full), turn);
    EXPECT_GT(error_product(near.view(), sk.view(), sq.view()), best);
  }
}

TEST(MatchingMap, OfOneDimensionAndOfEqualMoments) {
  const MatchingMap one = matching_map(Match::kFull, diagonal({4}).view(), diagonal({64}).view());
  EXPECT_NEAR(std::abs(one.forward(0, 0)), 2, 1e-14);  // M = sqrt(64 / 4) = 4
  EXPECT_NEAR(one.importance[0], 256, 1e-11);
  // Keys and queries alike: nothing to match, M = I whatever the spectrum.
  const Mat s = random_moment(12, 31);
  const Mat m = matching_metric(Match::kFull, s.view(), s.view());
  EXPECT_LT(largest_difference(m, diagonal(std::vector<double>(12, 1))), 1e-8);
}

TEST(Shrunk, KeepsTheTraceAndOpensDeadChannels) {
  const Mat s = shrunk(diagonal({4, 0, 2}).view(), 0.02);
  EXPECT_DOUBLE_EQ(s(0, 0), 0.98 * 4 + 0.02 * 2);
  EXPECT_DOUBLE_EQ(s(1, 1), 0.02 * 2);
  EXPECT_NEAR(s(0, 0) + s(1, 1) + s(2, 2), 6, 1e-15);
  const Mat constant = shrunk(diagonal({0, 0}).view(), 0.02);  // constant keys
  EXPECT_EQ(constant(0, 0), 1);
  EXPECT_EQ(constant(1, 1), 1);
  EXPECT_THROW(shrunk(diagonal({1}).view(), -0.1), InvalidArgument);
  EXPECT_THROW(shrunk(diagonal({1}).view(), std::nan("")), InvalidArgument);
}

TEST(Shrunk, MakesAMomentOfFewerVectorsThanDimensionsUsable) {
  const std::size_t d = 32;
  Mat rank_one(d, d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) rank_one(i, j) = 1;
  const Mat sq = random_moment(d, 41);
  EXPECT_THROW(matching_map(Match::kFull, rank_one.view(), sq.view()), InvalidArgument);
  const Mat sk = shrunk(rank_one.view(), 0.02);
  const Mat m = matching_metric(Match::kFull, sk.view(), sq.view());
  EXPECT_LT(largest_difference(product(product(m, sk), m), sq), 1e-8 * largest(sq));
}

TEST(MatchingMap, RefusesWhatIsNoMoment) {
  const Mat good = diagonal({1, 2});
  EXPECT_THROW(matching_map(Match::kFull, diagonal({1, 0}).view(), good.view()), InvalidArgument);
  EXPECT_THROW(matching_map(Match::kFull, good.view(), diagonal({1, -1}).view()), InvalidArgument);
  EXPECT_THROW(matching_map(Match::kDiagonal, diagonal({1, 0}).view(), good.view()), InvalidArgument);
  EXPECT_THROW(matching_map(Match::kFull, diagonal({1, 1e13}).view(), good.view()), InvalidArgument);
  EXPECT_THROW(matching_map(Match::kFull, good.view(), diagonal({1}).view()), InvalidArgument);
  Mat nan = good;
  nan(1, 0) = std::numeric_limits<double>::quiet_NaN();
  for (const Match match : {Match::kNone, Match::kDiagonal, Match::kFull})
    EXPECT_THROW(matching_map(match, nan.view(), good.view()), InvalidArgument);
  EXPECT_THROW(matching_map(Match::kNone, Mat(2, 3).view(), good.view()), InvalidArgument);
}

TEST(JointSpectrum, IsTheImportanceOfTheFullMapAndAllowsDeadDirections) {
  const Mat sk = random_moment(10, 61), sq = random_moment(10, 62);
  const std::vector<double> lambda = joint_spectrum(sk.view(), sq.view());
  const MatchingMap map = matching_map(Match::kFull, sk.view(), sq.view());
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(lambda[i], map.importance[i], 1e-9 * lambda[0]);
  EXPECT_EQ(joint_spectrum(diagonal({0, 4, 1}).view(), diagonal({7, 9, 0}).view()), (std::vector<double>{36, 0, 0}));
}

TEST(MatchingMap, WithoutMatchOnlySorts) {
  const MatchingMap map = matching_map(Match::kNone, diagonal({1, 0, 5}).view(), diagonal({1, 1, 1}).view());
  EXPECT_EQ(map.importance, (std::vector<double>{5, 1, 0}));
  EXPECT_EQ(map.forward(0, 2), 1);
  EXPECT_EQ(map.forward(1, 0), 1);
  EXPECT_EQ(map.forward(2, 1), 1);
}

TEST(MatchingMap, InChannelOrderIsTheSameMap) {
  const Mat sk = random_moment(9, 71), sq = random_moment(9, 72);
  for (const Match match : {Match::kNone, Match::kDiagonal}) {
    const MatchingMap ordered = in_channel_order(matching_map(match, sk.view(), sq.view()));
    const Mat metric = matching_metric(match, sk.view(), sq.view());
    for (std::size_t j = 0; j < 9; ++j) {
      EXPECT_NEAR(ordered.forward(j, j) * ordered.forward(j, j), metric(j, j), 1e-14 * metric(j, j));
      EXPECT_NEAR(ordered.forward(j, j) * ordered.inverse(j, j), 1, 1e-15);
      EXPECT_NEAR(ordered.importance[j], sk(j, j) * sq(j, j), 1e-14 * ordered.importance[j]);
      for (std::size_t i = 0; i < 9; ++i)
        if (i != j) {
          EXPECT_EQ(ordered.forward(i, j), 0);
        }
    }
  }
  EXPECT_THROW(in_channel_order(matching_map(Match::kFull, sk.view(), sq.view())), InvalidArgument);
}

TEST(ScoreError, OfTheIsotropicLawIsTheProduct) {
  const std::size_t d = 6;
  const Mat sk = random_moment(d, 51), sq = random_moment(d, 52);
  const Mat m = matching_metric(Match::kFull, sk.view(), sq.view());
  const double distortion = 0.03;
  const double isotropic = score_error({distortion / d, distortion / d}, m.view(), sk.view(), sq.view());
  EXPECT_NEAR(isotropic, distortion / d * error_product(m.view(), sk.view(), sq.view()), 1e-12 * isotropic);
  // A pure shrinkage e = -s y of every key is a score error of s times the score: s^2 tr(Sigma_k Sigma_q), whatever M.
  const double shrink = score_error({0.01, 0}, m.view(), sk.view(), sq.view());
  const Mat both = product(sk, sq);
  double trace = 0;
  for (std::size_t i = 0; i < d; ++i) trace += both(i, i);
  EXPECT_NEAR(shrink, 0.01 * trace, 1e-12 * shrink);
  EXPECT_THROW(score_error({1, 1}, diagonal({1, -1}).view(), diagonal({1, 1}).view(), diagonal({1, 1}).view()),
               InvalidArgument);
}

TEST(ScoreError, SixDecibelsAreABit) {
  EXPECT_DOUBLE_EQ(gain_bits(16, 1), 2);
  EXPECT_DOUBLE_EQ(gain_bits(3, 3), 0);
}

TEST(GaussianBenchmark, FillsTheDeepestFirst) {
  // Equal spectrum: d lambda 2^(-2 bits / d).
  const std::vector<double> flat(4, 3.0);
  EXPECT_NEAR(gaussian_benchmark(flat, 8).error, 12.0 / 16, 1e-14);
  // lambda = 16, 1: up to 2 bits all go to the first (level 16/4^R >= 1), from there on half to each.
  const std::vector<double> two = {1, 16};
  EXPECT_NEAR(gaussian_benchmark(two, 0).error, 17, 1e-13);
  EXPECT_NEAR(gaussian_benchmark(two, 1).error, 4 + 1, 1e-13);
  EXPECT_NEAR(gaussian_benchmark(two, 2).level, 1, 1e-14);
  EXPECT_NEAR(gaussian_benchmark(two, 4).error, 2 * 0.25, 1e-13);
  EXPECT_EQ(gaussian_benchmark(std::vector<double>{0, 0}, 3).error, 0);
  EXPECT_EQ(gaussian_benchmark(std::vector<double>{}, 3).error, 0);
  EXPECT_THROW(gaussian_benchmark(std::vector<double>{1, -1}, 3), InvalidArgument);
  EXPECT_THROW(gaussian_benchmark(two, -1), InvalidArgument);
}

TEST(GaussianBenchmark, SpendsExactlyItsBitsAndStaysBelowEveryCoder) {
  std::vector<double> lambda(64);
  RngStream rng(9, Domain::kData, 1);
  for (double& value : lambda) value = std::exp(3 * rng.normal());
  for (const double bits : {10.0, 64.0, 128.0, 500.0}) {
    const GaussianBenchmark b = gaussian_benchmark(lambda, bits);
    double spent = 0;
    for (const double value : lambda) spent += std::max(0.0, 0.5 * std::log2(value / b.level));
    EXPECT_NEAR(spent, bits, 1e-10 * bits);
    // One width for all, at the Gaussian's own distortion 4^-b, is one of the allocations it is the best of.
    EXPECT_LE(b.error, std::pow(4.0, -bits / 64) * std::accumulate(lambda.begin(), lambda.end(), 0.0));
  }
}

}  // namespace
}  // namespace orthant::transform
