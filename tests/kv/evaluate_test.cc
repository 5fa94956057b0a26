#include "orthant/kv/evaluate.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <filesystem>

#include "kv/attention_reference.h"
#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/kv/run_policies.h"
#include "orthant/quantizer/make_quantizer.h"
#include "test_paths.h"

namespace orthant::kv {
namespace {

constexpr std::size_t kTokens = 600;  // more than one block
constexpr std::size_t kQueryTokens = 5;
constexpr std::size_t kKvHeads = 2;
constexpr std::size_t kQueryHeads = 4;
constexpr std::size_t kKeyDim = 8;
constexpr std::size_t kValueDim = 6;

/// Normal keys, values and queries in F32; layer 0 slides over 70 tokens, layer 1 is global.
Dump random_dump() {
  const auto path = std::filesystem::path(testing::TempDir()) / "random_dump.safetensors";
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<TensorData> tensors;
  const auto add = [&](const std::string& name, const std::vector<std::size_t>& shape) {
    std::vector<float> values(shape[0] * shape[1] * shape[2]);
    RngStream rng(3, Domain::kData, bytes.size());
    rng.fill_normal(values);
    bytes.push_back(float_tensor_bytes(values, TensorType::kF32));
    tensors.push_back({name, TensorType::kF32, shape, {}});
  };
  for (const char* layer : {"layers.0.", "layers.1."}) {
    add(std::string(layer) + "keys", {kKvHeads, kTokens, kKeyDim});
    add(std::string(layer) + "values", {kKvHeads, kTokens, kValueDim});
    add(std::string(layer) + "queries", {kQueryHeads, kQueryTokens, kKeyDim});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].bytes = bytes[i];
  write_safetensors(path,
                    {{"format", "orthant-kv-1"},
                     {"model", "random"},
                     {"source", "normal numbers"},
                     {"licence", "none"},
                     {"tokens", std::to_string(kTokens)},
                     {"softmax_scale", "0.7"},
                     {"rope_layout", "none"},
                     {"first_position", "0"},
                     {"layers", "0,1"},
                     {"layer_types", "sliding:70,global"}},
                    tensors);
  const Dump dump = Dump::open(path);
  std::filesystem::remove(path);
  return dump;
}

/// Rows as a quantizer gives them back, all at once.
Matrix<float> coded(const quantizer::VectorQuantizer& quantizer, MatrixView<const float> x) {
  Workspace work(quantizer.workspace_bytes(x.rows()));
  Matrix<std::uint8_t> packed(x.rows(), quantizer.bytes_per_vector());
  Matrix<float> x_hat(x.rows(), x.cols());
  quantizer.encode(x, packed.view(), work);
  quantizer.decode(packed.view(), x_hat.view(), work);
  return x_hat;
}

Matrix<float> products(MatrixView<const float> a, MatrixView<const float> b) {
  Matrix<float> c(a.rows(), b.rows());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < b.rows(); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.cols(); ++k) sum += double{a(i, k)} * double{b(j, k)};
      c(i, j) = static_cast<float>(sum);
    }
  }
  return c;
}

class EvaluateHead : public testing::TestWithParam<std::size_t> {};

// Masks, query groups, blocks and both sides against attention written out in double, head by head.
TEST_P(EvaluateHead, AgreesWithAttentionWrittenOut) {
  const Dump dump = random_dump();
  const std::size_t layer = GetParam();
  const auto keys = quantizer::make_quantizer(quantizer::parse_method("fp8:e4m3"), kKeyDim);
  const auto values = quantizer::make_quantizer(quantizer::parse_method("fp8:e5m2"), kValueDim);
  for (std::size_t head = 0; head < kKvHeads; ++head) {
    const Matrix<float> k = dump.read(layer, DumpTensor::kKeys, head);
    const Matrix<float> v = dump.read(layer, DumpTensor::kValues, head);
    const Matrix<float> k_hat = coded(*keys, k.view());
    const Matrix<float> v_hat = coded(*values, v.view());
    Reference expected;
    for (const std::size_t q_head : {2 * head, 2 * head + 1}) {  // two query heads read each KV head
      const Matrix<float> q = dump.read(layer, DumpTensor::kQueries, q_head);
      const Matrix<float> scores = products(q.view(), k.view());
      Matrix<float> errors = products(q.view(), k_hat.view());
      for (std::size_t i = 0; i < errors.rows(); ++i) {
        for (std::size_t j = 0; j < errors.cols(); ++j) errors(i, j) -= scores(i, j);
      }
      std::vector<VisibleTokens> visible;
      for (std::size_t i = kTokens - kQueryTokens; i < kTokens; ++i) {
        visible.push_back({layer == 0 ? i - 69 : 0, i});  // a window of 70 sees 70 tokens
      }
      const Reference part = reference(scores.view(), errors.view(), v.view(), v_hat.view(), visible, 0.7);
      expected.bias += part.bias / 2;
      expected.square += part.square / 2;
      expected.kl += part.kl / 2;
      expected.top1 += part.top1 / 2;
      expected.ratio += part.ratio / 2;
      expected.difference += part.difference;
      expected.exact += part.exact;
    }
    const CodingError error = evaluate_head(dump, layer, head, keys.get(), values.get());
    EXPECT_EQ(error.attention.kl.count(), 2 * kQueryTokens);
    // Both sides round scores of at most |s| = 15 to single precision: errors e carry 4 eps |s| = 7e-6, where
    // |e| <= 2^-4 |q| |k| ~ 1; squares, KL (quadratic in e) and outputs change by at most as much.
    constexpr double kRounding = 15 * 4 * FLT_EPSILON;
    EXPECT_NEAR(error.attention.score_bias.mean(), expected.bias, kRounding);
    EXPECT_NEAR(error.attention.score_square.mean(), expected.square, kRounding);
    EXPECT_NEAR(error.attention.kl.mean(), expected.kl, kRounding);
    EXPECT_NEAR(error.attention.top1.mean(), expected.top1, 4 * DBL_EPSILON);
    EXPECT_NEAR(error.attention.output_ratio.mean(), expected.ratio, kRounding);
    EXPECT_NEAR(error.attention.pooled_output_error(), std::sqrt(expected.difference / expected.exact), kRounding);
    EXPECT_GT(expected.kl, 100 * kRounding);  // the comparison means something

    RowError rows;
    rows.add(k.view(), k_hat.view());
    EXPECT_EQ(error.keys.distortion(), rows.distortion());
    EXPECT_EQ(error.keys.relative.count(), kTokens);
  }
}
INSTANTIATE_TEST_SUITE_P(SlidingAndGlobal, EvaluateHead, testing::Values(0, 1));

TEST(Evaluate, ExactFormatsAndUntouchedSidesHaveNoError) {
  const Dump dump = random_dump();
  const auto f32 = quantizer::make_quantizer(quantizer::parse_method("f32"), kKeyDim);
  for (const quantizer::VectorQuantizer* keys : {static_cast<const quantizer::VectorQuantizer*>(nullptr),
                                                 static_cast<const quantizer::VectorQuantizer*>(f32.get())}) {
    const CodingError error = evaluate_head(dump, 1, 0, keys, nullptr);
    EXPECT_EQ(error.attention.score_rms(), 0);
    EXPECT_EQ(error.attention.kl.max(), 0);
    EXPECT_EQ(error.attention.top1.mean(), 1);
    EXPECT_EQ(error.attention.output_ratio.max(), 0);
    EXPECT_EQ(error.keys.relative.count(), keys == nullptr ? 0U : kTokens);
  }
  EXPECT_THROW(evaluate_head(dump, 1, 0, nullptr, f32.get()), InvalidArgument);  // 8 where values have 6
}

// Keys alone decide the key error, values alone the value error, and both tell in the output.
TEST(RunPolicies, EachSideIsWiredToItsOwnMethod) {
  const Dump dump = Dump::open(data_dir() / "gemma3-270m-512.safetensors");
  std::vector<quantizer::Policy> policies;
  for (const char* text :
       {"K=turbo-mse:8 V=turbo-mse:4", "K=turbo-mse:4 V=turbo-mse:4", "K=turbo-mse:4 V=turbo-mse:8"}) {
    policies.push_back(quantizer::parse_policy(text));
  }
  const std::vector<std::size_t> layers = {1};
  const auto results = run_policies(dump, layers, policies, {});
  ASSERT_EQ(results.size(), 3U);
  const auto key_error = [&](std::size_t i) { return results[i].error.keys.distortion(); };
  const auto value_error = [&](std::size_t i) { return results[i].error.values.distortion(); };
  const auto output_error = [&](std::size_t i) { return results[i].error.attention.output_ratio.mean(); };
  EXPECT_LT(key_error(0), key_error(1));
  EXPECT_EQ(key_error(1), key_error(2));
  EXPECT_EQ(value_error(0), value_error(1));
  EXPECT_LT(value_error(2), value_error(1));
  EXPECT_NE(output_error(0), output_error(1));
  EXPECT_NE(output_error(1), output_error(2));
  EXPECT_EQ(results[1].error.attention.mean_kl(), results[2].error.attention.mean_kl());
  EXPECT_EQ(results[0].keys.bytes_per_token, 258U);
  EXPECT_EQ(results[0].values.bytes_per_token, 130U);
  EXPECT_EQ(results[0].keys.bits_per_element, 8 * 258 / 256.0);
}

TEST(RunPolicies, TheoryIsGivenWhereItHolds) {
  const auto expected = [](const char* method) {
    return expected_distortion(*quantizer::make_quantizer(quantizer::parse_method(method), 64));
  };
  // 64 C(f_64, 4), an independent value to 9 digits.
  EXPECT_NEAR(expected("turbo-mse:4").value(), 0.00913151760, 5e-12);
  EXPECT_FALSE(expected("turbo-mse:4,rotation=hadamard:3").has_value());
  EXPECT_FALSE(expected("q8_0").has_value());
}

TEST(RunPolicies, RefusesWhatItCannotRun) {
  const Dump dump = random_dump();
  const std::vector<std::size_t> layers = {0, 1};
  const auto run = [&](const char* policy) {
    run_policies(dump, layers, std::vector{quantizer::parse_policy(policy)}, {});
  };
  EXPECT_THROW(run("K=q8_0"), InvalidArgument);  // 32 does not divide 8
  const std::vector<std::size_t> beyond = {2};
  EXPECT_THROW(run_policies(dump, beyond, std::vector<quantizer::Policy>(1), {}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::kv
