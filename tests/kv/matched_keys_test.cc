#include "orthant/kv/matched_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kv/score_forecast.h"
#include "kv/test_files.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/rng.h"
#include "orthant/kv/matched_quantizer.h"
#include "orthant/kv/run_policies.h"
#include "orthant/quantizer/transformed_quantizer.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/matched_transform.h"
#include "orthant/transform/score_error.h"
#include "test_paths.h"

namespace orthant::kv {
namespace {

using testing::HasSubstr;
using transform::Match;

/// Gaussian rows with standard deviations 2^(octaves * random), mixed by a random matrix.
Matrix<float> gaussian_rows(std::size_t n, std::size_t d, double octaves, std::uint64_t trial) {
  RngStream rng(21, Domain::kData, trial);
  Matrix<double> mix(d, d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) mix(i, j) = rng.normal() * std::exp2(octaves * rng.uniform());
  Matrix<float> x(n, d);
  std::vector<double> g(d);
  for (std::size_t r = 0; r < n; ++r) {
    rng.fill_normal(g);
    for (std::size_t i = 0; i < d; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < d; ++j) sum += mix(i, j) * g[j];
      x(r, i) = static_cast<float>(sum);
    }
  }
  return x;
}

double mean_square_score_error(const quantizer::VectorQuantizer& coder, const Matrix<float>& keys,
                               const Matrix<float>& queries) {
  Workspace work(coder.workspace_bytes(keys.rows()));
  Matrix<std::uint8_t> packed(keys.rows(), coder.bytes_per_vector());
  Matrix<float> k_hat(keys.rows(), keys.cols());
  coder.encode(keys.view(), packed.view(), work);
  coder.decode(packed.view(), k_hat.view(), work);
  double sum = 0;
  for (std::size_t q = 0; q < queries.rows(); ++q)
    for (std::size_t i = 0; i < keys.rows(); ++i) {
      double error = 0;
      for (std::size_t j = 0; j < keys.cols(); ++j)
        error +=
            static_cast<double>(queries(q, j)) * (static_cast<double>(k_hat(i, j)) - static_cast<double>(keys(i, j)));
      sum += error * error;
    }
  return sum / static_cast<double>(queries.rows() * keys.rows());
}

// Over Haar rotations the mean square score error of fixed keys and queries, every key with every query, is exactly
// what their own second moments say: nothing is asymptotic and no law of keys or queries is assumed.
TEST(ScoreErrorOfTurboMse, IsWhatSecondMomentsPredict) {
  const std::size_t d = 16;
  const Matrix<float> keys = gaussian_rows(60, d, 3, 1), queries = gaussian_rows(40, d, 3, 2);
  transform::SecondMoments k(d), q(d);
  k.add(keys.view());
  q.add(queries.view());
  const Matrix<double> sk = k.second_moment(), sq = q.second_moment();
  for (const Match match : {Match::kNone, Match::kDiagonal, Match::kFull})
    for (const int bits : {1, 3}) {
      const transform::MatchingMap map = transform::matching_map(match, sk.view(), sq.view());
      const auto matched = std::make_shared<transform::MatchedTransform>(map);
      Moments between;
      for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        auto turbo = std::make_unique<quantizer::TurboMse>(
            std::make_shared<transform::Haar>(d, seed), codebook::sphere_codebook(static_cast<std::int64_t>(d), bits),
            quantizer::TurboMseOptions{.format = quantizer::ScaleFormat::kFloat});
        between.add(mean_square_score_error(quantizer::TransformedQuantizer(matched, std::move(turbo)), keys, queries));
      }
      const Matrix<double> metric = transform::matching_metric(match, sk.view(), sq.view());
      const double predicted = transform::score_error(turbo_law(d, bits), metric.view(), sk.view(), sq.view());
      // 4 standard errors, two-sided: false alarm 6.3e-5 for each of 6 comparisons.
      EXPECT_NEAR(between.mean(), predicted, 4 * between.standard_error()) << "match " << static_cast<int>(match);
      EXPECT_LT(between.standard_error(), 0.05 * predicted);
    }
}

Dump shipped() { return Dump::open(data_dir() / "gemma3-270m-512.safetensors"); }

std::vector<PolicyResult> run_on(const Dump& dump, std::vector<const char*> methods, std::size_t layer = 1) {
  std::vector<quantizer::Policy> policies;
  for (const char* method : methods) policies.push_back(quantizer::parse_policy(method));
  const std::size_t layers[] = {layer};
  RunOptions options;
  options.threads = 2;
  return run_policies(dump, layers, policies, options);
}

TEST(MatchedKeys, ThreeBitsBeatFourOnRealKeys) {
  const auto results = run_on(shipped(), {"K=turbo-mse:4,sink=4", "K=turbo-mse:3,sink=4",
                                          "K=turbo-mse:3,match=diag,align=256,calibration=self,sink=4",
                                          "K=turbo-mse:3,match=full,align=pre,segments=4,calibration=self,sink=4"});
  const double plain = results[0].error.attention.mean_kl();
  EXPECT_LT(results[2].error.attention.mean_kl(), plain);
  EXPECT_LT(results[3].error.attention.mean_kl(), plain);
  const auto coded_bytes = [](const PolicyResult& r) { return r.error.key_bytes.total() - r.error.key_bytes.shared; };
  EXPECT_EQ(coded_bytes(results[2]), coded_bytes(results[1]));
  EXPECT_LE(coded_bytes(results[3]), coded_bytes(results[1]));
  for (const PolicyResult& result : results) {
    ASSERT_TRUE(result.gaussian_score_square.has_value());
    EXPECT_LT(*result.gaussian_score_square, result.error.attention.score_square.mean());
  }
}

// 512 tokens of 256 channels at 3 bits and a norm of 16 are 98 bytes each.
TEST(MatchedKeys, WhatIsLearntFromTheTokensThemselvesIsCounted) {
  const Dump dump = shipped();
  const auto path = std::filesystem::path(testing::TempDir()) / "counted_calibration.safetensors";
  write_calibration(path, calibrate(std::span(&dump, 1), {"shipped"}, {}));
  constexpr std::size_t kFloats = 256 * sizeof(float);
  const std::pair<std::string, std::size_t> settings[] = {
      {",centre=mean", kFloats},
      {",centre=rotating", kFloats},
      {",match=diag,centre=none", kFloats},
      {",match=diag", 2 * kFloats},
      {",match=diag,centre=rotating,align=256", 2 * kFloats},
      {",match=full,centre=none", 256 * kFloats},
      {",match=full", 257 * kFloats},
      {",segments=4,centre=none", 256 * 2 + 4 * 3},
      {",match=diag,segments=4", 2 * kFloats + 256 * 2 + 4 * 3},
      {",match=full,segments=4,align=pre", 257 * kFloats + 4 * 3},
  };
  for (const auto& [setting, learnt] : settings) {
    const std::string self = "K=turbo-mse:3" + setting + ",calibration=self";
    const std::string file = "K=turbo-mse:3" + setting + ",calibration=" + path.string();
    const auto results = run_on(dump, {self.c_str(), file.c_str()});
    EXPECT_EQ(results[0].error.key_bytes.shared, learnt) << setting;
    EXPECT_EQ(results[1].error.key_bytes.shared, 0U) << setting;
    // Segments are chosen within the bytes of the plain code, from moments that differ a little.
    for (std::size_t i = 0; i < 2; ++i) {
      const double coded = results[i].keys.bytes_per_token - (i == 0 ? static_cast<double>(learnt) / 512 : 0);
      if (setting.find("segments") == std::string::npos)
        EXPECT_EQ(coded, 98) << setting;
      else
        EXPECT_LE(coded, 98) << setting;
    }
  }
  EXPECT_EQ(run_on(dump, {"K=turbo-mse:3"})[0].keys.bytes_per_token, 98);
  EXPECT_EQ(run_on(dump, {"K=turbo-mse:3,bias=before"})[0].keys.bytes_per_token, 98 + 2);
  std::filesystem::remove(path);
}

TEST(MatchedKeys, ExactFirstTokensAreExact) {
  const auto results =
      run_on(shipped(), {"K=turbo-mse:2,match=diag,align=64,calibration=self,sink=512", "K=turbo-mse:2,sink=512"});
  for (const PolicyResult& result : results) {
    EXPECT_EQ(result.error.attention.score_square.mean(), 0);
    EXPECT_EQ(result.error.key_bytes.exact, 512U * 256U * 2U);
    EXPECT_EQ(result.error.key_bytes.payload + result.error.key_bytes.metadata, 0U);
  }
}

// Whatever codes single vectors takes the map: same bytes a vector, less loss than the same coder on plain keys.
TEST(MatchedKeys, WorkWithEveryCoderOfVectors) {
  for (const std::string coder :
       {"turbo-mse:3", "turbo-prod:3", "eden:3", "rabitq:3", "rabitq:3,search=fast", "qjl:512", "polar:4",
        "uniform:3,group=64", "uniform:3,group=64,rotation=haar", "fp8:e4m3", "nvfp4,scale=token", "mxfp4", "q8_0",
        "q4_0", "iq4_nl", "q4_0,rotation=hadamard"}) {
    const std::string plain = "K=" + coder, matched = plain + ",match=diag,align=256,calibration=self";
    const auto results = run_on(shipped(), {plain.c_str(), matched.c_str()});
    // The mean and the scales were learnt from these 512 tokens: twice 256 floats.
    EXPECT_EQ(results[1].keys.bytes_per_token, results[0].keys.bytes_per_token + 4) << coder;
    // Block formats adapt to single channels by themselves: there a map may gain little, but costs little.
    const bool blocks = coder.starts_with("fp8") || coder.find("fp4") != std::string::npos || coder == "q8_0" ||
                        coder == "q4_0" || coder == "iq4_nl" || coder == "uniform:3,group=64";
    EXPECT_LT(results[1].error.attention.mean_kl(), (blocks ? 1.5 : 0.7) * results[0].error.attention.mean_kl())
        << coder;
  }
}

TEST(MatchedKeys, EveryOptionHelps) {
  const auto results = run_on(
      shipped(), {"K=turbo-mse:3", "K=turbo-mse:3,match=full,align=256,calibration=self",
                  "K=turbo-mse:3,centre=rotating,match=diag,align=64,calibration=self",
                  "K=turbo-mse:3,centre=mean,calibration=self", "K=rabitq:3,match=full,segments=4,calibration=self",
                  "K=uniform:3,group=64,match=full,align=256,calibration=self,rotation=haar"});
  for (std::size_t i = 1; i < results.size(); ++i)
    EXPECT_LT(results[i].error.attention.mean_kl(), results[0].error.attention.mean_kl()) << i;
}

TEST(MatchedKeys, RefuseWhatDoesNotFit) {
  const Dump dump = shipped();
  EXPECT_THROW(run_on(dump, {"K=turbo-mse:3,match=diag"}), InvalidArgument);
  EXPECT_THROW(run_on(dump, {"V=turbo-mse:3,match=diag,calibration=self"}), InvalidArgument);
  EXPECT_THROW(run_on(dump, {"K=q8_0,segments=4,calibration=self"}), InvalidArgument);
  EXPECT_THROW(run_on(dump, {"K=nvfp4,match=diag,calibration=self"}), InvalidArgument);  // scale of which keys?
  const auto path = std::filesystem::path(testing::TempDir()) / "other_calibration.safetensors";
  const auto refused = [&](auto&& change) {
    Calibration c = calibrate(std::span(&dump, 1), {"s"}, {});
    change(c);
    write_calibration(path, c);
    const std::string method = "K=turbo-mse:3,match=diag,calibration=" + path.string();
    const std::string message = refusal([&] { run_on(dump, {method.c_str()}); });
    std::filesystem::remove(path);
    return message;
  };
  EXPECT_EQ(refused([](Calibration&) {}), "");
  EXPECT_THAT(refused([](Calibration& c) { c.model = "another"; }), HasSubstr("model"));
  EXPECT_THAT(refused([](Calibration& c) { c.rope_layout = transform::RopeLayout::kInterleaved; }),
              HasSubstr("rope_layout"));
  EXPECT_THAT(refused([](Calibration& c) { c.layers.erase(c.layers.begin() + 1); }), HasSubstr("layer"));
  EXPECT_THAT(refused([](Calibration& c) { c.layers[1].rope_theta = 1e4; }), HasSubstr("rope_theta"));
  EXPECT_THAT(refused([](Calibration& c) {
                c.head_dim = 8;
                transform::SecondMoments moments(8);
                moments.add(Matrix<float>(2, 8).view());
                for (auto& layer : c.layers) layer.heads = {{moments, moments}};
              }),
              HasSubstr("head_dim"));
}

}  // namespace
}  // namespace orthant::kv
