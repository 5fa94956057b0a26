#pragma once

#include <memory>

#include "orthant/quantizer/wrapped_quantizer.h"
#include "orthant/transform/transform.h"

namespace orthant::quantizer {

/// Any quantizer behind a linear map:  encode(A x),  x_hat = A^-1 decode,  estimate(A^-T q).
/// With a rotation this is what llama.cpp does before q4_0 and what rotated int4 caches do.
class TransformedQuantizer final : public WrappedQuantizer {
 public:
  /// Throws InvalidArgument unless both have the same dimension.
  TransformedQuantizer(std::shared_ptr<const transform::Transform> map, std::unique_ptr<VectorQuantizer> inner);

  std::string describe() const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

 protected:
  void enter(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void leave(MatrixView<float> x_hat, Workspace& work) const override;
  std::size_t change_bytes(std::size_t rows) const override { return map_->workspace_bytes(rows); }

 private:
  std::shared_ptr<const transform::Transform> map_;
};

}  // namespace orthant::quantizer
