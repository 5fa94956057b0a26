#pragma once

#include <memory>

#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// Base of the quantizers that change a vector, let another quantizer code it, and change it back when it is decoded:
///   encode: inner(enter(x))        decode: leave(inner(packed))        bytes: the inner quantizer's, nothing beside
/// Shapes and rows that are not finite are refused here, by row and column of x; what only the inner quantizer refuses
/// is named by its row and its place after the change.
class WrappedQuantizer : public VectorQuantizer {
 public:
  std::size_t dim() const final { return inner_->dim(); }
  std::size_t bytes_per_vector() const final { return inner_->bytes_per_vector(); }
  std::size_t metadata_bytes() const final { return inner_->metadata_bytes(); }
  std::size_t workspace_bytes(std::size_t rows) const final;
  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const final;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const final;

 protected:
  explicit WrappedQuantizer(std::unique_ptr<VectorQuantizer> inner);
  const VectorQuantizer& inner() const { return *inner_; }

  /// x: (n, d), finite -> y: (n, d), other memory.
  virtual void enter(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const = 0;
  /// x_hat: (n, d), in place.
  virtual void leave(MatrixView<float> x_hat, Workspace& work) const = 0;
  /// What enter, leave and estimate take from the workspace for `rows` vectors, without the inner quantizer's share.
  virtual std::size_t change_bytes(std::size_t rows) const = 0;

 private:
  std::unique_ptr<VectorQuantizer> inner_;
};

}  // namespace orthant::quantizer
