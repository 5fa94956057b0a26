#include "orthant/cache/matched_key_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/make_rotation.h"
#include "orthant/transform/matched_transform.h"

namespace orthant::cache {
namespace {

using transform::Alignment;
using transform::Match;
using transform::Rope;
using transform::RopeLayout;

constexpr std::size_t kDim = 32;

Matrix<float> random_rows(std::size_t n, std::uint64_t trial) {
  Matrix<float> x(n, kDim);
  RngStream rng(31, Domain::kData, trial);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < kDim; ++j)
      x(i, j) = static_cast<float>(rng.normal() * std::exp2(static_cast<double>(j % 5)) + (j == 3 ? 20 : 0));
  return x;
}

std::shared_ptr<const quantizer::TurboMse> turbo(std::size_t dim, int bits, std::uint64_t index,
                                                 const char* rotation = "hadamard:3") {
  return std::make_shared<quantizer::TurboMse>(transform::make_rotation(rotation, dim, 1, index),
                                               codebook::sphere_codebook(static_cast<std::int64_t>(dim), bits));
}

struct Setting {
  std::size_t tile;
  bool rotating;
  bool segments;
  Match match = Match::kFull;
  const char* rotation = "hadamard:3";
};

/// Fitted to random_rows(200, 1) and (200, 2); diagonal maps keep the channels in their order, which is scored in one
/// pass over a query.
std::shared_ptr<const transform::MatchedTransform> make_map(Match match) {
  transform::SecondMoments k(kDim), q(kDim);
  k.add(random_rows(200, 1).view());
  q.add(random_rows(200, 2).view());
  const transform::MatchingMap map =
      transform::matching_map(match, transform::shrunk(k.covariance().view(), 0.02).view(),
                              transform::shrunk(q.second_moment().view(), 0.02).view());
  return std::make_shared<transform::MatchedTransform>(match == Match::kFull ? map : transform::in_channel_order(map));
}

std::vector<MatchedKeyCoder::Segment> make_segments(const Setting& setting) {
  if (setting.segments) return {{8, turbo(8, 6, 0)}, {16, turbo(16, 3, 1)}, {8, nullptr}};
  return {{kDim, turbo(kDim, 4, 0, setting.rotation)}};
}

std::shared_ptr<const MatchedKeyCoder> make_coder(const Setting& setting) {
  transform::SecondMoments k(kDim);
  k.add(random_rows(200, 1).view());
  const std::vector<float> mu(k.mean().begin(), k.mean().end());
  return std::make_shared<MatchedKeyCoder>(transform::KeyFrame(Rope(RopeLayout::kHalf, kDim, 1000), {setting.tile},
                                                               setting.rotating ? mu : std::vector<float>()),
                                           setting.rotating ? std::vector<float>(kDim) : mu, make_map(setting.match),
                                           make_segments(setting));
}

/// Keys as the codes stand for them, back in the coordinates of the cache's user: what scores are to be products with.
Matrix<float> decoded(const MatchedKeyCache& cache, const MatchedKeyCoder& coder, std::size_t first_position,
                      const transform::Transform& map, const std::vector<MatchedKeyCoder::Segment>& segments) {
  Matrix<float> y(cache.size(), kDim);
  cache.codes().decode(0, y.view());
  Workspace work(1 << 20);
  std::size_t first = 0;
  for (const auto& s : segments) {
    const MatrixView<float> part = y.view().middle_cols(first, s.dim);
    if (s.coder) s.coder->rotation().invert_keys(part, part, work);
    first += s.dim;
  }
  map.invert_keys(y.view(), y.view(), work);
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t j = 0; j < kDim; ++j) y(i, j) += coder.mean()[j];
  coder.frame().leave(y.view(), first_position, y.view());
  return y;
}

TEST(MatchedKeyCache, ScoresAreThoseOfTheDecodedKeys) {
  for (const Setting setting : {Setting{0, false, false},
                                {0, true, false},
                                {64, false, false},
                                {64, true, false},
                                {128, false, true},
                                {0, false, true},
                                {1024, true, true},
                                {0, false, false, Match::kDiagonal},
                                {64, false, false, Match::kDiagonal},
                                {64, true, false, Match::kDiagonal},
                                {64, false, false, Match::kNone},
                                {0, false, false, Match::kDiagonal, "hadamard:1"},
                                {64, false, false, Match::kDiagonal, "hadamard:1"},
                                {64, true, false, Match::kDiagonal, "hadamard:1"}}) {
    const std::size_t first_position = setting.tile;
    const auto coder = make_coder(setting);
    MatchedKeyCache cache(coder, {.precision = Precision::kExact}, first_position);
    const Matrix<float> keys = random_rows(300, 3), queries = random_rows(3, 4);
    Workspace append_work(cache.append_workspace_bytes());
    cache.append(keys.view().middle_rows(0, 1), append_work);
    cache.append(keys.view().middle_rows(1, 100), append_work);
    cache.append(keys.view().middle_rows(101, 199), append_work);
    ASSERT_EQ(cache.size(), 300U);
    const Matrix<float> k_hat =
        decoded(cache, *coder, first_position, *make_map(setting.match), make_segments(setting));
    Matrix<float> scores(3, 300);
    Workspace work(cache.workspace_bytes(3));
    cache.scores(queries.view(), 0.5F, scores.view(), work);
    EXPECT_EQ(work.used(), 0U);
    for (std::size_t h = 0; h < 3; ++h)
      for (std::size_t i = 0; i < 300; ++i) {
        double score = 0;
        double size = 0;
        for (std::size_t j = 0; j < kDim; ++j) {
          const double term = 0.5 * static_cast<double>(queries(h, j)) * static_cast<double>(k_hat(i, j));
          score += term;
          size += std::abs(term);
        }
        // A few maps in single precision, cond(A) below 40 at d = 32: d * 2^-24 * 40 of the products' sizes.
        EXPECT_NEAR(scores(h, i), score, 32 * 6e-8 * 40 * (size + 100)) << "tile " << setting.tile << " key " << i;
      }
    // And they are near the exact ones: a wrong frame or a lost mean would leave an error as large as the scores.
    // (These keys are not turned by their positions, so a rotating mean does not fit them.)
    double error = 0, total = 0;
    for (std::size_t h = 0; h < 3; ++h)
      for (std::size_t i = 0; i < 300; ++i) {
        double exact = 0;
        for (std::size_t j = 0; j < kDim; ++j)
          exact += 0.5 * static_cast<double>(queries(h, j)) * static_cast<double>(keys(i, j));
        error += (scores(h, i) - exact) * (scores(h, i) - exact);
        total += exact * exact;
      }
    EXPECT_LT(error, 0.25 * total);
  }
}

// Queries of many tiles are made ready together, by phases from two tables; scores are those of tile by tile with the
// phases of each. A byte of a query that phases good to 2^-22 round the other way changes a score by 1/127 of the
// largest coordinate times a level: a hundredth of the largest score is several of them, and a wrong tile far more.
TEST(MatchedKeyCache, ManyTilesScoreAsOneByOne) {
  constexpr std::size_t kTile = 64;
  constexpr std::size_t kKeys = 70 * kTile + 9;
  for (const Setting& setting : {Setting{kTile, false, false, Match::kDiagonal},
                                 {kTile, false, false, Match::kDiagonal, "hadamard:1"},
                                 {kTile, false, false, Match::kNone},
                                 {kTile, false, false, Match::kFull},
                                 {kTile, false, true, Match::kDiagonal}}) {
    const auto coder = make_coder(setting);
    MatchedKeyCache cache(coder);
    const Matrix<float> keys = random_rows(kKeys, 11);
    Workspace append_work(cache.append_workspace_bytes());
    cache.append(keys.view(), append_work);
    for (const std::size_t h : {std::size_t{1}, std::size_t{3}, std::size_t{9}, std::size_t{70}}) {
      const Matrix<float> queries = random_rows(h, 12);
      Matrix<float> scores(h, kKeys);
      Workspace work(cache.workspace_bytes(h));
      cache.scores(queries.view(), 0.5F, scores.view(), work);
      EXPECT_EQ(work.used(), 0U);
      double largest = 0;
      for (std::size_t i = 0; i < kKeys; ++i) largest = std::max(largest, std::abs(double{scores(0, i)}));
      Workspace tile_work(coder->workspace_bytes(h) + cache.codes().workspace_bytes(h) +
                          Workspace::bytes_for<float>(h * kDim));
      Matrix<float> p(h, kDim);
      std::vector<float> phases(kDim);
      Matrix<float> terms(h, 1);
      for (std::size_t first = 0; first < kKeys; first += kTile) {
        coder->frame().rope().phases(-static_cast<double>(first), phases);
        coder->transform_queries(queries.view(), phases, p.view(), {terms.data(), h}, tile_work);
        for (std::size_t q = 0; q < h; ++q) terms(q, 0) *= 0.5F;
        Matrix<float> of_tile(h, std::min(kTile, kKeys - first));
        cache.codes().scores(p.view(), 0.5F, first, of_tile.view(), tile_work, terms.view());
        for (std::size_t q = 0; q < h; ++q)
          for (std::size_t i = 0; i < of_tile.cols(); ++i)
            ASSERT_NEAR(double{scores(q, first + i)}, double{of_tile(q, i)}, 0.01 * largest);
      }
    }
  }
}

// Exact tokens have exact scores, and the others those of a cache without windows, bit by bit.
TEST(MatchedKeyCache, ExactWindowsAreExact) {
  for (const Setting& setting : {Setting{0, false, false},
                                 {64, false, false},
                                 {64, false, false, Match::kDiagonal, "hadamard:1"},
                                 {128, true, false, Match::kDiagonal}}) {
    for (const std::size_t n : {5U, 64U, 130U, 700U}) {
      for (const CacheOptions& options : {CacheOptions{.first_exact = 4, .last_exact = 8},
                                          CacheOptions{.first_exact = 70}, CacheOptions{.last_exact = 90}}) {
        MatchedKeyCache cache(make_coder(setting), options);
        MatchedKeyCache coded(make_coder(setting));
        const Matrix<float> keys = random_rows(n, 5), queries = random_rows(2, 6);
        Workspace append_work(cache.append_workspace_bytes());
        cache.append(keys.view(), append_work);
        coded.append(keys.view(), append_work);
        Matrix<float> scores(2, n), all_coded(2, n);
        Workspace work(cache.workspace_bytes(2));
        cache.scores(queries.view(), 0.5F, scores.view(), work);
        coded.scores(queries.view(), 0.5F, all_coded.view(), work);
        for (std::size_t h = 0; h < 2; ++h)
          for (std::size_t i = 0; i < n; ++i) {
            if (i >= options.first_exact && i + options.last_exact < n) {
              EXPECT_EQ(scores(h, i), all_coded(h, i)) << "tile " << setting.tile << " key " << i << " of " << n;
              continue;
            }
            double exact = 0, size = 0;
            for (std::size_t j = 0; j < kDim; ++j) {
              exact += 0.5 * static_cast<double>(queries(h, j)) * static_cast<double>(keys(i, j));
              size += std::abs(0.5 * static_cast<double>(queries(h, j)) * static_cast<double>(keys(i, j)));
            }
            EXPECT_NEAR(scores(h, i), exact, 32 * 6e-8 * 40 * (size + 100))
                << "tile " << setting.tile << " key " << i << " of " << n;
          }
      }
    }
  }
}

// Nothing of a refused call is stored, wherever the bad key stands, and the cache goes on as if it had not been made.
TEST(MatchedKeyCache, RefusedKeysLeaveTheCacheAsItWas) {
  for (const Setting& setting : {Setting{64, false, false, Match::kDiagonal, "hadamard:1"}, Setting{64, false, false},
                                 Setting{64, true, false}, Setting{0, false, true}}) {
    MatchedKeyCache cache(make_coder(setting)), other(make_coder(setting));
    const Matrix<float> keys = random_rows(2000, 15), queries = random_rows(2, 16);
    Workspace append_work(cache.append_workspace_bytes());
    cache.append(keys.view().middle_rows(0, 100), append_work);
    for (const float bad : {NAN, INFINITY, 1e30F}) {  // the last one's scale does not fit half precision
      Matrix<float> spoilt = random_rows(1500, 17);
      spoilt(1400, 5) = bad;
      EXPECT_THROW(cache.append(spoilt.view(), append_work), InvalidArgument) << bad;
      EXPECT_THROW(cache.append(spoilt.view().middle_rows(1390, 20), append_work), InvalidArgument) << bad;
      EXPECT_EQ(cache.size(), 100U);
    }
    cache.append(keys.view().middle_rows(100, 1900), append_work);
    other.append(keys.view(), append_work);
    Matrix<float> scores(2, 2000), expected(2, 2000);
    Workspace work(cache.workspace_bytes(2));
    cache.scores(queries.view(), 1, scores.view(), work);
    other.scores(queries.view(), 1, expected.view(), work);
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t i = 0; i < 2000; ++i) ASSERT_EQ(scores(h, i), expected(h, i)) << "key " << i;
  }
}

// A rotating mean adds a term for each key: it must not depend on the other queries either.
TEST(MatchedKeyCache, RotatingMeansDoNotDependOnCompany) {
  for (const std::size_t tile : {std::size_t{0}, std::size_t{64}}) {
    MatchedKeyCache cache(make_coder({tile, true, false}));
    Workspace append_work(cache.append_workspace_bytes());
    cache.append(random_rows(300, 18).view(), append_work);
    const Matrix<float> queries = random_rows(13, 19);
    Matrix<float> all(13, 300), alone(1, 300);
    Workspace work(cache.workspace_bytes(13));
    cache.scores(queries.view(), 1, all.view(), work);
    for (std::size_t h = 0; h < 13; ++h) {
      cache.scores(queries.view().middle_rows(h, 1), 1, alone.view(), work);
      for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(alone(0, i), all(h, i)) << "query " << h << ", key " << i;
    }
  }
}

TEST(MatchedKeyCache, NamesTheBadElementOfAQuery) {
  MatchedKeyCache cache(make_coder({64, false, false}));
  Workspace append_work(cache.append_workspace_bytes());
  cache.append(random_rows(70, 20).view(), append_work);
  Matrix<float> queries = random_rows(3, 21), scores(3, 70);
  Workspace work(cache.workspace_bytes(3));
  queries(2, 7) = INFINITY;
  try {
    cache.scores(queries.view(), 1, scores.view(), work);
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_NE(std::string(e.what()).find("row 2, column 7"), std::string::npos) << e.what();
  }
}

TEST(MatchedKeyCache, RefusesQueriesThatAreNotFinite) {
  for (const Match match : {Match::kDiagonal, Match::kFull})
    for (const std::size_t tile : {std::size_t{0}, std::size_t{64}}) {
      MatchedKeyCache cache(make_coder({tile, false, false, match}));
      Workspace append_work(cache.append_workspace_bytes());
      cache.append(random_rows(70, 7).view(), append_work);
      Workspace work(cache.workspace_bytes(2));
      Matrix<float> scores(2, 70);
      Matrix<float> queries = random_rows(2, 8);
      EXPECT_THROW(cache.scores(queries.view(), INFINITY, scores.view(), work), InvalidArgument);
      for (const float bad : {NAN, INFINITY}) {
        for (float& x : queries.row(1)) x = bad;
        EXPECT_THROW(cache.scores(queries.view(), 1, scores.view(), work), InvalidArgument) << bad;
      }
      for (float& x : queries.row(1)) x = 1e25F;  // large, but all is finite
      cache.scores(queries.view(), 1e-25F, scores.view(), work);
      for (const float score : scores.row(1)) EXPECT_TRUE(std::isfinite(score));
    }
}

TEST(MatchedKeyCache, RefusesWhatHasNoScoresFromCodes) {
  EXPECT_THROW(make_coder({Alignment::kBeforeRope, false, false}), InvalidArgument);
  EXPECT_THROW(make_coder({96, false, false}), InvalidArgument);
  EXPECT_THROW(MatchedKeyCache(make_coder({64, false, false}), {}, 32), InvalidArgument);
  EXPECT_THROW(MatchedKeyCoder(transform::KeyFrame(Rope(RopeLayout::kNone, 4, 0), {}), std::vector<float>(4), nullptr,
                               {{4, nullptr}}),
               InvalidArgument);
  EXPECT_THROW(MatchedKeyCoder(transform::KeyFrame(Rope(RopeLayout::kNone, 4, 0), {}), std::vector<float>(3), nullptr,
                               {{4, turbo(4, 2, 0)}}),
               InvalidArgument);
}

}  // namespace
}  // namespace orthant::cache
