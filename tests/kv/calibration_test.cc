#include "orthant/kv/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include "kv/test_files.h"
#include "orthant/core/rng.h"
#include "orthant/kv/matched_keys.h"
#include "orthant/kv/run_policies.h"

namespace orthant::kv {
namespace {

using testing::HasSubstr;
using transform::Alignment;
using transform::Centre;
using transform::Match;
using transform::Rope;
using transform::RopeLayout;

struct Shape {
  std::size_t kv_heads = 2;
  std::size_t q_heads = 4;
  std::size_t tokens = 300;
  std::size_t query_tokens = 40;
  std::size_t dim = 8;
  std::size_t first_position = 5;
};

/// A dump of one layer, number 7, whose keys and queries are Gaussian before the rotary embedding; `change` may spoil
/// keys or queries before they are written.
Dump random_dump(const Shape& shape, std::uint64_t trial, RopeLayout layout = RopeLayout::kHalf,
                 const std::function<void(std::vector<float>& keys, std::vector<float>& queries)>& change = {},
                 std::map<std::string, std::string> metadata = {}) {
  RngStream rng(11, Domain::kData, trial);
  const Rope rope(layout, shape.dim, 100);
  std::vector<float> keys(shape.kv_heads * shape.tokens * shape.dim);
  std::vector<float> queries(shape.q_heads * shape.query_tokens * shape.dim);
  const auto fill = [&](std::vector<float>& values, std::size_t rows, std::size_t first) {
    for (std::size_t i = 0; i < values.size() / shape.dim; ++i) {
      const MatrixView<float> row(values.data() + i * shape.dim, 1, shape.dim);
      for (std::size_t j = 0; j < shape.dim; ++j)
        row(0, j) = static_cast<float>((1 + static_cast<double>(j)) * rng.normal()) + (j == 2 ? 20.0F : 0.0F);
      rope.turn(row, static_cast<double>(first + i % rows), row);
    }
  };
  fill(keys, shape.tokens, shape.first_position);
  fill(queries, shape.query_tokens, shape.first_position + shape.tokens - shape.query_tokens);
  if (change) change(keys, queries);
  const std::vector<float> values(shape.kv_heads * shape.tokens);
  metadata.insert({{"format", "orthant-kv-1"},
                   {"model", "m"},
                   {"source", "s"},
                   {"licence", "l"},
                   {"tokens", std::to_string(shape.tokens)},
                   {"softmax_scale", "0.5"},
                   {"rope_layout", transform::name(layout)},
                   {"first_position", std::to_string(shape.first_position)},
                   {"layers", "7"},
                   {"layer_types", "global"},
                   {"rope_theta", "100"}});
  const auto path = std::filesystem::path(testing::TempDir()) / ("calibration_dump_" + std::to_string(trial));
  const auto k = float_tensor_bytes(keys, TensorType::kF32), v = float_tensor_bytes(values, TensorType::kF32),
             q = float_tensor_bytes(queries, TensorType::kF32);
  write_safetensors(path, metadata,
                    std::vector<TensorData>{
                        {"layers.7.keys", TensorType::kF32, {shape.kv_heads, shape.tokens, shape.dim}, k},
                        {"layers.7.values", TensorType::kF32, {shape.kv_heads, shape.tokens, 1}, v},
                        {"layers.7.queries", TensorType::kF32, {shape.q_heads, shape.query_tokens, shape.dim}, q}});
  Dump dump = Dump::open(path);
  std::filesystem::remove(path);
  return dump;
}

Calibration calibrate_one(const Dump& dump, CalibrationOptions options = {}) {
  return calibrate(std::span(&dump, 1), {"test"}, options);
}

TEST(Calibrate, FindsTheMomentsBeforeTheRotaryEmbedding) {
  for (const RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
    const Shape shape{.tokens = 4000, .query_tokens = 2000};
    const Calibration c = calibrate_one(random_dump(shape, 1, layout));
    ASSERT_EQ(c.layers.size(), 1U);
    EXPECT_EQ(c.layers[0].index, 7);
    ASSERT_EQ(c.layers[0].heads.size(), 2U);
    const transform::SecondMoments& keys = c.layers[0].heads[1].keys;
    EXPECT_EQ(keys.count(), 4000U - 16U);
    EXPECT_EQ(c.layers[0].heads[1].queries.count(), 2U * 2000U);
    for (std::size_t j = 0; j < 8; ++j) {
      const double sigma = 1 + static_cast<double>(j);
      // 4 standard errors of a mean and of a variance of Gaussians, two-sided: 6.3e-5 for each of 32 comparisons.
      EXPECT_NEAR(keys.mean()[j], j == 2 ? 20 : 0, 4 * sigma / std::sqrt(3984.0));
      EXPECT_NEAR(keys.covariance()(j, j), sigma * sigma, 4 * sigma * sigma * std::sqrt(2 / 3984.0));
    }
  }
}

TEST(Calibrate, IsTheSameForAnyNumberOfThreadsAndAddsDumpsUp) {
  const std::vector<Dump> dumps = {random_dump({}, 2), random_dump({.tokens = 100, .first_position = 0}, 3)};
  CalibrationOptions one, many;
  one.threads = 1;
  many.threads = 5;
  const Calibration a = calibrate(dumps, {"a", "b"}, one);
  const Calibration b = calibrate(dumps, {"a", "b"}, many);
  const auto& x = a.layers[0].heads[0].keys;
  const auto& y = b.layers[0].heads[0].keys;
  EXPECT_EQ(x.count(), 300U - 16U + 100U - 16U);
  const Matrix<double> cx = x.covariance(), cy = y.covariance();
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(cx(i, j), cy(i, j));
}

TEST(Calibrate, TakesTheFirstTokensAndQueriesWhenAsked) {
  CalibrationOptions options;
  options.most_tokens = 50;
  options.query_share = 0.5;
  const Calibration c = calibrate_one(random_dump({}, 4), options);
  EXPECT_EQ(c.layers[0].heads[0].keys.count(), 50U - 16U);
  EXPECT_EQ(c.layers[0].heads[0].queries.count(), 2U * 20U);
}

TEST(Calibrate, RefusesWhatItCannotUse) {
  const Dump good = random_dump({}, 5);
  EXPECT_THROW(calibrate({}, {}, {}), InvalidArgument);
  CalibrationOptions options;
  options.skipped = 300;
  EXPECT_THAT(refusal([&] { calibrate_one(good, options); }), HasSubstr("skips"));
  options = {};
  options.query_share = 0;
  EXPECT_THROW(calibrate_one(good, options), InvalidArgument);
  options = {};
  options.shrinkage = std::nan("");
  EXPECT_THROW(calibrate_one(good, options), InvalidArgument);
  EXPECT_THAT(refusal([&] { calibrate_one(random_dump({.tokens = 12, .query_tokens = 12}, 6)); }), HasSubstr("tokens"));
  const Dump spoilt = random_dump({}, 7, RopeLayout::kHalf, [](std::vector<float>& keys, std::vector<float>&) {
    keys[300 * 8 + 50 * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
  });
  EXPECT_THAT(refusal([&] { calibrate_one(spoilt); }), HasSubstr("head 1, token 50, channel 3"));
  for (const Dump& other :
       {random_dump({.kv_heads = 1}, 8), random_dump({.dim = 4}, 9), random_dump({}, 10, RopeLayout::kNone),
        random_dump({}, 11, RopeLayout::kHalf, {}, {{"rope_theta", "50"}}),
        random_dump({}, 12, RopeLayout::kHalf, {}, {{"model", "another"}})})
    EXPECT_THROW(calibrate(std::vector<Dump>{good, other}, {"a", "b"}, {}), InvalidArgument);
}

TEST(CalibrationFile, ReadsBackWhatWasWritten) {
  const auto path = std::filesystem::path(testing::TempDir()) / "calibration.safetensors";
  const Calibration c = calibrate_one(random_dump({}, 13));
  write_calibration(path, c);
  const Calibration back = read_calibration(path);
  EXPECT_EQ(back.model, "m");
  EXPECT_EQ(back.rope_layout, RopeLayout::kHalf);
  EXPECT_EQ(back.head_dim, 8U);
  EXPECT_EQ(back.shrinkage, 0.02);
  EXPECT_EQ(back.skipped, 16U);
  EXPECT_EQ(back.sources, std::vector<std::string>{"test"});
  ASSERT_EQ(back.layers.size(), 1U);
  EXPECT_EQ(back.layer(7).rope_theta, 100);
  for (std::size_t h = 0; h < 2; ++h) {
    const Matrix<double> a = c.layers[0].heads[h].queries.covariance(),
                         b = back.layers[0].heads[h].queries.covariance();
    EXPECT_EQ(c.layers[0].heads[h].keys.count(), back.layers[0].heads[h].keys.count());
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(a(i, j), b(i, j), 6e-8 * std::abs(a(i, j)));
  }
  EXPECT_THAT(refusal([&] { back.layer(3); }), HasSubstr("one of 7"));
  std::filesystem::remove(path);
}

/// The message with which a file is refused after one change of its metadata, or of the first element of a tensor but
/// for the diagonal's.
std::string refusal_with(const std::string& key, const std::string& value, const std::string& tensor = "") {
  const auto path = std::filesystem::path(testing::TempDir()) / "spoilt_calibration.safetensors";
  write_calibration(path, calibrate_one(random_dump({}, 14)));
  const Safetensors file = Safetensors::open(path);
  std::map<std::string, std::string> metadata = file.metadata();
  if (tensor.empty()) metadata[key] = value;
  std::vector<TensorData> tensors;
  std::vector<std::uint8_t> changed;
  for (const TensorInfo& t : file.tensors()) {
    if (t.name == tensor) {
      const auto bytes = file.bytes(t);
      changed.assign(bytes.begin(), bytes.end());
      const float number = std::stof(value);
      std::memcpy(changed.data() + sizeof(float), &number, sizeof(float));
      tensors.push_back({t.name, t.type, t.shape, changed});
    } else {
      tensors.push_back({t.name, t.type, t.shape, file.bytes(t)});
    }
  }
  const auto spoilt = std::filesystem::path(testing::TempDir()) / "spoilt_again.safetensors";
  write_safetensors(spoilt, metadata, tensors);
  const std::string message = refusal([&] { read_calibration(spoilt); });
  std::filesystem::remove(path);
  std::filesystem::remove(spoilt);
  return message;
}

TEST(CalibrationFile, RefusesWhatDisagrees) {
  EXPECT_EQ(refusal_with("model", "m2"), "");
  EXPECT_THAT(refusal_with("format", "orthant-kv-1"), HasSubstr("format"));
  EXPECT_THAT(refusal_with("head_dim", "16"), HasSubstr("shape"));
  EXPECT_THAT(refusal_with("head_dim", "0"), HasSubstr("head_dim"));
  EXPECT_THAT(refusal_with("shrinkage", "2"), HasSubstr("shrinkage"));
  EXPECT_THAT(refusal_with("layers", "8"), HasSubstr("layers.8"));
  EXPECT_THAT(refusal_with("layers", "7,8"), HasSubstr("rope_theta"));
  EXPECT_THAT(refusal_with("key_tokens", "many"), HasSubstr("key_tokens"));
  EXPECT_THAT(refusal_with("key_tokens", "0"), HasSubstr("2 or more"));
  EXPECT_THAT(refusal_with("query_rows", "0"), HasSubstr("1 or more"));
  EXPECT_THAT(refusal_with("", "1e6", "layers.7.keys.covariance"), HasSubstr("entry (0, 1)"));
  EXPECT_THAT(refusal_with("rope_theta", "-1"), HasSubstr("rope_theta"));
}

TEST(MatchHead, HasDefinedResultsForDegenerateKeys) {
  const auto shape = Shape{.kv_heads = 1, .q_heads = 1, .first_position = 0};
  const auto dead_channel = [](std::vector<float>& keys, std::vector<float>& queries) {
    for (std::size_t i = 1; i < keys.size(); i += 8) keys[i] = 0;
    for (std::size_t i = 1; i < queries.size(); i += 8) queries[i] = 0;
  };
  const auto constant = [](std::vector<float>& keys, std::vector<float>&) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i % 8);
  };
  const auto zero = [](std::vector<float>& keys, std::vector<float>& queries) {
    std::fill(keys.begin(), keys.end(), 0.0F);
    std::fill(queries.begin(), queries.end(), 0.0F);
  };
  for (const auto& change : {std::function<void(std::vector<float>&, std::vector<float>&)>(dead_channel),
                             std::function<void(std::vector<float>&, std::vector<float>&)>(constant),
                             std::function<void(std::vector<float>&, std::vector<float>&)>(zero)})
    for (const Match match : {Match::kNone, Match::kDiagonal, Match::kFull})
      for (const std::size_t tokens : {std::size_t{300}, std::size_t{20}}) {  // 20: 4 keys are left in 8 dimensions
        Shape s = shape;
        s.tokens = tokens;
        s.query_tokens = 10;
        const Calibration c = calibrate_one(random_dump(s, 15, RopeLayout::kNone, change));
        const MatchedHead head = match_head(c, c.layer(7), 0, {match, Centre::kMean, {}, 1}, {tokens, tokens});
        for (std::size_t i = 0; i < 64; ++i) {
          EXPECT_TRUE(std::isfinite(head.map.forward.data()[i]));
          EXPECT_TRUE(std::isfinite(head.map.inverse.data()[i]));
        }
        const ErrorForecast f = forecast(head, 3, 4, sphere_distortions(8));
        EXPECT_TRUE(std::isfinite(f.matched) && std::isfinite(f.segmented) &&
                    std::isfinite(gaussian_forecast(head.moments, 3)));
      }
  const Calibration c = calibrate_one(random_dump(shape, 16));
  EXPECT_THAT(refusal([&] { match_head(c, c.layer(7), 1, {}, {}); }), HasSubstr("KV head"));
}

/// Results of keys coded at 3 bits by every kind of map, learnt from the dump itself.
std::vector<PolicyResult> run_matched(const Dump& dump) {
  std::vector<quantizer::Policy> policies;
  for (const char* options : {"match=diag", "match=full", "match=full,segments=4",
                              "centre=rotating,match=diag,align=64", "match=full,align=pre,segments=4"})
    policies.push_back(
        quantizer::parse_policy("K=turbo-mse:3," + std::string(options) + ",calibration=self,rotation=hadamard:3"));
  const std::size_t layers[] = {0};
  return run_policies(dump, layers, policies, {});
}

TEST(MatchedKeys, OfDegenerateDumpsHaveDefinedResults) {
  const auto spoil = [](std::size_t dim, const std::function<float(std::size_t channel, float)>& value) {
    return [=](std::vector<float>& keys, std::vector<float>&) {
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = value(i % dim, keys[i]);
    };
  };
  const auto dead = spoil(8, [](std::size_t j, float x) { return j % 4 == 1 ? 0 : x; });
  const auto constant = spoil(8, [](std::size_t j, float) { return static_cast<float>(j); });
  const auto zero = spoil(8, [](std::size_t, float) { return 0.0F; });
  const Shape eight{.kv_heads = 1, .q_heads = 2, .first_position = 0};
  const Shape few{.kv_heads = 1, .q_heads = 2, .tokens = 40, .query_tokens = 20, .dim = 64, .first_position = 0};
  for (const PolicyResult& r : run_matched(random_dump(eight, 21, RopeLayout::kHalf, dead)))
    EXPECT_LT(r.error.attention.score_rms(), 50);
  // Without a rotary embedding constant keys are their mean; a score of up to 100 is rounded here and there.
  for (const PolicyResult& r : run_matched(random_dump(eight, 22, RopeLayout::kNone, constant)))
    EXPECT_LT(r.error.attention.score_rms(), 100 * 8 * 0x1p-23);
  for (const PolicyResult& r : run_matched(random_dump(eight, 23, RopeLayout::kHalf, zero))) {
    EXPECT_EQ(r.error.attention.score_rms(), 0);
    EXPECT_EQ(r.error.attention.mean_kl(), 0);
  }
  // Four tokens to learn 64 dimensions from.
  for (const PolicyResult& r : run_matched(random_dump(few, 24)))
    EXPECT_TRUE(std::isfinite(r.error.attention.mean_kl()));
  EXPECT_THAT(refusal([&] { run_matched(random_dump({.tokens = 16, .query_tokens = 16}, 25)); }), HasSubstr("skips"));
  const Dump nan = random_dump({}, 26, RopeLayout::kHalf, [](std::vector<float>& keys, std::vector<float>&) {
    keys[290 * 8 + 5] = std::numeric_limits<float>::quiet_NaN();  // beyond what calibration=self reads
  });
  EXPECT_THAT(refusal([&] { run_matched(nan); }), HasSubstr("token 290"));
}

TEST(LearnsFromItself, SaysWhatSelfCalibrationCanDo) {
  EXPECT_TRUE(learns_from_itself(random_dump({}, 31)));
  EXPECT_TRUE(learns_from_itself(random_dump({.tokens = 18, .query_tokens = 1}, 32)));
  EXPECT_FALSE(learns_from_itself(random_dump({.tokens = 17, .query_tokens = 1}, 33)));
  EXPECT_FALSE(learns_from_itself(random_dump({.tokens = 30, .query_tokens = 30}, 34)));  // its first 15 queries
  EXPECT_TRUE(learns_from_itself(random_dump({.tokens = 34, .query_tokens = 34}, 35)));
}

TEST(Forecast, OrdersTheSettingsAsTheoryDoes) {
  const Calibration c = calibrate_one(random_dump({.tokens = 2000, .query_tokens = 500}, 17));
  const std::vector<double> distortion = sphere_distortions(8);
  for (const std::size_t tile : {Alignment::kNone, Alignment::kBeforeRope, std::size_t{64}}) {
    const auto at = [&](Match match, Centre centre) {
      return forecast(match_head(c, c.layer(7), 0, {match, centre, {tile}, 1}, {2000, 2000}), 3, 4, distortion);
    };
    const ErrorForecast none = at(Match::kNone, Centre::kMean), diagonal = at(Match::kDiagonal, Centre::kMean),
                        full = at(Match::kFull, Centre::kMean);
    EXPECT_DOUBLE_EQ(none.plain, full.plain);
    EXPECT_DOUBLE_EQ(at(Match::kNone, Centre::kNone).matched, none.plain);
    EXPECT_LE(none.matched, none.plain);
    EXPECT_LT(diagonal.matched, none.matched);
    EXPECT_LE(full.matched, diagonal.matched * 1.01);  // shrinking by 2 % leaves the optimum a little
    EXPECT_LE(full.segmented, full.matched * 1.01);
    const MatchedHead head = match_head(c, c.layer(7), 0, {Match::kNone, Centre::kMean, {tile}, 1}, {2000, 2000});
    EXPECT_LT(gaussian_forecast(head.moments, 3), full.segmented);
    // Before the rotary embedding a rotating mean is a constant one.
    if (tile == Alignment::kBeforeRope) {
      EXPECT_NEAR(at(Match::kFull, Centre::kRotating).matched, full.matched, 1e-6 * full.matched);
    }
  }
}

}  // namespace
}  // namespace orthant::kv
