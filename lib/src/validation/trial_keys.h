#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "orthant/core/rng.h"
#include "orthant/validation/claims.h"

namespace orthant::validation {

/// The key of a trial about random pairs (x, q): a uniform unit vector, or a row of the user's tensor.
inline void draw_key(const ClaimOptions& options, RngStream& rng, std::span<float> x) {
  if (options.keys == nullptr) {
    rng.fill_unit_vector(x);
    return;
  }
  const auto row = options.keys->view().row(static_cast<std::size_t>(rng.below(options.keys->rows())));
  std::copy(row.begin(), row.end(), x.begin());
}

/// The quantizer of trial t, for claims made for every pair (x, q) under a Haar rotation R.
///
/// For every fixed pair, (R x, R q) is uniform among the pairs of its cosine. So is (A x, A q) when the pair itself is
/// uniform, for ANY orthogonal A, fixed or random, that does not depend on it. With uniform keys the rotation need not
/// be drawn afresh, and the trials are independent all the same: one Haar rotation serves them all. A sketch of the
/// residual is another matter (a residual is not uniform): it is fresh in every trial, behind a cheap rotation.
/// A user's rows are not uniform: rotations are then fresh.
class TrialSubject {
 public:
  enum class Maps {
    kRotation,  ///< the method has no random map but its rotation
    kSketch,    ///< it has a sketch too
  };
  /// method: without its rotation.
  TrialSubject(const ClaimOptions& options, const std::string& method, Maps maps)
      : maker_(options.subject),
        dim_(static_cast<std::size_t>(options.dim)),
        seed_(options.seed),
        shared_(options.keys == nullptr && maps == Maps::kRotation ? std::make_shared<Shared>() : nullptr) {
    const bool cheap = options.keys == nullptr && maps == Maps::kSketch && options.rotation == "haar";
    method_ = method + ",rotation=" + (cheap ? "hadamard:3" : options.rotation);
  }

  std::shared_ptr<const quantizer::VectorQuantizer> operator()(std::uint64_t trial) const {
    if (shared_ == nullptr) return maker_(method_, dim_, seed_, trial);
    std::call_once(shared_->once, [&] { shared_->quantizer = maker_(method_, dim_, seed_, 0); });
    return shared_->quantizer;
  }

 private:
  struct Shared {
    std::once_flag once;
    std::shared_ptr<const quantizer::VectorQuantizer> quantizer;
  };
  SubjectMaker maker_;
  std::string method_;
  std::size_t dim_;
  std::uint64_t seed_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace orthant::validation
