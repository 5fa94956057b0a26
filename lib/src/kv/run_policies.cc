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
#include "orthant/kv/calibration.h"
#include "orthant/kv/matched_quantizer.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/make_streaming.h"
#include "orthant/quantizer/split_channels.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/score_error.h"

namespace orthant::kv {
namespace {

using quantizer::Method;
using quantizer::Policy;
using quantizer::VectorQuantizer;
using Side = quantizer::CacheSide;

const std::optional<Method>& method_of(const Policy& policy, Side side) {
  return side == Side::kKeys ? policy.keys : policy.values;
}

std::size_t dim_of(const DumpLayer& layer, Side side) { return side == Side::kKeys ? layer.head_dim : layer.value_dim; }

DumpTensor tensor_of(Side side) { return side == Side::kKeys ? DumpTensor::kKeys : DumpTensor::kValues; }

/// max |x| over one head.
float largest_magnitude(const Dump& dump, std::size_t layer, Side side, std::size_t head) {
  Matrix<float> row(1, dim_of(dump.layers()[layer], side));
  float largest = 0;
  for (std::size_t i = 0; i < dump.tokens(); ++i) {
    dump.read_rows(layer, tensor_of(side), head, i, row.view());
    for (const float x : row.row(0)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

transform::Rope rope_of(const Dump& dump, const DumpLayer& layer) {
  return {dump.rope_layout(), layer.head_dim, layer.rope_theta};
}

bool takes_scale_from_data(const Method& method) {
  return method.has("scale") && (method.text("scale") == "tensor" || method.text("scale") == "head");
}

KeyContext context_of(const Dump& dump, const DumpLayer& layer) {
  const std::size_t tokens = dump.first_position() + dump.tokens();
  return {tokens, std::min(tokens, layer.window.value_or(tokens))};
}

/// What a dump teaches before it is judged: calibration=self.
CalibrationOptions self_calibration(const Dump& dump) {
  CalibrationOptions options;
  options.most_tokens =
      std::min<std::size_t>(1024, std::max<std::size_t>(dump.tokens() / 2, options.skipped + kLeastCalibratedTokens));
  options.query_share = 0.5;
  return options;
}

Calibration learn_from_itself(const Dump& dump, int threads) {
  CalibrationOptions options = self_calibration(dump);
  options.threads = threads;
  return calibrate(std::span(&dump, 1), {dump.name()}, options);
}

void require_same(const std::string& file, const char* what, const std::string& got, const std::string& expected) {
  if (got != expected) throw_invalid_input(file, what, got, expected + ", as in the dump");
}

void require_fits(const std::string& file, const Calibration& calibration, const Dump& dump) {
  require_same(file, "model", calibration.model, dump.model());
  require_same(file, "rope_layout", transform::name(calibration.rope_layout), transform::name(dump.rope_layout()));
}

/// True for split: its louder channels are chosen by the head's own data.
bool chooses_channels(const Method& method) { return method.has("channels"); }

/// The quantizers of a run: one for each method and dimension, or one for each head where something comes from its data
/// or its positions.
class QuantizerSet {
 public:
  QuantizerSet(const Dump& dump, std::span<const std::size_t> layers, std::span<const Policy> policies,
               const RunOptions& options)
      : dump_(dump), seed_(options.seed) {
    std::vector<Job> jobs;
    for (const Policy& policy : policies) {
      if (policy.keys && needs_calibration(*policy.keys)) load_calibration(*policy.keys, options.threads);
    }
    for (const std::size_t layer : layers) {
      for (const Policy& policy : policies) {
        for (const Side side : {Side::kKeys, Side::kValues}) {
          if (method_of(policy, side)) prepare(layer, *method_of(policy, side), side, jobs);
        }
      }
    }
    // Calibration takes time; each head's quantizer is its own job, put into a place that is already there.
    parallel_for(jobs.size(), options.threads, [&](std::size_t j) { make(jobs[j]); });
  }

  /// Empty when the policy leaves this side alone.
  SideQuantizer find(const Policy& policy, Side side, std::size_t layer, std::size_t head) const {
    const auto& method = method_of(policy, side);
    if (!method) return {};
    const Quantizer& found = quantizers_.at(key(*method, side, layer, head));
    return found.stream ? SideQuantizer(found.stream.get()) : SideQuantizer(found.rows.get());
  }

 private:
  struct Quantizer {
    std::unique_ptr<VectorQuantizer> rows;
    std::unique_ptr<quantizer::StreamingQuantizer> stream;
  };
  struct Job {
    const Method* method;
    Side side;
    std::size_t layer;
    std::size_t head;
    std::optional<float> largest_magnitude;
    Quantizer* place;
  };
  /// (method, dim, place): the place is 0, or 1 + the head's number in the dump for quantizers of their own.
  using Key = std::tuple<std::string, std::size_t, std::size_t, Side>;

  static bool belongs_to_head(const Method& method) {
    return takes_scale_from_data(method) || chooses_channels(method) || needs_calibration(method) ||
           !quantizer::codes_single_vectors(method);
  }

  Key key(const Method& method, Side side, std::size_t layer, std::size_t head) const {
    const std::size_t dim = dim_of(dump_.layers()[layer], side);
    if (!belongs_to_head(method)) return {method.to_string(), dim, 0, Side::kKeys};
    std::size_t place = 1 + head;
    for (std::size_t l = 0; l < layer; ++l) place += dump_.layers()[l].kv_heads;
    return {method.to_string(), dim, place, side};
  }

  void prepare(std::size_t layer, const Method& method, Side side, std::vector<Job>& jobs) {
    const DumpLayer& shape = dump_.layers()[layer];
    std::vector<float> magnitudes;
    for (std::size_t h = 0; takes_scale_from_data(method) && h < shape.kv_heads; ++h) {
      magnitudes.push_back(largest_magnitude(dump_, layer, side, h));
    }
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      const auto [place, fresh] = quantizers_.try_emplace(key(method, side, layer, h));
      if (!fresh) continue;
      Job job{&method, side, layer, h, {}, &place->second};
      if (!magnitudes.empty()) {
        job.largest_magnitude =
            method.text("scale") == "head" ? magnitudes[h] : *std::max_element(magnitudes.begin(), magnitudes.end());
      }
      jobs.push_back(job);
    }
  }

  void make(const Job& job) const {
    const DumpLayer& shape = dump_.layers()[job.layer];
    const std::size_t dim = dim_of(shape, job.side);
    quantizer::QuantizerContext vectors;
    vectors.seed = seed_;
    vectors.largest_magnitude = job.largest_magnitude;
    if (!belongs_to_head(*job.method)) {
      job.place->rows = quantizer::make_quantizer(*job.method, dim, vectors);
      return;
    }
    if (needs_calibration(*job.method)) {
      job.place->stream = make_matched(job, vectors);
      return;
    }
    if (chooses_channels(*job.method)) {
      const Matrix<float> x = dump_.read(job.layer, tensor_of(job.side), job.head);
      const auto count = static_cast<std::size_t>(job.method->integer("channels"));
      vectors.outlier_channels = quantizer::loudest_channels(x.view(), count);
    }
    quantizer::StreamContext context;
    context.vectors = vectors;
    context.first_position = dump_.first_position();
    std::vector<float> bias;
    Matrix<float> calibration;
    if (job.side == Side::kKeys) {
      context.rope = rope_of(dump_, shape);
      bias = dump_.key_bias(job.layer, job.head);
      context.key_bias = bias;
    }
    if (job.method->has("calibration") && job.method->text("calibration") == "self") {
      const long long sinks = job.method->integer("sink");
      if (dump_.tokens() <= static_cast<unsigned long long>(sinks)) {
        throw_invalid_input(dump_.name(),
                            "tokens of layer " + std::to_string(shape.index) + " that \"" + job.method->to_string() +
                                "\" is calibrated on",
                            std::to_string(dump_.tokens()), "more than the " + std::to_string(sinks) + " of its sink");
      }
      calibration = dump_.read(job.layer, tensor_of(job.side), job.head);
      context.calibration = calibration.view();
    }
    job.place->stream = quantizer::make_streaming(*job.method, job.side, dim, context);
  }

  void load_calibration(const Method& method, int threads) {
    const std::string& source = method.text("calibration");
    if (source == "none") {
      throw_invalid_argument("method \"" + method.to_string() + '"', "calibration", "none",
                             "FILE (orthant calibrate makes one) or self");
    }
    if (calibrations_.contains(source)) return;
    Calibration calibration = source == "self" ? learn_from_itself(dump_, threads) : read_calibration(source);
    require_fits(source, calibration, dump_);
    calibrations_.emplace(source, std::move(calibration));
  }

  std::unique_ptr<quantizer::StreamingQuantizer> make_matched(const Job& job,
                                                              const quantizer::QuantizerContext& vectors) const {
    if (job.side == Side::kValues) {
      throw_invalid_argument("method \"" + job.method->to_string() + '"', "match, centre or segments", "values",
                             "keys");
    }
    if (takes_scale_from_data(*job.method)) {
      throw_invalid_argument("method \"" + job.method->to_string() + '"', "scale with match, centre or segments",
                             job.method->text("scale"),
                             "none or token: the largest mapped key is not known beforehand");
    }
    const DumpLayer& shape = dump_.layers()[job.layer];
    const std::string& source = job.method->text("calibration");
    const Calibration& calibration = calibrations_.at(source);
    const CalibratedLayer& learnt = calibration.layer(shape.index);
    require_same(source, "head_dim", std::to_string(calibration.head_dim), std::to_string(shape.head_dim));
    require_same(source, "KV heads", std::to_string(learnt.heads.size()), std::to_string(shape.kv_heads));
    require_same(source, "rope_theta", std::to_string(learnt.rope_theta), std::to_string(shape.rope_theta));
    const MatchedHead matched =
        match_head(calibration, learnt, job.head, matched_key_options(*job.method), context_of(dump_, shape));
    return matched_stream(*job.method, matched, vectors, dump_.first_position());
  }

  const Dump& dump_;
  std::uint64_t seed_;
  std::map<std::string, Calibration> calibrations_;  // by the methods' calibration option
  std::map<Key, Quantizer> quantizers_;
};

/// What coding a head refuses once shapes and methods are known to fit is its values (a scale that no F16 holds): the
/// dump's fault, told with the place.
CodingError evaluate_values(const Dump& dump, std::size_t layer, std::size_t head, const Policy& policy,
                            SideQuantizer keys, SideQuantizer values) {
  try {
    return evaluate_head(dump, layer, head, keys, values);
  } catch (const InvalidArgument& error) {
    throw InvalidInput(dump.name() + ": layer " + std::to_string(dump.layers()[layer].index) + ", KV head " +
                       std::to_string(head) + " by \"" + to_string(policy) + "\": " + error.what());
  }
}

/// The cost of one side of a layer from the bytes of all its heads and tokens.
SideCost cost_of(const Dump& dump, const Policy& policy, Side side, const DumpLayer& layer,
                 const quantizer::StreamBytes& bytes, SideQuantizer quantizer) {
  SideCost cost;
  const std::size_t dim = dim_of(layer, side);
  const auto tokens = static_cast<double>(dump.tokens());
  if (!quantizer.changes()) {
    cost.method = "exact";
    cost.bytes_per_token = static_cast<double>(
        layer.kv_heads * dim * (side == Side::kKeys ? layer.key_element_bytes : layer.value_element_bytes));
  } else {
    cost.method = method_of(policy, side)->to_full_string();
    cost.bytes_per_token = static_cast<double>(bytes.total()) / tokens;
    cost.metadata_bytes_per_token = static_cast<double>(bytes.metadata + bytes.shared) / tokens;
    cost.exact_bytes_per_token = static_cast<double>(bytes.exact) / tokens;
    if (quantizer.rows != nullptr) cost.expected_distortion = expected_distortion(*quantizer.rows);
  }
  cost.bits_per_element = 8 * cost.bytes_per_token / static_cast<double>(layer.kv_heads * dim);
  return cost;
}

/// Spectra of Sigma_k^1/2 Sigma_q Sigma_k^1/2 of one layer's heads, before the rotary embedding, from the dump itself.
std::vector<std::vector<double>> spectra_of(const Calibration& own, const Dump& dump, const DumpLayer& layer) {
  const MatchedKeyOptions before_rope{
      transform::Match::kNone, transform::Centre::kMean, {transform::Alignment::kBeforeRope}, 1};
  std::vector<std::vector<double>> spectra;
  for (std::size_t head = 0; head < layer.kv_heads; ++head) {
    const MatchedHead matched = match_head(own, own.layer(layer.index), head, before_rope, context_of(dump, layer));
    spectra.push_back(
        transform::joint_spectrum(matched.moments.key_covariance.view(), matched.moments.query_moment.view()));
  }
  return spectra;
}

/// Fills in gaussian_score_square. A dump too short to be learnt from has none.
void add_benchmarks(const Dump& dump, std::span<const std::size_t> layers, int threads,
                    std::vector<PolicyResult>& results) {
  CalibrationOptions options;
  options.threads = threads;
  if (dump.tokens() < options.skipped + kLeastCalibratedTokens ||
      std::ranges::none_of(results, [](const PolicyResult& r) { return r.keys.method != "exact"; }))
    return;
  const Calibration own = calibrate(std::span(&dump, 1), {dump.name()}, options);
  std::vector<std::vector<std::vector<double>>> spectra(dump.layers().size());
  parallel_for(layers.size(), threads,
               [&](std::size_t i) { spectra[layers[i]] = spectra_of(own, dump, dump.layers()[layers[i]]); });
  for (PolicyResult& result : results) {
    const DumpLayer& layer = dump.layers()[result.layer];
    if (result.keys.method == "exact") continue;
    const double bits = 8 * result.keys.bytes_per_token / static_cast<double>(layer.kv_heads);
    double sum = 0;
    for (const std::vector<double>& spectrum : spectra[result.layer])
      sum += transform::gaussian_benchmark(spectrum, bits).error;
    result.gaussian_score_square =
        dump.softmax_scale() * dump.softmax_scale() * sum / static_cast<double>(layer.kv_heads);
  }
}

}  // namespace

bool learns_from_itself(const Dump& dump) {
  const CalibrationOptions options = self_calibration(dump);
  return std::ranges::all_of(dump.layers(), [&](const DumpLayer& layer) {
    return layer.head_dim == dump.layers().front().head_dim && leaves_something(dump, layer, options);
  });
}

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
  const QuantizerSet quantizers(dump, layers, policies, options);
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
    errors[j] = evaluate_values(dump, result.layer, jobs[j].head, policy,
                                quantizers.find(policy, Side::kKeys, result.layer, jobs[j].head),
                                quantizers.find(policy, Side::kValues, result.layer, jobs[j].head));
    if (!options.progress) return;
    const std::lock_guard<std::mutex> lock(reporting);
    options.progress(++done, jobs.size());
  });
  for (std::size_t j = 0; j < jobs.size(); ++j) results[jobs[j].result].error.merge(errors[j]);
  for (PolicyResult& result : results) {
    const DumpLayer& shape = dump.layers()[result.layer];
    const Policy& policy = policies[result.policy];
    result.keys = cost_of(dump, policy, Side::kKeys, shape, result.error.key_bytes,
                          quantizers.find(policy, Side::kKeys, result.layer, 0));
    result.values = cost_of(dump, policy, Side::kValues, shape, result.error.value_bytes,
                            quantizers.find(policy, Side::kValues, result.layer, 0));
  }
  add_benchmarks(dump, layers, options.threads, results);
  return results;
}

}  // namespace orthant::kv
