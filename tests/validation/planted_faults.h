#pragma once

#include <memory>
#include <string>
#include <utility>

#include "orthant/validation/claims.h"

namespace orthant::validation {

/// A quantizer whose errors are multiplied: x_hat = x + decoding (own x_hat - x), estimate = slope (<q, x> + estimates
/// (own estimate - <q, x>)). The packed bytes hold the vector itself behind the code, so that the truth is known.
class Faulty final : public quantizer::VectorQuantizer {
 public:
  Faulty(std::unique_ptr<quantizer::VectorQuantizer> own, double decoding, double estimates, double slope)
      : own_(std::move(own)), decoding_(decoding), estimates_(estimates), slope_(slope) {}

  std::size_t dim() const override { return own_->dim(); }
  std::size_t bytes_per_vector() const override { return own_->bytes_per_vector() + 4 * dim(); }
  std::size_t metadata_bytes() const override { return own_->metadata_bytes(); }
  std::string describe() const override { return own_->describe(); }
  std::size_t workspace_bytes(std::size_t rows) const override { return own_->workspace_bytes(rows); }
  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const override;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

 private:
  std::unique_ptr<quantizer::VectorQuantizer> own_;
  double decoding_;
  double estimates_;
  double slope_;
};

/// What is wrong, and with which methods: those whose string begins with `methods`.
struct Fault {
  std::string methods = {};
  double decoding = 1;
  double estimates = 1;
  double slope = 1;
  std::string replace = {};   ///< another method instead
  std::string rotation = {};  ///< of the claims about a rotation itself
  double levels = 1;          ///< factor on the levels of the claims about a codebook itself
};

/// The shipped quantizers with one fault.
ClaimOptions with_fault(ClaimOptions options, const Fault& fault);

/// The fault that turns the verdict of a claim, given what the claim says of the quantizers that ship. Throws Error for
/// a claim that has none: a new claim needs a line in planted_faults.cc.
Fault fault_for(const Claim& claim, Verdict shipped, std::int64_t dim);

}  // namespace orthant::validation
