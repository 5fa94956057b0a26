#pragma once

#include <memory>

#include "orthant/quantizer/vector_quantizer.h"
#include "orthant/transform/transform.h"

namespace orthant::quantizer {

/// Any quantizer behind a linear map:  encode(A x),  x_hat = A^-1 decode,  estimate(A^-T q).
/// With a rotation this is what llama.cpp does before q4_0 and what rotated int4 caches do. Shapes, refused values and
/// allocation as in VectorQuantizer; values the inner quantizer refuses are named by their place after the map.
class TransformedQuantizer final : public VectorQuantizer {
 public:
  /// Throws InvalidArgument unless both have the same dimension.
  TransformedQuantizer(std::shared_ptr<const transform::Transform> map, std::unique_ptr<VectorQuantizer> inner);

  std::size_t dim() const override { return inner_->dim(); }
  std::size_t bytes_per_vector() const override { return inner_->bytes_per_vector(); }
  std::size_t metadata_bytes() const override { return inner_->metadata_bytes(); }
  std::string describe() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const override;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

 private:
  std::shared_ptr<const transform::Transform> map_;
  std::unique_ptr<VectorQuantizer> inner_;
};

}  // namespace orthant::quantizer
