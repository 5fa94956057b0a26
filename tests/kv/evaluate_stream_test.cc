#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <filesystem>

#include "kv/attention_reference.h"
#include "orthant/kv/evaluate.h"
#include "orthant/kv/run_policies.h"
#include "orthant/quantizer/make_streaming.h"
#include "test_paths.h"

namespace orthant::kv {
namespace {

using quantizer::CacheSide;

Dump small_dump() { return Dump::open(data_dir() / "gemma3-270m-512.safetensors"); }

std::unique_ptr<quantizer::StreamingQuantizer> make(const char* text, CacheSide side, const Matrix<float>& x) {
  quantizer::StreamContext context;
  context.rope.emplace(transform::RopeLayout::kHalf, x.cols(), 10000.0);
  context.calibration = x.view();
  return quantizer::make_streaming(quantizer::parse_method(text), side, x.cols(), context);
}

class EvaluateStream : public testing::TestWithParam<const char*> {};

// Every query against a cache that is filled token by token and read as it stands at that moment, attention written
// out in double: flush schedules, windows and sinks meet masks and query groups.
TEST_P(EvaluateStream, AgreesWithReadingALiveCache) {
  const Dump dump = small_dump();
  constexpr std::size_t kLayer = 1;
  const DumpLayer& shape = dump.layers()[kLayer];
  const Matrix<float> k = dump.read(kLayer, DumpTensor::kKeys, 0);
  const Matrix<float> v = dump.read(kLayer, DumpTensor::kValues, 0);
  const auto keys = make(GetParam(), CacheSide::kKeys, k);
  const auto values = make(GetParam(), CacheSide::kValues, v);
  Workspace work(std::max(keys->workspace_bytes(), values->workspace_bytes()));

  const std::size_t first_query = dump.tokens() - shape.query_tokens;
  quantizer::TokenStream key_stream(*keys, dump.tokens());
  quantizer::TokenStream value_stream(*values, dump.tokens());
  key_stream.append(k.view().middle_rows(0, first_query), work);
  value_stream.append(v.view().middle_rows(0, first_query), work);
  Reference expected;
  for (std::size_t t = first_query; t < dump.tokens(); ++t) {
    key_stream.append(k.view().middle_rows(t, 1), work);
    value_stream.append(v.view().middle_rows(t, 1), work);
    Matrix<float> k_now(t + 1, k.cols());
    Matrix<float> v_now(t + 1, v.cols());
    key_stream.decode(0, k_now.view(), work);
    value_stream.decode(0, v_now.view(), work);
    for (std::size_t h = 0; h < shape.group_size(); ++h) {
      Matrix<float> q(1, k.cols());
      dump.read_rows(kLayer, DumpTensor::kQueries, h, t - first_query, q.view());
      Matrix<float> scores(1, t + 1);
      Matrix<float> errors(1, t + 1);
      for (std::size_t j = 0; j <= t; ++j) {
        double exact = 0;
        double changed = 0;
        for (std::size_t c = 0; c < k.cols(); ++c) {
          exact += double{q(0, c)} * double{k(j, c)};
          changed += double{q(0, c)} * (double{k_now(j, c)} - double{k(j, c)});
        }
        scores(0, j) = static_cast<float>(exact);
        errors(0, j) = static_cast<float>(changed);
      }
      const VisibleTokens visible{shape.first_visible(t), t};
      const Reference one = reference(scores.view(), errors.view(), v.view().middle_rows(0, t + 1), v_now.view(),
                                      std::span(&visible, 1), dump.softmax_scale());
      const double share = 1.0 / static_cast<double>(shape.query_tokens * shape.group_size());
      expected.bias += one.bias * share;
      expected.square += one.square * share;
      expected.kl += one.kl * share;
      expected.ratio += one.ratio * share;
      expected.difference += one.difference;
      expected.exact += one.exact;
    }
  }

  const CodingError error = evaluate_head(dump, kLayer, 0, keys.get(), values.get());
  // Products of 256 terms in single precision against double: relative 1e-5 of scores of size 10, on figures that are
  // means over hundreds of queries.
  EXPECT_NEAR(error.attention.score_bias.mean(), expected.bias, 1e-4);
  EXPECT_NEAR(error.attention.score_square.mean(), expected.square, 1e-3 * expected.square + 1e-6);
  EXPECT_NEAR(error.attention.kl.mean(), expected.kl, 1e-3 * expected.kl + 1e-6);
  EXPECT_NEAR(error.attention.output_ratio.mean(), expected.ratio, 1e-3 * expected.ratio + 1e-6);
  EXPECT_NEAR(error.attention.pooled_output_error(), std::sqrt(expected.difference / expected.exact),
              1e-3 * expected.ratio + 1e-6);
  EXPECT_GT(expected.ratio, 1e-4);  // the comparison means something

  key_stream.settle(work);
  value_stream.settle(work);
  EXPECT_EQ(error.key_bytes, key_stream.bytes());
  EXPECT_EQ(error.value_bytes, value_stream.bytes());
}
INSTANTIATE_TEST_SUITE_P(Methods, EvaluateStream,
                         testing::Values("kivi:2,group=32,residual=64", "kvquant:3", "uniform:4,sink=4,residual=100",
                                         "uniform:2,group=64,exact=bf16,residual=7"));

TEST(EvaluateStream, AResidualBeyondTheTextLeavesEveryQueryAlone) {
  const Dump dump = small_dump();
  const std::vector<std::size_t> layers = {0, 5};
  const std::vector policies = {
      quantizer::parse_policy("K=kivi:2,group=32,residual=1024,exact=f32 V=kivi:2,group=32,residual=1024,exact=f32")};
  for (const PolicyResult& result : run_policies(dump, layers, policies, {})) {
    EXPECT_EQ(result.error.attention.kl.max(), 0);
    EXPECT_EQ(result.error.attention.output_ratio.max(), 0);
    EXPECT_EQ(result.keys.bits_per_element, 32);
    EXPECT_EQ(result.keys.exact_bytes_per_token, 256 * 4);
  }
}

TEST(EvaluateStream, BytesAreThoseOfTheMethod) {
  const Dump dump = small_dump();  // 512 tokens, one KV head of 256
  const std::vector<std::size_t> layers = {0};
  const std::vector policies = {quantizer::parse_policy("K=kivi:2 V=kivi:2"),
                                quantizer::parse_policy("K=uniform:4,axis=channel,group=32 V=fp8:e4m3,scale=head"),
                                quantizer::parse_policy("K=nvfp4 V=uniform:4,group=64")};
  const auto results = run_policies(dump, layers, policies, {});
  // KIVI, group 32, residual 128: keys all coded at 2 + 32/32 bits; of the values 384 coded at 3 bits, 128 exact.
  EXPECT_EQ(results[0].keys.bits_per_element, 3);
  EXPECT_EQ(results[0].values.bits_per_element, 0.75 * 3 + 0.25 * 16);
  EXPECT_EQ(results[0].values.exact_bytes_per_token, 0.25 * 512);
  EXPECT_EQ(results[1].keys.bits_per_element, 5);
  EXPECT_EQ(results[1].values.bits_per_element, 8 + 32 / (512 * 256.0));  // one scale for the head
  EXPECT_EQ(results[2].keys.bits_per_element, 4.5 + 32 / (512 * 256.0));
  EXPECT_EQ(results[2].values.bits_per_element, 4.5);
}

TEST(EvaluateStream, EveryMethodRunsOnEitherSide) {
  const Dump dump = small_dump();
  const std::vector<std::size_t> layers = {1};
  std::vector<quantizer::Policy> policies;
  for (const quantizer::FamilyRule& family : quantizer::method_families()) {
    std::string text(family.name);
    if (family.has_argument) text += family.name == "split" ? ":3+2" : family.name == "fp8" ? ":e4m3" : ":3";
    if (family.name == "qjl") text = "qjl:256";
    if (family.name == "polar") text = "polar:4";
    policies.push_back(quantizer::parse_policy("K=" + text + " V=" + text));
  }
  EXPECT_GE(policies.size(), 22U);
  for (const PolicyResult& result : run_policies(dump, layers, policies, {})) {
    const std::string name = to_string(policies[result.policy]);
    for (const auto* side : {&result.error.key_bytes, &result.error.value_bytes}) {
      EXPECT_GT(side->payload, 0U) << name;
      // A head of 256 channels and 512 tokens, float32 at most.
      EXPECT_LE(side->total(), 512U * 256 * 4) << name;
    }
    EXPECT_EQ(result.keys.bits_per_element, 8.0 * static_cast<double>(result.error.key_bytes.total()) / (512 * 256))
        << name;
    EXPECT_LT(result.error.keys.distortion(), name.find("qjl") == std::string::npos ? 0.6 : 3) << name;
    EXPECT_TRUE(std::isfinite(result.error.attention.kl.mean())) << name;
  }
}

TEST(EvaluateStream, ThreadsDoNotChangeTheNumbers) {
  const Dump dump = small_dump();
  const std::vector<std::size_t> layers = {0, 1, 2};
  const std::vector policies = {quantizer::parse_policy("K=kvquant:3 V=kvquant:3,outliers=0.05"),
                                quantizer::parse_policy("K=kivi:2 V=kivi:4")};
  RunOptions one;
  one.threads = 1;
  RunOptions three;
  three.threads = 3;
  const auto a = run_policies(dump, layers, policies, one);
  const auto b = run_policies(dump, layers, policies, three);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].error.attention.kl.mean(), b[i].error.attention.kl.mean());
    EXPECT_EQ(a[i].error.keys.distortion(), b[i].error.keys.distortion());
    EXPECT_EQ(a[i].error.key_bytes, b[i].error.key_bytes);
  }
}

}  // namespace
}  // namespace orthant::kv
