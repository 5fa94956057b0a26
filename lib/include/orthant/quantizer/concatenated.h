#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// Consecutive coordinates, each part by its own quantizer: width, rotation, codebook and norm of its own dimension.
/// A part without a quantizer stores nothing and decodes to zeros. Packed: the parts' bytes one after the other.
///   decode: the parts side by side      estimate: the sum of the parts' estimates
class Concatenated final : public VectorQuantizer {
 public:
  struct Part {
    std::size_t dim = 0;
    std::shared_ptr<const VectorQuantizer> quantizer;  ///< null: zeros
  };

  /// Throws InvalidArgument when there is no part, one has no dimension, or a quantizer has another one.
  explicit Concatenated(std::vector<Part> parts);

  std::size_t dim() const override { return dim_; }
  std::size_t bytes_per_vector() const override { return bytes_; }
  std::size_t metadata_bytes() const override;
  /// "64*turbo-mse:5+128*turbo-mse:2+64*0": dimensions and parts.
  std::string describe() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const override;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const override;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const override;

 private:
  std::vector<Part> parts_;
  std::size_t dim_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace orthant::quantizer
