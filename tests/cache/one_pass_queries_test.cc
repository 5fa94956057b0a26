// Matched keys whose queries are turned, scaled and rotated in one pass of 16-bit integers.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "orthant/cache/matched_key_cache.h"
#include "orthant/cache/target.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/make_rotation.h"
#include "orthant/transform/matched_transform.h"

namespace orthant::cache {
namespace {

Matrix<float> random_rows(std::size_t n, std::size_t d, std::uint64_t trial) {
  Matrix<float> x(n, d);
  RngStream rng(33, Domain::kData, trial);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j)
      x(i, j) = static_cast<float>(rng.normal() * std::exp2(static_cast<double>(j % 5)) + (j == 3 ? 20 : 0));
  return x;
}

std::shared_ptr<const MatchedKeyCoder> make_coder(std::size_t d, int bits, std::size_t tile) {
  transform::SecondMoments k(d), q(d);
  k.add(random_rows(600, d, 1).view());
  q.add(random_rows(600, d, 2).view());
  const auto map = std::make_shared<transform::MatchedTransform>(transform::in_channel_order(
      transform::matching_map(transform::Match::kDiagonal, k.covariance().view(), q.second_moment().view())));
  const auto turbo = std::make_shared<quantizer::TurboMse>(
      transform::make_rotation("hadamard:1", d, 1, 0), codebook::sphere_codebook(static_cast<std::int64_t>(d), bits));
  return std::make_shared<MatchedKeyCoder>(
      transform::KeyFrame(transform::Rope(transform::RopeLayout::kHalf, d, 1000), {tile}),
      std::vector<float>(k.mean().begin(), k.mean().end()), map, std::vector<MatchedKeyCoder::Segment>{{d, turbo}});
}

void append(MatchedKeyCache& cache, const Matrix<float>& keys, std::size_t first, std::size_t n) {
  Workspace work(cache.append_workspace_bytes());
  cache.append(keys.view().middle_rows(first, n), work);
}

Matrix<float> scores_of(const MatchedKeyCache& cache, MatrixView<const float> queries, float scale) {
  Matrix<float> scores(queries.rows(), cache.size());
  Workspace work(cache.workspace_bytes(queries.rows()));
  cache.scores(queries, scale, scores.view(), work);
  EXPECT_EQ(work.used(), 0U);
  return scores;
}

class OnePassQueriesOn : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, OnePassQueriesOn, testing::ValuesIn(usable_targets()),
                         [](const auto& target) { return target.param; });

// Against products of the codes as decoded with queries transformed in the coder's floats, on two blocks of tiles.
TEST_P(OnePassQueriesOn, ScoresStayWithinTheStatedBound) {
  constexpr float kScale = 0.125F;
  constexpr std::size_t kQueries = 13;  // batches of 8, 4 and 1
  for (const std::size_t d : {std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    for (const int bits : {1, 2, 3, 4, 5}) {
      constexpr std::size_t kTile = 64;
      const std::size_t n = 19 * kTile + 9;
      const auto coder = make_coder(d, bits, kTile);
      MatchedKeyCache cache(coder, {.target = GetParam()}, 5 * kTile);
      append(cache, random_rows(n, d, 3), 0, n);
      const Matrix<float> queries = random_rows(kQueries, d, 4);
      const Matrix<float> scores = scores_of(cache, queries.view(), kScale);

      Matrix<float> y(n, d), bounds(kQueries, n), unit_bounds(1, n);
      cache.codes().decode(0, y.view());
      // |a| C of every key from the bound of a query that is one coordinate of 1.
      Matrix<float> one(1, d);
      one(0, 0) = 1;
      cache.codes().score_error_bounds(one.view(), 1, 0, unit_bounds.view());
      const double dims = static_cast<double>(d);
      const double of_unit = 1.0 / 126 + dims / 254;
      Workspace work(coder->workspace_bytes(kQueries));
      Matrix<float> framed(kQueries, d), p(kQueries, d);
      std::vector<double> unit(kQueries);
      Matrix<float> basis(2, d);
      for (std::size_t i = 0; i < d / 2; ++i) {
        // 1 / A_jj from what the coder makes of basis vectors: a row of H diag(1 / A) / sqrt(d).
        Matrix<float> image(2, d);
        basis = Matrix<float>(2, d);
        basis(0, i) = basis(1, d / 2 + i) = 1;
        coder->transform_queries(basis.view(), image.view(), work);
        const double reach = std::hypot(double{image(0, 0)}, double{image(1, 0)});
        for (std::size_t h = 0; h < kQueries; ++h)
          unit[h] += 1.083 / 32000 * reach * std::hypot(double{queries(h, i)}, double{queries(h, d / 2 + i)});
      }
      for (std::size_t first = 0; first < n; first += kTile) {
        const std::size_t end = std::min(n, first + kTile);
        coder->frame().enter_queries(queries.view(), 5 * kTile + first, framed.view());
        coder->transform_queries(framed.view(), p.view(), work);
        Matrix<float> of_tile(kQueries, end - first);
        cache.codes().score_error_bounds(p.view(), kScale, first, of_tile.view());
        for (std::size_t h = 0; h < kQueries; ++h) {
          double mean = 0, size = 0;
          for (std::size_t j = 0; j < d; ++j) {
            mean += double{framed(h, j)} * double{coder->mean()[j]};
            size += std::abs(double{framed(h, j)} * double{coder->mean()[j]});
          }
          for (std::size_t i = first; i < end; ++i) {
            double exact = mean;
            for (std::size_t j = 0; j < d; ++j) exact += double{p(h, j)} * double{y(i, j)};
            const double bound = 1.02 * double{of_tile(h, i - first)} + double{kScale} * double{unit_bounds(0, i)} /
                                                                            of_unit * dims *
                                                                            (std::sqrt(dims) / 2 + 1.6) * unit[h];
            // Phases to 2^-24, at both levels and in the frame: 1e-6 of the mean's products.
            ASSERT_NEAR(double{scores(h, i)}, double{kScale} * exact, bound + 1e-6 * double{kScale} * size)
                << "d " << d << ", " << bits << " bits, query " << h << ", key " << i;
          }
        }
      }
    }
  }
}

// A worst case says little about a mistake of half a unit: the errors' mean square beside that of independent uniform
// roundings, of queries by steps of max |p| / 127 and of levels by 1 / 127 (63 on narrow targets) of half their range.
TEST_P(OnePassQueriesOn, ErrorsAreThoseOfIndependentRoundings) {
  constexpr std::size_t kDim = 128, kTile = 256, kKeys = 4096, kQueries = 8;
  const auto coder = make_coder(kDim, 4, kTile);
  MatchedKeyCache cache(coder, {.target = GetParam()});
  append(cache, random_rows(kKeys, kDim, 5), 0, kKeys);
  const Matrix<float> queries = random_rows(kQueries, kDim, 6);
  const Matrix<float> scores = scores_of(cache, queries.view(), 1);
  Matrix<float> y(kKeys, kDim), framed(kQueries, kDim), p(kQueries, kDim);
  cache.codes().decode(0, y.view());
  Workspace work(coder->workspace_bytes(kQueries));
  double error = 0, expected = 0;
  for (std::size_t first = 0; first < kKeys; first += kTile) {
    coder->frame().enter_queries(queries.view(), first, framed.view());
    coder->transform_queries(framed.view(), p.view(), work);
    for (std::size_t h = 0; h < kQueries; ++h) {
      double most = 0, p_squares = 0, mean = 0;
      for (std::size_t j = 0; j < kDim; ++j) {
        most = std::max(most, std::abs(double{p(h, j)}));
        p_squares += double{p(h, j)} * double{p(h, j)};
        mean += double{framed(h, j)} * double{coder->mean()[j]};
      }
      for (std::size_t i = first; i < first + kTile; ++i) {
        double exact = mean, y_squares = 0, y_most = 0;
        for (std::size_t j = 0; j < kDim; ++j) {
          exact += double{p(h, j)} * double{y(i, j)};
          y_squares += double{y(i, j)} * double{y(i, j)};
          y_most = std::max(y_most, std::abs(double{y(i, j)}));
        }
        const double e = double{scores(h, i)} - exact;
        error += e * e;
        const double query_step = most / 127;
        const double level_step = y_most / 63;
        expected += (query_step * query_step * y_squares + level_step * level_step * p_squares) / 12;
      }
    }
  }
  // 128 sets of query errors and one set of 16 level errors: the mean square is settled to a few tenths. 16-bit
  // integers add 1 / 12 unit^2 a coordinate, a twentieth. Twice is far from what is expected, half a step lost is
  // four times.
  EXPECT_LT(error, 2 * expected);
}

// A query along one channel is rotated to coordinates of one size and, in the first tile, one sign: the largest sums.
TEST_P(OnePassQueriesOn, AQueryAlongOneChannelIsScored) {
  constexpr std::size_t kKeys = 64;
  for (const std::size_t d : {std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    const auto coder = make_coder(d, 4, 64);
    MatchedKeyCache cache(coder, {.target = GetParam()});
    append(cache, random_rows(kKeys, d, 13), 0, kKeys);
    for (const std::size_t channel : {std::size_t{0}, d / 2 + 3}) {
      Matrix<float> queries(1, d), framed(1, d), p(1, d), y(kKeys, d);
      queries(0, channel) = 5;
      const Matrix<float> scores = scores_of(cache, queries.view(), 1);
      cache.codes().decode(0, y.view());
      Workspace work(coder->workspace_bytes(1));
      coder->frame().enter_queries(queries.view(), 0, framed.view());
      coder->transform_queries(framed.view(), p.view(), work);
      for (std::size_t i = 0; i < kKeys; ++i) {
        double exact = 0, size = 0;
        for (std::size_t j = 0; j < d; ++j) {
          exact += double{framed(0, j)} * double{coder->mean()[j]} + double{p(0, j)} * double{y(i, j)};
          size += std::abs(double{p(0, j)} * double{y(i, j)});
        }
        // All coordinates of p have one byte, 64 or more: its rounding is below 1/128, those of levels 1/126 of theirs.
        EXPECT_NEAR(double{scores(0, i)}, exact, size / 50) << "d " << d << ", channel " << channel << ", key " << i;
      }
    }
  }
}

// Scores depend neither on other queries nor on keys that come later.
TEST_P(OnePassQueriesOn, ScoresDoNotDependOnCompany) {
  constexpr std::size_t kDim = 64, kTile = 64;
  const std::size_t n = 70 * kTile + 9;
  const auto coder = make_coder(kDim, 3, kTile);
  const Matrix<float> keys = random_rows(n, kDim, 7);
  MatchedKeyCache cache(coder, {.target = GetParam()});
  append(cache, keys, 0, n);
  const Matrix<float> queries = random_rows(70, kDim, 8);
  const Matrix<float> all = scores_of(cache, queries.view(), 0.5F);
  for (const std::size_t h : {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{13}}) {
    const Matrix<float> some = scores_of(cache, queries.view().middle_rows(70 - h, h), 0.5F);
    for (std::size_t q = 0; q < h; ++q)
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(some(q, i), all(70 - h + q, i)) << h << " queries, key " << i;
  }
  MatchedKeyCache growing(coder, {.target = GetParam()});
  for (std::size_t size = 0; size < n;) {
    const std::size_t more = std::min<std::size_t>(n - size, 611);
    append(growing, keys, size, more);
    size += more;
    const Matrix<float> some = scores_of(growing, queries.view().middle_rows(0, 2), 0.5F);
    for (std::size_t q = 0; q < 2; ++q)
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(some(q, i), all(q, i)) << size << " keys, key " << i;
  }
}

TEST(OnePassQueries, ExactWindowsAreExact) {
  constexpr std::size_t kDim = 64, kKeys = 300;
  const Matrix<float> keys = random_rows(kKeys, kDim, 9), queries = random_rows(2, kDim, 10);
  const auto coder = make_coder(kDim, 4, 64);
  MatchedKeyCache coded(coder), windowed(coder, {.first_exact = 4, .last_exact = 8});
  append(coded, keys, 0, kKeys);
  append(windowed, keys, 0, kKeys);
  const Matrix<float> expected = scores_of(coded, queries.view(), 1), scores = scores_of(windowed, queries.view(), 1);
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t i = 0; i < kKeys; ++i) {
      if (i >= 4 && i + 8 < kKeys) {
        EXPECT_EQ(scores(h, i), expected(h, i)) << i;
        continue;
      }
      double exact = 0, size = 0;
      for (std::size_t j = 0; j < kDim; ++j) {
        exact += double{queries(h, j)} * double{keys(i, j)};
        size += std::abs(double{queries(h, j)} * double{keys(i, j)});
      }
      EXPECT_NEAR(double{scores(h, i)}, exact, 64 * 6e-8 * 40 * (size + 100)) << i;
    }
  }
}

TEST(OnePassQueries, ExtremeQueriesAreScoredOrRefused) {
  constexpr std::size_t kDim = 64;
  MatchedKeyCache cache(make_coder(kDim, 4, 64));
  append(cache, random_rows(70, kDim, 11), 0, 70);
  Matrix<float> queries(1, kDim);
  const Matrix<float> of_zero = scores_of(cache, queries.view(), 1);
  for (const float score : of_zero.row(0)) EXPECT_EQ(score, 0);
  const Matrix<float> usual = random_rows(1, kDim, 12);
  const Matrix<float> expected = scores_of(cache, usual.view(), 1);
  double largest = 0;
  for (const float score : expected.row(0)) largest = std::max(largest, std::abs(double{score}));
  // By 1e20 and more it is not sure that all stays finite: the longer way, whose roundings are others.
  for (const float factor : {1e-30F, 1e-20F, 1e15F, 1e20F, 1e30F}) {
    for (std::size_t j = 0; j < kDim; ++j) queries(0, j) = usual(0, j) * factor;
    const Matrix<float> scores = scores_of(cache, queries.view(), 1 / factor);
    for (std::size_t i = 0; i < 70; ++i)
      EXPECT_NEAR(double{scores(0, i)}, double{expected(0, i)}, 0.02 * largest) << factor << ", key " << i;
  }
  Workspace work(cache.workspace_bytes(1));
  Matrix<float> scores(1, 70);
  for (const float bad : {NAN, INFINITY}) {
    queries(0, 5) = bad;
    EXPECT_THROW(cache.scores(queries.view(), 1, scores.view(), work), InvalidArgument);
  }
  EXPECT_THROW(cache.scores(usual.view(), NAN, scores.view(), work), InvalidArgument);
}

}  // namespace
}  // namespace orthant::cache
