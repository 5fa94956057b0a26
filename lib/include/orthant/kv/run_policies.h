#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orthant/kv/dump.h"
#include "orthant/kv/evaluate.h"
#include "orthant/quantizer/policy.h"

namespace orthant::kv {

/// One side of a layer's cache under a policy.
struct SideCost {
  std::string method;                         ///< every option spelled out; "exact" when the side is left alone
  double bytes_per_token = 0;                 ///< all KV heads, over the dump's tokens; "exact": in the dump's own type
  double metadata_bytes_per_token = 0;        ///< of these, scales, norms, outliers, shared levels and the like
  double exact_bytes_per_token = 0;           ///< of these, tokens kept as floats: sinks and recent windows
  double bits_per_element = 0;                ///< 8 bytes_per_token / (KV heads * dim)
  std::optional<double> expected_distortion;  ///< relative distortion that theory gives, where it does, for any rows
};

/// One policy on one layer: all KV heads together.
struct PolicyResult {
  std::size_t layer = 0;   ///< place in dump.layers()
  std::size_t policy = 0;  ///< place in the list of policies
  SideCost keys;
  SideCost values;
  CodingError error;
  /// Mean square of softmax_scale times the score error that the Gaussian rate-distortion benchmark has at as many
  /// bytes a token, for the second moments of this dump's own keys and queries before the rotary embedding
  /// (transform/score_error.h); nothing when keys are exact or the dump is too short to be learnt from. Half the log2
  /// of measured over benchmark is the distance in bits per coordinate.
  std::optional<double> gaussian_score_square;
};

struct RunOptions {
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: default_threads()
  /// Called after each finished piece of work, from any thread but never from two at once.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// Every policy on each of the given layers (places in dump.layers()): layers outermost, policies in order. Results
/// do not depend on the number of threads. All heads and layers share the random map of a method and seed, as engines
/// do; matched keys (match, centre, segments) have a map of their own for each head, from calibration=FILE or, with
/// calibration=self, from the dump: the keys of its first 1024 tokens, or the first half of a shorter dump, and the
/// first half of its queries. Throws before any work: InvalidArgument for a policy that cannot be applied to the dump's
/// shapes, InvalidInput when a tensor holds a value that is not finite.
std::vector<PolicyResult> run_policies(const Dump& dump, std::span<const std::size_t> layers,
                                       std::span<const quantizer::Policy> policies, const RunOptions& options);

/// Whether calibration=self can be used on this dump: one head dimension in all layers, and keys and queries left to
/// learn from once the first 16 tokens are skipped.
bool learns_from_itself(const Dump& dump);

/// E|x - x_hat|^2 / |x|^2 over the method's own randomness where a theorem gives it for every x, otherwise nothing:
/// turbo-mse under a Haar rotation, d C(f_d, b) with C(f_d, b) the distortion of its codebook.
std::optional<double> expected_distortion(const quantizer::VectorQuantizer& quantizer);

}  // namespace orthant::kv
