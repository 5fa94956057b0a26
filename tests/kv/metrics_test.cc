#include "orthant/kv/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "golden_json.h"
#include "kv/attention_reference.h"
#include "orthant/core/error.h"
#include "orthant/core/rng.h"

namespace orthant::kv {
namespace {

std::vector<double> numbers(const nlohmann::json& list) {
  std::vector<double> values;
  for (const auto& entry : list)
    values.push_back(entry.is_object() ? entry.at("value").get<double>() : entry.get<double>());
  return values;
}

Matrix<float> matrix(const nlohmann::json& rows) {
  Matrix<float> m(rows.size(), rows.at(0).size());
  for (std::size_t i = 0; i < m.rows(); ++i) {
    for (std::size_t j = 0; j < m.cols(); ++j) m(i, j) = rows[i][j].get<float>();
  }
  return m;
}

Matrix<float> normals(std::size_t rows, std::size_t cols, std::uint64_t trial, float scale) {
  Matrix<float> m(rows, cols);
  RngStream rng(7, Domain::kData, trial);
  rng.fill_normal(std::span<float>(m.data(), rows * cols));
  for (std::size_t k = 0; k < rows * cols; ++k) m.data()[k] *= scale;
  return m;
}

/// Attention of one query per row over all n tokens, from the scores themselves; one value channel of zeros is enough
/// where outputs do not matter.
AttentionError compare(MatrixView<const float> scores, MatrixView<const float> errors, MatrixView<const float> values,
                       MatrixView<const float> values_hat, double scale = 1) {
  const std::vector<VisibleTokens> all(scores.rows(), VisibleTokens{0, scores.cols() - 1});
  AttentionComparison comparison(all, scale, values.cols());
  comparison.add_block(0, scores, errors, values, values_hat);
  return comparison.result();
}

TEST(Metrics, KlAgreesWithTheGoldenCases) {
  const auto golden = golden_json("kv/metrics.json").at("kl");
  const auto expected = numbers(golden.at("kl_nats"));
  const auto reverse = numbers(golden.at("reverse_kl_nats"));
  Moments mean;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto p = numbers(golden.at("base")[i]);
    const auto p_hat = numbers(golden.at("test")[i]);
    // Three or four logarithms and products of numbers below 1, each rounded to 2^-53.
    EXPECT_NEAR(kl_divergence(p, p_hat), expected[i], 8 * DBL_EPSILON);
    EXPECT_NEAR(kl_divergence(p_hat, p), reverse[i], 8 * DBL_EPSILON);
    mean.add(kl_divergence(p, p_hat));
  }
  EXPECT_NEAR(mean.mean(), golden.at("mean").get<double>(), 8 * DBL_EPSILON);
  const std::array<double, 2> half = {0.5, 0.5};
  const std::array<double, 2> one = {1, 0};
  EXPECT_EQ(kl_divergence(half, one), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(kl_divergence(one, half), std::log(2.0), DBL_EPSILON);
  EXPECT_THROW(kl_divergence(half, std::array<double, 1>{1}), InvalidArgument);
}

TEST(Metrics, AttentionKlAndTop1AgreeWithTheGoldenCases) {
  const auto golden = golden_json("kv/metrics.json").at("kl");
  const std::size_t queries = golden.at("base").size();
  Matrix<float> scores(queries, 3);
  Matrix<float> errors(queries, 3);
  for (std::size_t i = 0; i < queries; ++i) {
    const auto p = numbers(golden.at("base")[i]);
    const auto p_hat = numbers(golden.at("test")[i]);
    for (std::size_t j = 0; j < 3; ++j) {
      scores(i, j) = static_cast<float>(std::log(p[j]));
      errors(i, j) = static_cast<float>(std::log(p_hat[j]) - std::log(p[j]));
    }
  }
  const Matrix<float> values(3, 1);
  const AttentionError error = compare(scores.view(), errors.view(), values.view(), values.view());
  // Scores and errors are rounded to single precision: |ds| <= 2^-24 * 2.1; KL changes by at most 2 max |d(s_hat)|.
  EXPECT_NEAR(error.mean_kl(), golden.at("mean").get<double>(), 4 * 2.1 * 0x1p-24 * 2);
  EXPECT_EQ(error.top1.mean(), golden.at("same_top1").at("value").get<double>());
}

TEST(Metrics, OutputErrorAgreesWithTheGoldenCase) {
  const auto golden = golden_json("kv/metrics.json").at("attention_output");
  AttentionError error;
  add_output_error(matrix(golden.at("exact")).view(), matrix(golden.at("approx")).view(), error);
  // 0.3 and 0.4 are rounded to single precision, relative error 2^-24 each.
  EXPECT_NEAR(error.output_ratio.mean(), golden.at("mean_of_relative").get<double>(), 0x1p-24);
  EXPECT_NEAR(error.pooled_output_error(), golden.at("relative_of_all").get<double>(), 0x1p-24);
}

// Lower squared error, worse attention: a constant error leaves the softmax alone, a smaller uneven one does not.
TEST(Metrics, LowerSquaredErrorCanBeWorseAttention) {
  Matrix<float> scores(1, 3);
  scores(0, 0) = 4;
  const Matrix<float> values(3, 1);
  Matrix<float> a(1, 3);
  Matrix<float> b(1, 3);
  for (std::size_t j = 0; j < 3; ++j) a(0, j) = 0.5F;
  b(0, 0) = -0.3F;
  b(0, 1) = 0.3F;
  const AttentionError even = compare(scores.view(), a.view(), values.view(), values.view());
  const AttentionError uneven = compare(scores.view(), b.view(), values.view(), values.view());
  EXPECT_EQ(even.score_square.mean(), 0.25);
  EXPECT_EQ(even.score_bias.mean(), 0.5);
  EXPECT_NEAR(even.mean_kl(), 0, 4 * 4.5 * DBL_EPSILON);  // cancellation between terms of size 4.5
  EXPECT_NEAR(uneven.score_square.mean(), 0.06, 1e-8);    // 0.3F is off by 1.2e-8, 2/3 * 0.3 * 2 of that remain: 5e-9
  EXPECT_NEAR(uneven.score_bias.mean(), 0, 1e-16);
  EXPECT_NEAR(uneven.mean_kl(), 0.00459394, 5e-9);  // as printed: 8 decimals
  const std::array<double, 2> p = {0.5, 0.5};
  const std::array<double, 2> p_hat = {0.75, 0.25};
  EXPECT_NEAR(kl_divergence(p, p_hat), 0.143841, 5e-7);
  EXPECT_NEAR(kl_divergence(p_hat, p), 0.130812, 5e-7);
}

TEST(Metrics, TopOneTiesGoToTheLowestIndexOnBothSides) {
  // Scores tie at tokens 1 and 3, so 1 is meant; an error lowers one of the two.
  const auto same_top1 = [](std::size_t lowered) {
    Matrix<float> scores(1, 4);
    Matrix<float> errors(1, 4);
    scores(0, 1) = scores(0, 3) = 2;
    errors(0, lowered) = -1;
    const Matrix<float> values(4, 1);
    return compare(scores.view(), errors.view(), values.view(), values.view()).top1.mean();
  };
  EXPECT_EQ(same_top1(3), 1);
  EXPECT_EQ(same_top1(1), 0);
  EXPECT_EQ(same_top1(0), 1);  // the tie stays, on both sides
}

TEST(Metrics, StreamingAgreesWithTheDefinitionForEveryBlockSize) {
  constexpr std::size_t kTokens = 37;
  constexpr std::size_t kQueries = 5;
  constexpr std::size_t kChannels = 3;
  // Spread 40: the running maximum rises several times, and most weights underflow beside it.
  const Matrix<float> scores = normals(kQueries, kTokens, 1, 40);
  const Matrix<float> errors = normals(kQueries, kTokens, 2, 2);
  const Matrix<float> values = normals(kTokens, kChannels, 3, 1);
  const Matrix<float> values_hat = normals(kTokens, kChannels, 4, 1);
  const std::vector<VisibleTokens> visible = {{0, 32}, {30, 33}, {7, 34}, {35, 35}, {0, 36}};
  const double scale = 0.25;
  const Reference expected = reference(scores.view(), errors.view(), values.view(), values_hat.view(), visible, scale);
  for (const std::size_t block : {1U, 2U, 7U, 36U, 37U, 64U}) {
    SCOPED_TRACE(block);
    AttentionComparison comparison(visible, scale, kChannels);
    for (std::size_t first = 0; first < kTokens; first += block) {
      const std::size_t n = std::min(block, kTokens - first);
      comparison.add_block(first, scores.view().middle_cols(first, n), errors.view().middle_cols(first, n),
                           values.view().middle_rows(first, n), values_hat.view().middle_rows(first, n));
    }
    const AttentionError error = comparison.result();
    EXPECT_EQ(error.kl.count(), kQueries);
    // Sums of at most 37 doubles of size up to 100 (scores) and 37 floats (outputs): n eps times the size.
    EXPECT_NEAR(error.score_bias.mean(), expected.bias, 37 * DBL_EPSILON * 10);
    EXPECT_NEAR(error.score_square.mean(), expected.square, 37 * DBL_EPSILON * 10);
    EXPECT_NEAR(error.kl.mean(), expected.kl, 37 * DBL_EPSILON * 100);
    EXPECT_NEAR(error.top1.mean(), expected.top1, 8 * DBL_EPSILON);
    const double size = std::sqrt(expected.exact);
    EXPECT_NEAR(error.output_ratio.mean(), expected.ratio, 37.0 * FLT_EPSILON * (1 + expected.ratio));
    EXPECT_NEAR(std::sqrt(error.output_square), size, 37.0 * FLT_EPSILON * size);
    EXPECT_NEAR(error.pooled_output_error(), std::sqrt(expected.difference / expected.exact),
                37.0 * FLT_EPSILON * (1 + std::sqrt(expected.difference / expected.exact)));
  }
}

TEST(Metrics, UnchangedCachesHaveErrorsThatAreExactlyZero) {
  const Matrix<float> scores = normals(4, 50, 1, 60);
  const Matrix<float> errors(4, 50);
  const Matrix<float> values = normals(50, 8, 2, 1);
  const AttentionError error = compare(scores.view(), errors.view(), values.view(), values.view(), 0.5);
  EXPECT_EQ(error.score_bias.mean(), 0);
  EXPECT_EQ(error.score_rms(), 0);
  EXPECT_EQ(error.kl.max(), 0);
  EXPECT_EQ(error.kl.min(), 0);
  EXPECT_EQ(error.top1.mean(), 1);
  EXPECT_EQ(error.output_ratio.max(), 0);
  EXPECT_EQ(error.pooled_output_error(), 0);
}

TEST(Metrics, HugeScoreErrorsStayFinite) {
  Matrix<float> scores(1, 3);
  Matrix<float> errors(1, 3);
  scores(0, 0) = 1000;
  errors(0, 0) = -3000;
  errors(0, 2) = 5000;
  Matrix<float> values(3, 1);
  for (std::size_t j = 0; j < 3; ++j) values(j, 0) = 1;
  const AttentionError error = compare(scores.view(), errors.view(), values.view(), values.view());
  EXPECT_EQ(error.kl.mean(), 7000);  // p = (1, 0, 0); ln p_hat_0 = -2000 - 5000
  EXPECT_EQ(error.output_ratio.mean(), 0);
}

TEST(Metrics, RowErrorSetsZeroRowsAside) {
  Matrix<float> x(4, 2);
  Matrix<float> x_hat(4, 2);
  x(0, 0) = 2;
  x_hat(0, 0) = 1;  // 1/4
  x(1, 1) = 1e-30F;
  x_hat(1, 1) = 0;      // 1; its square underflows in single precision
  x_hat(3, 0) = 1e-9F;  // a zero row that is not decoded to zeros
  RowError error;
  error.add(x.view(), x_hat.view());
  EXPECT_EQ(error.relative.count(), 2U);
  EXPECT_EQ(error.distortion(), 0.625);
  EXPECT_EQ(error.zero_rows, 2U);
  EXPECT_EQ(error.zero_rows_wrong, 1U);
  EXPECT_THROW(error.add(x.view(), x_hat.view().middle_rows(0, 3)), InvalidArgument);
}

TEST(Metrics, MergingIsAddingEverything) {
  const Matrix<float> scores = normals(6, 20, 1, 3);
  const Matrix<float> errors = normals(6, 20, 2, 1);
  const Matrix<float> values = normals(20, 4, 3, 1);
  const auto part = [&](std::size_t first, std::size_t n) {
    return compare(scores.view().middle_rows(first, n), errors.view().middle_rows(first, n), values.view(),
                   values.view());
  };
  const AttentionError whole = part(0, 6);
  AttentionError merged = part(0, 2);
  merged.merge(part(2, 4));
  EXPECT_EQ(merged.kl.count(), 6U);
  // One division and a few roundings away from the sequential mean.
  EXPECT_NEAR(merged.mean_kl(), whole.mean_kl(), 8 * DBL_EPSILON * whole.mean_kl());
  EXPECT_NEAR(merged.pooled_output_error(), whole.pooled_output_error(), 8.0 * FLT_EPSILON);
  EXPECT_NEAR(merged.top1.mean(), whole.top1.mean(), 8 * DBL_EPSILON);
}

}  // namespace
}  // namespace orthant::kv
