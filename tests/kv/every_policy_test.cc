// Every method string of the grammar on the keys and on the values of a small dump: true bytes, or a refusal with a
// reason.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/kv/run_policies.h"
#include "orthant/kv/safetensors.h"
#include "quantizer/every_method.h"

namespace orthant::kv {
namespace {

using quantizer::Method;
using quantizer::Policy;

constexpr std::size_t kHeads = 2;
constexpr std::size_t kTokens = 96;
constexpr std::size_t kKeyDim = 64;
constexpr std::size_t kValueDim = 128;

/// One layer, 2 KV heads and 4 query heads; keys with one channel far from zero, and a key bias.
Dump small_dump() {
  struct Tensor {
    const char* name;
    std::vector<std::size_t> shape;
  };
  std::vector<Tensor> tensors = {{"layers.0.keys", {kHeads, kTokens, kKeyDim}},
                                 {"layers.0.values", {kHeads, kTokens, kValueDim}},
                                 {"layers.0.queries", {2 * kHeads, 8, kKeyDim}},
                                 {"layers.0.key_bias", {kHeads, kKeyDim}}};
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<TensorData> data;
  for (const Tensor& tensor : tensors) {
    std::size_t count = 1;
    for (const std::size_t n : tensor.shape) count *= n;
    std::vector<float> values(count);
    RngStream(1, Domain::kData, bytes.size()).fill_normal(values);
    if (bytes.empty())
      for (std::size_t i = 0; i < count; i += kKeyDim) values[i] += 5;
    bytes.push_back(float_tensor_bytes(values, TensorType::kF32));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    data.push_back({tensors[i].name, TensorType::kF32, tensors[i].shape, bytes[i]});
  const auto path = std::filesystem::path(testing::TempDir()) / "every_policy.safetensors";
  write_safetensors(path,
                    {{"format", "orthant-kv-1"},
                     {"model", "m"},
                     {"source", "s"},
                     {"licence", "l"},
                     {"tokens", std::to_string(kTokens)},
                     {"softmax_scale", "0.125"},
                     {"rope_layout", "half"},
                     {"first_position", "0"},
                     {"layers", "0"},
                     {"layer_types", "global"},
                     {"rope_theta", "10000"}},
                    data);
  Dump dump = Dump::open(path);
  std::filesystem::remove(path);
  return dump;
}

void expect_true_bytes(const PolicyResult& result, bool keys) {
  const SideCost& cost = keys ? result.keys : result.values;
  const quantizer::StreamBytes& bytes = keys ? result.error.key_bytes : result.error.value_bytes;
  const double elements = static_cast<double>(kHeads * kTokens * (keys ? kKeyDim : kValueDim));
  EXPECT_EQ(cost.bits_per_element, 8 * static_cast<double>(bytes.total()) / elements);
  EXPECT_EQ(bytes.total(), bytes.payload + bytes.metadata + bytes.exact + bytes.shared);
  EXPECT_GT(bytes.total(), 0U);
  EXPECT_LE(cost.bits_per_element, 70) << "more than two floats an element";
  // A cast that does not saturate makes NaN of what a turned key has beyond the scale of the keys as cached.
  const bool casts = cost.method.find("saturate=0") != std::string::npos;
  EXPECT_TRUE(casts || std::isfinite(result.error.attention.mean_kl()));
  EXPECT_EQ((keys ? result.values : result.keys).method, "exact");
}

TEST(EveryPolicy, RunsOnKeysAndOnValuesOrSaysWhyNot) {
  const Dump dump = small_dump();
  const std::vector<std::size_t> layers = {0};
  RunOptions one_thread;
  one_thread.threads = 1;
  std::map<std::string, bool> values_of_options;
  std::size_t ran[2] = {};
  std::size_t refused = 0;
  for (const Method& method : quantizer::every_method()) {
    bool works = false;
    for (const bool keys : {true, false}) {
      Policy policy;
      (keys ? policy.keys : policy.values) = method;
      SCOPED_TRACE(to_string(policy));
      try {
        const std::vector<Policy> policies = {policy};
        const auto results = run_policies(dump, layers, policies, one_thread);
        ASSERT_EQ(results.size(), 1U);
        expect_true_bytes(results[0], keys);
        works = true;
        ++ran[keys ? 0 : 1];
      } catch (const InvalidArgument& error) {
        EXPECT_NE(std::string(error.what()).find(", expected "), std::string::npos) << error.what();
        ++refused;
      }
    }
    for (const quantizer::FamilyRule& family : quantizer::method_families()) {
      if (family.name != method.family()) continue;
      for (const quantizer::ValueRule& rule : family.values) {
        bool& ever =
            values_of_options[std::string(family.name) + ' ' + std::string(rule.name) + '=' + method.text(rule.name)];
        ever = ever || works;
      }
    }
  }
  for (const auto& [value, works] : values_of_options) {
    // Segments divide a width, which some formats do not have; split's channels are chosen from keys as they are
    // cached, not from framed ones. What a calibration gives is tried on turbo-mse.
    const std::string option = value.substr(value.find(' ') + 1);
    const bool learnt = option.starts_with("match=") || option.starts_with("segments=") ||
                        option.starts_with("calibration=") || option.starts_with("centre=");
    EXPECT_TRUE(works || (learnt && !value.starts_with("turbo-mse"))) << value << " never works";
  }
  EXPECT_GT(ran[0], 500U);
  EXPECT_GT(ran[1], 300U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace orthant::kv
