#include "orthant/kv/run_policies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/haar.h"

namespace orthant::kv {
namespace {

using quantizer::Method;
using quantizer::Policy;
using quantizer::VectorQuantizer;
using Quantizer = std::shared_ptr<const VectorQuantizer>;

enum class Side { kKeys, kValues };

const std::optional<Method>& method_of(const Policy& policy, Side side) {
  return side == Side::kKeys ? policy.keys : policy.values;
}

std::size_t dim_of(const DumpLayer& layer, Side side) { return side == Side::kKeys ? layer.head_dim : layer.value_dim; }

/// max |x| over one head.
float largest_magnitude(const Dump& dump, std::size_t layer, Side side, std::size_t head) {
  const DumpTensor tensor = side == Side::kKeys ? DumpTensor::kKeys : DumpTensor::kValues;
  Matrix<float> row(1, dim_of(dump.layers()[layer], side));
  float largest = 0;
  for (std::size_t i = 0; i < dump.tokens(); ++i) {
    dump.read_rows(layer, tensor, head, i, row.view());
    for (const float x : row.row(0)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

/// The quantizers of a run: one for each method and dimension, or one for each head where scales come from its data.
class QuantizerSet {
 public:
  QuantizerSet(const Dump& dump, std::span<const std::size_t> layers, std::span<const Policy> policies,
               std::uint64_t seed)
      : dump_(dump), seed_(seed) {
    for (const std::size_t layer : layers) {
      for (const Policy& policy : policies) {
        for (const Side side : {Side::kKeys, Side::kValues}) {
          if (method_of(policy, side)) prepare(layer, *method_of(policy, side), side);
        }
      }
    }
  }

  /// Null when the policy leaves this side alone.
  const VectorQuantizer* find(const Policy& policy, Side side, std::size_t layer, std::size_t head) const {
    const auto& method = method_of(policy, side);
    return method ? quantizers_.at(key(*method, side, layer, head)).get() : nullptr;
  }

 private:
  /// (method, dim, place): the place is 0, or 1 + the head's number in the dump for scales of its own.
  using Key = std::tuple<std::string, std::size_t, std::size_t, Side>;

  static bool takes_scale_from_data(const Method& method) {
    return method.has("scale") && (method.text("scale") == "tensor" || method.text("scale") == "head");
  }

  Key key(const Method& method, Side side, std::size_t layer, std::size_t head) const {
    const std::size_t dim = dim_of(dump_.layers()[layer], side);
    if (!takes_scale_from_data(method)) return {method.to_string(), dim, 0, Side::kKeys};
    std::size_t place = 1 + head;
    for (std::size_t l = 0; l < layer; ++l) place += dump_.layers()[l].kv_heads;
    return {method.to_string(), dim, place, side};
  }

  void prepare(std::size_t layer, const Method& method, Side side) {
    const DumpLayer& shape = dump_.layers()[layer];
    quantizer::QuantizerContext context;
    context.seed = seed_;
    if (!takes_scale_from_data(method)) {
      Quantizer& shared = quantizers_[key(method, side, layer, 0)];
      if (!shared) shared = quantizer::make_quantizer(method, dim_of(shape, side), context);
      return;
    }
    std::vector<float> magnitudes;
    for (std::size_t h = 0; h < shape.kv_heads; ++h) magnitudes.push_back(largest_magnitude(dump_, layer, side, h));
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      context.largest_magnitude =
          method.text("scale") == "head" ? magnitudes[h] : *std::max_element(magnitudes.begin(), magnitudes.end());
      quantizers_[key(method, side, layer, h)] = quantizer::make_quantizer(method, dim_of(shape, side), context);
    }
  }

  const Dump& dump_;
  std::uint64_t seed_;
  std::map<Key, Quantizer> quantizers_;
};

SideCost cost_of(const Policy& policy, Side side, const DumpLayer& layer, const VectorQuantizer* quantizer) {
  SideCost cost;
  const std::size_t dim = dim_of(layer, side);
  if (quantizer == nullptr) {
    cost.method = "exact";
    cost.bytes_per_token =
        layer.kv_heads * dim * (side == Side::kKeys ? layer.key_element_bytes : layer.value_element_bytes);
  } else {
    cost.method = method_of(policy, side)->to_full_string();
    cost.bytes_per_token = layer.kv_heads * quantizer->bytes_per_vector();
    cost.metadata_bytes_per_token = layer.kv_heads * quantizer->metadata_bytes();
    cost.expected_distortion = expected_distortion(*quantizer);
  }
  cost.bits_per_element = 8.0 * static_cast<double>(cost.bytes_per_token) / static_cast<double>(layer.kv_heads * dim);
  return cost;
}

}  // namespace

std::optional<double> expected_distortion(const VectorQuantizer& quantizer) {
  const auto* turbo = dynamic_cast<const quantizer::TurboMse*>(&quantizer);
  if (turbo == nullptr || turbo->options().rule != quantizer::ScaleRule::kRaw) return std::nullopt;
  if (dynamic_cast<const transform::Haar*>(&turbo->rotation()) == nullptr) return std::nullopt;
  return static_cast<double>(turbo->dim()) * turbo->book().distortion();
}

std::vector<PolicyResult> run_policies(const Dump& dump, std::span<const std::size_t> layers,
                                       std::span<const Policy> policies, const RunOptions& options) {
  for (const std::size_t layer : layers) {
    if (layer >= dump.layers().size()) {
      throw_invalid_argument("run_policies", "layer", std::to_string(layer),
                             "below " + std::to_string(dump.layers().size()));
    }
  }
  for (const Policy& policy : policies) {
    if (policy.eviction) {
      throw_invalid_argument("run_policies", "policy \"" + to_string(policy) + '"', "an eviction rule",
                             "methods for keys and values");
    }
  }
  const QuantizerSet quantizers(dump, layers, policies, options.seed);
  parallel_for(layers.size(), options.threads, [&](std::size_t i) { dump.require_finite(layers[i]); });

  struct Job {
    std::size_t result;
    std::size_t head;
  };
  std::vector<PolicyResult> results;
  std::vector<Job> jobs;
  for (const std::size_t layer : layers) {
    for (std::size_t p = 0; p < policies.size(); ++p) {
      PolicyResult result;
      result.layer = layer;
      result.policy = p;
      const DumpLayer& shape = dump.layers()[layer];
      result.keys = cost_of(policies[p], Side::kKeys, shape, quantizers.find(policies[p], Side::kKeys, layer, 0));
      result.values = cost_of(policies[p], Side::kValues, shape, quantizers.find(policies[p], Side::kValues, layer, 0));
      for (std::size_t head = 0; head < shape.kv_heads; ++head) jobs.push_back({results.size(), head});
      results.push_back(std::move(result));
    }
  }

  std::vector<CodingError> errors(jobs.size());
  std::mutex reporting;
  std::size_t done = 0;
  parallel_for(jobs.size(), options.threads, [&](std::size_t j) {
    const PolicyResult& result = results[jobs[j].result];
    const Policy& policy = policies[result.policy];
    errors[j] = evaluate_head(dump, result.layer, jobs[j].head,
                              quantizers.find(policy, Side::kKeys, result.layer, jobs[j].head),
                              quantizers.find(policy, Side::kValues, result.layer, jobs[j].head));
    if (!options.progress) return;
    const std::lock_guard<std::mutex> lock(reporting);
    options.progress(++done, jobs.size());
  });
  for (std::size_t j = 0; j < jobs.size(); ++j) results[jobs[j].result].error.merge(errors[j]);
  return results;
}

}  // namespace orthant::kv
