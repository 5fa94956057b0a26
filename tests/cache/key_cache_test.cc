#include "orthant/cache/key_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cache/coded_rows.h"
#include "kernels/kernel_table.h"
#include "orthant/cache/target.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::cache {
namespace {

double exact_score(std::span<const float> query, std::span<const float> key, double scale) {
  double sum = 0;
  for (std::size_t j = 0; j < key.size(); ++j) sum += double{query[j]} * double{key[j]};
  return scale * sum;
}

struct Case {
  std::string name;
  RowFormat format;
};

std::vector<Case> formats(std::size_t d) {
  std::vector<Case> cases;
  for (int bits = 1; bits <= 8; ++bits) {
    cases.push_back({"codebook " + std::to_string(bits), RowFormat::codebook(d, bits, curved_levels(bits))});
  }
  for (int bits = 1; bits <= 8; ++bits) {
    cases.push_back({"uniform " + std::to_string(bits), RowFormat::uniform(d, bits, 32)});
  }
  cases.push_back({"uniform whole", RowFormat::uniform(d, 7, d)});
  cases.push_back({"q8_0", RowFormat::q8_0(d)});
  cases.push_back({"fp8", RowFormat::fp8_e4m3(d)});
  cases.push_back({"bfloat16", RowFormat::bfloat16(d)});
  if (d < 4) return cases;
  const std::size_t head = d / 3;
  cases.push_back({"segments", RowFormat::segmented({{head, 5, curved_levels(5)},
                                                     {head, 2, curved_levels(2)},
                                                     {d - 2 * head - 1, 1, {-0.5F, 1.5F}},
                                                     {1, 0, {0.25F}}})});
  return cases;
}

class EveryTarget : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget, testing::ValuesIn(usable_targets()),
                         [](const auto& target) { return target.param; });

// The contract of the header: every score lies within the stated bound of the product with the decoded key.
TEST_P(EveryTarget, ScoresStayWithinTheStatedBound) {
  constexpr std::size_t kKeys = 130;
  constexpr std::size_t kQueries = 13;  // batches of 8, 4 and 1
  for (const std::size_t d : std::vector<std::size_t>{3, 33, 64, 80, 96, 100, 112, 128, 192, 576}) {
    for (const Case& c : formats(d)) {
      for (const Precision precision : {Precision::kFast, Precision::kExact}) {
        KeyCache cache(c.format, {.precision = precision, .target = GetParam()});
        append_rows(cache, random_rows(c.format, kKeys, d));
        const Matrix<float> queries = random_queries(kQueries, d, d);
        const float scale = 1 / std::sqrt(static_cast<float>(d));
        Workspace work(cache.workspace_bytes(kQueries));
        Matrix<float> scores(kQueries, kKeys);
        Matrix<float> bounds(kQueries, kKeys);
        Matrix<float> keys(kKeys, d);
        cache.scores(queries.view(), scale, 0, scores.view(), work);
        cache.score_error_bounds(queries.view(), scale, 0, bounds.view());
        cache.decode(0, keys.view());
        for (std::size_t h = 0; h < kQueries; ++h) {
          for (std::size_t i = 0; i < kKeys; ++i) {
            // decode itself rounds each coordinate once: covered by the rounding term.
            ASSERT_NEAR(double{scores(h, i)}, exact_score(queries.row(h), keys.row(i), double{scale}),
                        double{bounds(h, i)})
                << c.name << " d " << d << (precision == Precision::kFast ? " fast" : " exact") << " query " << h
                << " key " << i;
          }
        }
      }
    }
  }
}

// A format of width 0 keeps one level for all: scores for any number of queries, on every target.
TEST_P(EveryTarget, NoBitsAtAllAreScored) {
  for (const Precision precision : {Precision::kFast, Precision::kExact}) {
    const RowFormat format = RowFormat::codebook(64, 0, {0.5F});
    KeyCache cache(format, {.precision = precision, .target = GetParam()});
    append_rows(cache, random_rows(format, 70, 1));
    for (const std::size_t count : {1U, 4U, 8U, 13U}) {
      const Matrix<float> queries = random_queries(count, 64, 2);
      Matrix<float> scores(count, 70), bounds(count, 70), keys(70, 64);
      Workspace work(cache.workspace_bytes(count));
      cache.scores(queries.view(), 1, 0, scores.view(), work);
      cache.score_error_bounds(queries.view(), 1, 0, bounds.view());
      cache.decode(0, keys.view());
      for (std::size_t h = 0; h < count; ++h)
        for (std::size_t i = 0; i < 70; ++i)
          ASSERT_NEAR(double{scores(h, i)}, exact_score(queries.row(h), keys.row(i), 1), double{bounds(h, i)});
    }
  }
}

// Coordinates of one sign against the outermost levels: the largest sums that kernels hold in 16 bits.
TEST_P(EveryTarget, QueriesOfOneSignStayWithinTheStatedBound) {
  for (const std::size_t d : std::vector<std::size_t>{8, 64, 100}) {
    for (int bits = 1; bits <= 5; ++bits) {
      const RowFormat format = RowFormat::codebook(d, bits, curved_levels(bits));
      KeyCache cache(format, {.target = GetParam()});
      CodedRows rows = random_rows(format, 4, 1);
      for (std::size_t j = 0; j < d; ++j) {
        const auto last = static_cast<std::uint8_t>((1 << bits) - 1);
        rows.codes(0, j) = last;
        rows.codes(1, j) = 0;
        rows.codes(2, j) = j % 2 == 0 ? last : std::uint8_t{0};
      }
      append_rows(cache, rows);
      Matrix<float> queries(3, d);
      for (std::size_t j = 0; j < d; ++j) {
        queries(0, j) = 1;
        queries(1, j) = -1;
        queries(2, j) = j % 2 == 0 ? 1.0F : -1.0F;
      }
      Workspace work(cache.workspace_bytes(3));
      Matrix<float> scores(3, 4), bounds(3, 4), keys(4, d);
      cache.scores(queries.view(), 1, 0, scores.view(), work);
      cache.score_error_bounds(queries.view(), 1, 0, bounds.view());
      cache.decode(0, keys.view());
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t i = 0; i < 4; ++i) {
          ASSERT_NEAR(double{scores(h, i)}, exact_score(queries.row(h), keys.row(i), 1), double{bounds(h, i)})
              << bits << " bits, d " << d << ", query " << h << ", key " << i;
        }
      }
    }
  }
}

// Exact mode to float accuracy: relative to |q| |k|, the scale of a score, 1e-5 leaves room for d = 576.
TEST_P(EveryTarget, ExactModeIsAccurateToFloats) {
  for (const std::size_t d : std::vector<std::size_t>{64, 80, 96, 100, 112, 128, 192, 576}) {
    for (int bits = 1; bits <= 8; ++bits) {
      const RowFormat format = RowFormat::codebook(d, bits, curved_levels(bits));
      KeyCache cache(format, {.precision = Precision::kExact, .target = GetParam()});
      append_rows(cache, random_rows(format, 130, 5));
      const Matrix<float> queries = random_queries(1, d, 3);
      Workspace work(cache.workspace_bytes(1));
      Matrix<float> scores(1, 130);
      Matrix<float> keys(130, d);
      cache.scores(queries.view(), 1, 0, scores.view(), work);
      cache.decode(0, keys.view());
      for (std::size_t i = 0; i < 130; ++i) {
        const double reference = exact_score(queries.row(0), keys.row(i), 1);
        const double size =
            std::sqrt(exact_score(queries.row(0), queries.row(0), 1) * exact_score(keys.row(i), keys.row(i), 1));
        ASSERT_NEAR(double{scores(0, i)}, reference, 1e-5 * size) << "d " << d << " bits " << bits;
      }
    }
  }
}

// Typical errors, not only worst ones: kernels that lose a bit of accuracy stay far inside the worst-case bound.
// Rounding levels and queries to a grid of step D gives an error of variance D^2/12 per factor; the RMS over 130 keys
// and 4 queries must stay below 1.5 times that prediction (its own relative standard error is about 3 %).
TEST_P(EveryTarget, TypicalFastErrorIsTheRoundingOfTheGrid) {
  constexpr std::size_t d = 128;
  const kernels::Arithmetic arithmetic = kernels::table_named(GetParam()).arithmetic;
  for (int bits = 1; bits <= 8; ++bits) {
    const RowFormat format = RowFormat::codebook(d, bits, curved_levels(bits));
    KeyCache cache(format, {.precision = Precision::kFast, .target = GetParam()});
    const CodedRows rows = random_rows(format, 130, 5);
    append_rows(cache, rows);
    const Matrix<float> queries = random_queries(4, d, 3);
    Workspace work(cache.workspace_bytes(4));
    Matrix<float> scores(4, 130);
    Matrix<float> keys(130, d);
    cache.scores(queries.view(), 1, 0, scores.view(), work);
    cache.decode(0, keys.view());
    double squared = 0;
    double predicted = 0;
    for (std::size_t h = 0; h < 4; ++h) {
      float largest = 0;
      for (const float q : queries.row(h)) largest = std::max(largest, std::abs(q));
      for (std::size_t i = 0; i < 130; ++i) {
        const double error = double{scores(h, i)} - exact_score(queries.row(h), keys.row(i), 1);
        squared += error * error;
        // Half ranges: 2.5 (1 - 2^-bits) or less for these levels; keys(i, j) = scale * level.
        const bool two_planes = bits >= 6;
        const bool narrow = arithmetic == kernels::Arithmetic::kNarrow;
        const double base = narrow ? 128 : 256;
        const double level_steps = (narrow ? 63.0 : 127.0) * (two_planes ? base : 1);
        const double query_steps = 127.0 * (two_planes ? base : 1);
        const double range = double{*std::ranges::max_element(format.sections()[0].levels)};
        const double key_scale = double{rows.scales(i, 0)};
        const double level_step = key_scale * range / level_steps;
        const double query_step = double{largest} / query_steps;
        predicted += exact_score(queries.row(h), queries.row(h), 1) * level_step * level_step / 12 +
                     exact_score(keys.row(i), keys.row(i), 1) * query_step * query_step / 12;
        if (two_planes) predicted += static_cast<double>(d) * std::pow(level_step * query_step * base * base / 12, 2);
        if (kernels::uses_tables({.bits = bits, .dims = d, .query_planes = 1}, arithmetic)) {
          // One rounding for each table of 4 / bits coordinates, to a step of the largest table's share of a byte.
          predicted += static_cast<double>(d) * bits / 4 *
                       std::pow(key_scale * range * double{largest} * 4 / bits / kernels::table_top(bits), 2) / 12;
        }
      }
    }
    EXPECT_LT(std::sqrt(squared), 1.5 * std::sqrt(predicted)) << "bits " << bits;
  }
}

// All n from 1 to 130: the same scores as in one long call, nothing written beyond.
TEST_P(EveryTarget, AnyNumberOfKeysAndNothingBeyond) {
  constexpr std::size_t d = 80;
  constexpr float kGuard = -12345.5F;
  for (int bits = 1; bits <= 8; ++bits) {
    const RowFormat format = RowFormat::codebook(d, bits, curved_levels(bits));
    KeyCache cache(format, {.precision = Precision::kFast, .target = GetParam()});
    append_rows(cache, random_rows(format, 130, 11));
    const Matrix<float> queries = random_queries(5, d, 2);
    Workspace work(cache.workspace_bytes(5));
    Matrix<float> all(5, 130);
    cache.scores(queries.view(), 1, 0, all.view(), work);
    for (std::size_t n = 0; n <= 130; ++n) {
      std::vector<float> memory(7 + 5 * (n + 3), kGuard);
      const MatrixView<float> some(memory.data() + 7, 5, n, n + 3);
      cache.scores(queries.view(), 1, 0, some, work);
      for (std::size_t h = 0; h < 5; ++h) {
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(some(h, i), all(h, i)) << bits << " bits, n " << n;
      }
      for (std::size_t at = 0; at < memory.size(); ++at) {
        const bool written = at >= 7 && (at - 7) % (n + 3) < n;
        if (!written) {
          ASSERT_EQ(memory[at], kGuard) << bits << " bits, n " << n << " at " << at;
        }
      }
    }
  }
}

TEST_P(EveryTarget, ScoresDoNotDependOnTheCompanyOfAQuery) {
  constexpr std::size_t d = 96;
  for (const Case& c : formats(d)) {
    KeyCache cache(c.format, {.precision = Precision::kFast, .target = GetParam()});
    append_rows(cache, random_rows(c.format, 100, 1));
    const Matrix<float> queries = random_queries(13, d, 4);
    Workspace work(cache.workspace_bytes(13));
    Matrix<float> together(13, 100);
    Matrix<float> alone(1, 100);
    cache.scores(queries.view(), 0.5F, 0, together.view(), work);
    for (std::size_t h = 0; h < 13; ++h) {
      cache.scores(queries.view().middle_rows(h, 1), 0.5F, 0, alone.view(), work);
      for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(alone(0, i), together(h, i)) << c.name << " query " << h;
    }
  }
}

TEST(KeyCache, AppendingOneByOneIsAppendingAtOnce) {
  const RowFormat format = RowFormat::codebook(48, 3, curved_levels(3));
  const CodedRows rows = random_rows(format, 150, 9);
  KeyCache at_once(format);
  append_rows(at_once, rows);
  KeyCache one_by_one(format);
  for (std::size_t i = 0; i < 150; ++i) {
    one_by_one.append(rows.codes.view().middle_rows(i, 1), rows.scales.view().middle_rows(i, 1));
  }
  ASSERT_EQ(one_by_one.size(), 150U);
  EXPECT_TRUE(std::ranges::equal(at_once.tiles(), one_by_one.tiles()));
}

TEST(KeyCache, RunsOfTilesTakeQueriesAndTermsOfTheirOwn) {
  constexpr std::size_t d = 64;
  const RowFormat format = RowFormat::codebook(d, 4, curved_levels(4));
  KeyCache cache(format);
  append_rows(cache, random_rows(format, 200, 9));
  constexpr std::size_t kQueries = 5;  // a batch of four and one alone
  const Matrix<float> queries = random_queries(kQueries, d, 8);
  Workspace work(cache.workspace_bytes(kQueries));
  Matrix<float> all(kQueries, 200);
  cache.scores(queries.view(), 1, 0, all.view(), work);
  Matrix<float> terms(kQueries, 72);
  Matrix<float> constants(kQueries, 1);
  for (std::size_t h = 0; h < kQueries; ++h) {
    constants(h, 0) = 3 - 1.25F * static_cast<float>(h);
    for (std::size_t i = 0; i < 72; ++i) terms(h, i) = static_cast<float>(i) * (h % 2 == 0 ? 1.0F : -0.125F);
  }
  Matrix<float> run(kQueries, 72);
  cache.scores(queries.view(), 1, 128, run.view(), work, terms.view());
  Matrix<float> shifted(kQueries, 72);
  cache.scores(queries.view(), 1, 128, shifted.view(), work, constants.view());
  for (std::size_t h = 0; h < kQueries; ++h) {
    for (std::size_t i = 0; i < 72; ++i) {
      EXPECT_EQ(run(h, i), all(h, 128 + i) + terms(h, i));
      // One fused rounding instead of two: half a unit in the last place for each of the three.
      EXPECT_NEAR(shifted(h, i), all(h, 128 + i) + constants(h, 0),
                  0x1p-24 * (std::abs(all(h, 128 + i)) + 2 * std::abs(shifted(h, i))) * 1.001);
    }
  }
}

TEST(KeyCache, WindowsAreScoredExactly) {
  constexpr std::size_t d = 40;
  const RowFormat format = RowFormat::codebook(d, 2, curved_levels(2));
  for (const std::size_t n : std::vector<std::size_t>{1, 3, 4, 5, 10, 64, 70, 150}) {
    KeyCache cache(format, {.first_exact = 4, .last_exact = 7});
    KeyCache plain(format);
    const CodedRows rows = random_rows(format, n, 21);
    const Matrix<float> exact = random_queries(n, d, 77);
    for (std::size_t i = 0; i < n; ++i) {
      cache.append(rows.codes.view().middle_rows(i, 1), rows.scales.view().middle_rows(i, 1), {},
                   exact.view().middle_rows(i, 1));
    }
    append_rows(plain, rows);
    const Matrix<float> queries = random_queries(3, d, 78);
    Workspace work(cache.workspace_bytes(3));
    Matrix<float> terms(3, n);
    for (std::size_t i = 0; i < n; ++i) terms(1, i) = static_cast<float>(i);
    Matrix<float> with(3, n);
    Matrix<float> without(3, n);
    cache.scores(queries.view(), 0.5F, 0, with.view(), work, terms.view());
    plain.scores(queries.view(), 0.5F, 0, without.view(), work, terms.view());
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t i = 0; i < n; ++i) {
        if (i < 4 || i + 7 >= n) {
          const double expected = exact_score(queries.row(h), exact.row(i), 0.5) + double{terms(h, i)};
          EXPECT_NEAR(double{with(h, i)}, expected, 1e-4) << n << ' ' << i;  // float sums of 40 terms of size 1
        } else {
          EXPECT_EQ(with(h, i), without(h, i)) << n << ' ' << i;
        }
      }
    }
  }
}

TEST(KeyCache, MistakesAreRefusedBeforeAnythingChanges) {
  const RowFormat format = RowFormat::codebook(8, 2, curved_levels(2));
  KeyCache cache(format);
  Matrix<std::uint8_t> codes(1, 8);
  Matrix<float> scales(1, 1);
  scales(0, 0) = 1;
  codes(0, 3) = 4;
  EXPECT_THROW(cache.append(codes.view(), scales.view()), InvalidArgument);
  codes(0, 3) = 3;
  scales(0, 0) = 70000;
  EXPECT_THROW(cache.append(codes.view(), scales.view()), InvalidArgument);
  scales(0, 0) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(cache.append(codes.view(), scales.view()), InvalidArgument);
  scales(0, 0) = 1;
  EXPECT_THROW(cache.append(codes.view(), {}), InvalidArgument);
  EXPECT_THROW(cache.append(scales.view()), InvalidArgument);
  EXPECT_THROW(cache.append(codes.view(), scales.view(), {}, random_queries(1, 8, 1).view()), InvalidArgument);
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(cache.bytes(), 0U);
  cache.append(codes.view(), scales.view());
  Matrix<float> queries = random_queries(1, 8, 1);
  Matrix<float> scores(1, 1);
  Workspace work(cache.workspace_bytes(1));
  EXPECT_THROW(cache.scores(queries.view(), 1, 1, scores.view(), work), InvalidArgument);
  Matrix<float> too_many(1, 2);
  EXPECT_THROW(cache.scores(queries.view(), 1, 0, too_many.view(), work), InvalidArgument);
  queries(0, 2) = std::numeric_limits<float>::infinity();
  EXPECT_THROW(cache.scores(queries.view(), 1, 0, scores.view(), work), InvalidArgument);
  EXPECT_THROW(KeyCache(format, {.query_bits = 4}), InvalidArgument);
}

TEST(KeyCache, ZeroAndTinyScalesGiveZeroScores) {
  const RowFormat format = RowFormat::codebook(16, 4, curved_levels(4));
  KeyCache cache(format);
  Matrix<std::uint8_t> codes(3, 16);
  Matrix<float> scales(3, 1);
  scales(1, 0) = 1e-30F;
  scales(2, 0) = 65504;
  cache.append(codes.view(), scales.view());
  const Matrix<float> queries = random_queries(1, 16, 1);
  Workspace work(cache.workspace_bytes(1));
  Matrix<float> scores(1, 3);
  cache.scores(queries.view(), 1, 0, scores.view(), work);
  EXPECT_EQ(scores(0, 0), 0);
  EXPECT_EQ(scores(0, 1), 0);
  EXPECT_TRUE(std::isfinite(scores(0, 2)));
  const Matrix<float> zero(1, 16);
  cache.scores(zero.view(), 1, 0, scores.view(), work);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(scores(0, i), 0);
}

}  // namespace
}  // namespace orthant::cache
