#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// Any quantizer behind a mean:  encode(x - mean),  x_hat = decode + mean,  estimate + <q, mean>.
/// Bytes are those of the inner quantizer: the mean belongs to the head, not to the vector.
/// A row within rounding of the mean, |x - mean| <= 2^-20 |x|, is coded as the mean itself: keys that are constant up
/// to rounding decode to their constant. This replaces the contract's "zero vector exactly".
class Centred final : public VectorQuantizer {
 public:
  /// mean: (d). Throws InvalidArgument unless the dimensions agree and the mean is finite.
  Centred(std::vector<float> mean, std::unique_ptr<VectorQuantizer> inner);

  std::size_t dim() const override { return inner_->dim(); }
  std::size_t bytes_per_vector() const override { return inner_->bytes_per_vector(); }
  std::size_t metadata_bytes() const override { return inner_->metadata_bytes(); }
  /// "<inner>,centre=mean".
  std::string describe() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const override;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

 private:
  std::vector<float> mean_;
  std::unique_ptr<VectorQuantizer> inner_;
};

}  // namespace orthant::quantizer
