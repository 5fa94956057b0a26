#include "orthant/quantizer/kvquant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "golden_json.h"
#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "orthant/quantizer/weighted_levels.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

std::vector<double> values_of(const nlohmann::json& fractions) {
  std::vector<double> values;
  for (const auto& f : fractions) values.push_back(f["value"]);
  return values;
}

double weighted_error(std::span<const double> levels, std::span<const double> x, std::span<const double> w) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += w[i] * std::pow(x[i] - levels[nearest_level(levels, x[i])], 2);
  return sum;
}

TEST(WeightedLevels, WorkedExamples) {
  const auto golden = golden_json("quantizer/kvquant.json");
  const std::vector<double> x = values_of(golden["sample"]["x"]);
  const std::vector<double> w = golden["sample"]["weights"];
  const std::vector<double> ones(x.size(), 1.0);
  const struct {
    const char* name;
    std::size_t count;
    bool weighted;
  } cases[] = {{"nuq1_unweighted", 2, false},
               {"nuq2_unweighted", 4, false},
               {"nuq1_weighted", 2, true},
               {"nuq2_weighted", 4, true}};
  for (const auto& c : cases) {
    const auto& expected = golden[c.name];
    const std::vector<double> levels = c.weighted ? weighted_levels(x, w, c.count) : weighted_levels(x, {}, c.count);
    const std::vector<double> exact = values_of(expected["levels"]);
    ASSERT_EQ(levels.size(), exact.size());
    for (std::size_t k = 0; k < levels.size(); ++k) EXPECT_NEAR(levels[k], exact[k], 1e-15) << c.name;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(nearest_level(levels, x[i]), expected["codes"][i]) << c.name;
    EXPECT_NEAR(weighted_error(levels, x, c.weighted ? w : ones), expected["weighted_sse"]["value"].get<double>(),
                1e-14);
  }
  const std::vector<double> uniform = {-1, -1.0 / 3, 1.0 / 3, 1};
  EXPECT_NEAR(weighted_error(uniform, x, w), golden["uniform2"]["weighted_sse"]["value"].get<double>(), 1e-14);
}

/// The least cost over all partitions into `count` runs, by trying them all.
double brute_force(std::span<const double> x, std::span<const double> w, std::size_t count) {
  if (x.empty()) return 0;
  double best = std::numeric_limits<double>::infinity();
  double sw = 0;
  double swx = 0;
  for (std::size_t end = 1; end <= x.size(); ++end) {
    sw += w[end - 1];
    swx += w[end - 1] * x[end - 1];
    if (count == 1 && end < x.size()) continue;
    double cost = 0;
    for (std::size_t i = 0; i < end; ++i) cost += w[i] * std::pow(x[i] - swx / sw, 2);
    if (count > 1) cost += brute_force(x.subspan(end), w.subspan(end), count - 1);
    best = std::min(best, cost);
  }
  return best;
}

TEST(WeightedLevels, MatchesEveryPartitionTried) {
  RngStream rng(1, Domain::kData, 0);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 1 + rng.below(9);
    std::vector<double> x(n);
    std::vector<double> w(n);
    for (double& v : x) v = rng.below(4) == 0 ? 1000.0 + rng.normal() : std::round(3 * rng.normal());
    for (double& v : w) v = rng.uniform() + 0.01;
    std::ranges::sort(x);
    for (const std::size_t count : {1U, 2U, 3U, 4U}) {
      const std::vector<double> levels = weighted_levels(x, w, count);
      ASSERT_EQ(levels.size(), count);
      ASSERT_TRUE(std::ranges::is_sorted(levels));
      // Points are doubles near 1000: their squared distances are good to 1e-16 * 1000^2.
      ASSERT_NEAR(weighted_error(levels, x, w), brute_force(x, w, count), 1e-9) << n << ' ' << count;
    }
  }
}

TEST(WeightedLevels, DegenerateInputIsDefined) {
  EXPECT_EQ(weighted_levels(std::vector<double>{2, 2, 2}, {}, 4), (std::vector<double>{2, 2, 2, 2}));
  EXPECT_EQ(weighted_levels(std::vector<double>{3, 1}, {}, 4), (std::vector<double>{1, 3, 3, 3}));
  EXPECT_EQ(nearest_level(std::vector<double>{1, 3, 3, 3}, 9), 1U);
  EXPECT_EQ(nearest_level(std::vector<double>{1, 3}, 2), 0U) << "the lower level at equal distance";
  EXPECT_THROW(weighted_levels({}, {}, 2), InvalidArgument);
  EXPECT_THROW(weighted_levels(std::vector<double>{1}, std::vector<double>{0}, 2), InvalidArgument);
  EXPECT_THROW(weighted_levels(std::vector<double>{1}, std::vector<double>{-1}, 2), InvalidArgument);
  EXPECT_THROW(weighted_levels(std::vector<double>{1, NAN}, {}, 2), InvalidArgument);
  EXPECT_THROW(weighted_levels(std::vector<double>{1}, {}, 0), InvalidArgument);
}

Matrix<float> matrix_of(const nlohmann::json& rows) {
  Matrix<float> m(rows.size(), rows[0].size());
  for (std::size_t i = 0; i < m.rows(); ++i) {
    for (std::size_t j = 0; j < m.cols(); ++j) m(i, j) = rows[i][j];
  }
  return m;
}

TEST(Kvquant, KeysOfTheWorkedExample) {
  const auto golden = golden_json("quantizer/kvquant.json")["keys"];
  const Matrix<float> x = matrix_of(golden["calibration"]);
  const KvquantKeyModel model = fit_kvquant_keys(x.view(), {}, {.bits = 2, .outlier_fraction = 0.2});
  for (std::size_t c = 0; c < 2; ++c) {
    // Parameters are floats: half an ulp of 22 is 1e-6.
    EXPECT_NEAR(static_cast<double>(model.upper[c]), golden["upper"][c].get<double>(), 2e-6);
    EXPECT_NEAR(static_cast<double>(model.lower[c]), golden["lower"][c].get<double>(), 2e-6);
    EXPECT_NEAR(static_cast<double>(model.zero[c]), golden["zero"][c].get<double>(), 2e-6);
    EXPECT_NEAR(static_cast<double>(model.half[c]), golden["half_range"][c].get<double>(), 2e-6);
  }
  // Means of points whose zero and half are floats: errors of 1e-7 in zero over a half of 4.
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(model.levels[k], golden["levels"][k].get<double>(), 2e-7);
  const KvquantKeys codec(model, 2);
  Workspace work(codec.workspace_bytes());
  std::vector<std::uint8_t> packed(codec.max_block_bytes());
  std::size_t outliers = 0;
  for (std::size_t t = 0; t < x.rows(); ++t) {
    const std::size_t bytes = codec.encode(x.view().middle_rows(t, 1), packed, work);
    outliers += codec.metadata_bytes(bytes) / 4;
    EXPECT_EQ(bytes, golden["outliers"][t][0].get<bool>() ? 9U : 1U);
    Matrix<float> y(1, 2);
    codec.decode(std::span(packed).first(bytes), y.view(), work);
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_EQ(packed_code(packed, 2, c), golden["codes"][t][c]) << t << ' ' << c;
      EXPECT_NEAR(static_cast<double>(y(0, c)), golden["reconstruction"][t][c].get<double>(), 4e-6);
    }
  }
  EXPECT_EQ(outliers, 4U);
}

TEST(Kvquant, ValuesOfTheWorkedExample) {
  const auto golden = golden_json("quantizer/kvquant.json");
  const auto& expected = golden["values"];
  const std::vector<float> token = expected["token"];
  std::vector<std::uint8_t> marks(8);
  Workspace work(4096);
  mark_outliers(token, 0.2, marks, work);
  for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(marks[j] == 1, expected["outliers"][j].get<bool>());
  const KvquantValues codec(golden["keys"]["levels"].get<std::vector<double>>(), 2, 0.2, 8);
  std::vector<std::uint8_t> packed(codec.max_block_bytes());
  const std::size_t bytes = codec.encode({token.data(), 1, 8}, packed, work);
  EXPECT_EQ(bytes, 2U + 4U + 2 * 4U);
  std::vector<float> y(8);
  codec.decode(std::span(packed).first(bytes), {y.data(), 1, 8}, work);
  for (std::size_t j = 0; j < 8; ++j) {
    EXPECT_EQ(packed_code(packed, 2, j), expected["codes"][j]);
    EXPECT_NEAR(static_cast<double>(y[j]), expected["reconstruction"][j].get<double>(), 1e-7);
  }
}

TEST(Kvquant, QNormKeepsMeanAndDeviation) {
  const auto golden = golden_json("quantizer/kvquant.json");
  const auto& keys = golden["keys"];
  std::vector<double> points;
  for (std::size_t t = 0; t < 10; ++t) {
    for (std::size_t c = 0; c < 2; ++c) {
      if (keys["outliers"][t][c].get<bool>()) continue;
      points.push_back((keys["calibration"][t][c].get<double>() - keys["zero"][c].get<double>()) /
                       keys["half_range"][c].get<double>());
    }
  }
  const auto levels = keys["levels"].get<std::vector<double>>();
  const std::vector<double> moved = q_normed(levels, points);
  const double scale = golden["q_norm"]["scale"];
  const double offset = golden["q_norm"]["offset"];
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(moved[k], scale * levels[k] + offset, 1e-12);
}

TEST(Kvquant, NormalFloatLevels) {
  const auto golden = golden_json("quantizer/kvquant.json")["normal_float"];
  for (const int bits : {2, 3, 4}) {
    const std::vector<double> expected = golden[std::to_string(bits)];
    const std::vector<double> levels = normal_float_levels(bits);
    ASSERT_EQ(levels.size(), expected.size());
    // The published values come from float32 quantiles.
    for (std::size_t k = 0; k < levels.size(); ++k) EXPECT_NEAR(levels[k], expected[k], 1e-6) << bits;
  }
}

TEST(Kvquant, OutliersAreChosenByRankNotByValue) {
  Workspace work(4096);
  std::vector<std::uint8_t> marks(100);
  // One in a hundred of each tail's half: one above, one below, also when all values are equal.
  std::vector<float> x(100, 5.0F);
  mark_outliers(x, 0.01, marks, work);
  EXPECT_LE(std::accumulate(marks.begin(), marks.end(), 0), 2);
  EXPECT_EQ(marks[0], 1) << "the first of equals";
  std::iota(x.begin(), x.end(), 1.0F);
  mark_outliers(x, 0.01, marks, work);
  EXPECT_EQ(std::accumulate(marks.begin(), marks.end(), 0), 2);
  EXPECT_EQ(marks[0] + marks[99], 2);
  mark_outliers(x, 0, marks, work);
  EXPECT_EQ(std::accumulate(marks.begin(), marks.end(), 0), 0);
}

TEST(Kvquant, ConstantChannelsAndTokensAreExact) {
  Matrix<float> x(50, 3);
  for (std::size_t t = 0; t < 50; ++t) {
    x(t, 0) = 0;
    x(t, 1) = 100;
    x(t, 2) = static_cast<float>(t);
  }
  const KvquantKeys keys(fit_kvquant_keys(x.view(), {}, {.bits = 3}), 3);
  Workspace work(4096);
  std::vector<std::uint8_t> packed(64);
  Matrix<float> y(1, 3);
  for (std::size_t t = 0; t < 50; ++t) {
    const std::size_t bytes = keys.encode(x.view().middle_rows(t, 1), packed, work);
    EXPECT_EQ(bytes, t == 0 || t == 49 ? 6U : 2U) << "outliers of the ramp's ends, none of a constant channel";
    keys.decode(std::span(packed).first(bytes), y.view(), work);
    EXPECT_EQ(y(0, 0), 0);
    EXPECT_EQ(y(0, 1), 100);
    EXPECT_TRUE(std::isfinite(y(0, 2)));
  }
  const KvquantValues values(normal_float_levels(3), 3, 0.01, 3);
  const std::vector<float> constant = {-3.5F, -3.5F, -3.5F};
  std::vector<float> z(3);
  values.decode(std::span(packed).first(values.encode({constant.data(), 1, 3}, packed, work)), {z.data(), 1, 3}, work);
  EXPECT_EQ(z, constant);
}

TEST(Kvquant, FittedLevelsBeatEqualStepsOnSkewedData) {
  Matrix<float> x(400, 4);
  RngStream rng(1, Domain::kData, 0);
  for (std::size_t t = 0; t < 400; ++t) {
    for (float& v : x.row(t)) v = static_cast<float>(std::pow(rng.normal(), 3));
  }
  const KvquantKeyModel fitted = fit_kvquant_keys(x.view(), {}, {.bits = 3});
  KvquantKeyModel equal = fitted;
  for (std::size_t k = 0; k < 8; ++k) equal.levels[k] = -1 + 2.0 * static_cast<double>(k) / 7;
  const auto error = [&](const KvquantKeyModel& model) {
    const KvquantKeys codec(model, 3);
    Workspace work(codec.workspace_bytes());
    std::vector<std::uint8_t> packed(codec.max_block_bytes());
    Matrix<float> y(1, 4);
    double sum = 0;
    for (std::size_t t = 0; t < 400; ++t) {
      codec.decode(std::span(packed).first(codec.encode(x.view().middle_rows(t, 1), packed, work)), y.view(), work);
      for (std::size_t c = 0; c < 4; ++c) sum += std::pow(static_cast<double>(y(0, c) - x(t, c)), 2);
    }
    return sum;
  };
  EXPECT_LT(error(fitted), 0.5 * error(equal));
}

}  // namespace
}  // namespace orthant::quantizer
