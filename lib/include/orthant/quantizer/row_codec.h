#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// Base of the quantizers whose estimate of <q, x> is <q, decode(code of x)>: float formats, block formats, uniform
/// groups. A derived class codes one row; shapes, refused values and the estimate are dealt with here, once.
///   estimate = sum_j q_j x_hat_j, products and sum in double, rounded once to float.
class RowCodec : public VectorQuantizer {
 public:
  std::size_t dim() const final { return dim_; }
  std::size_t bytes_per_vector() const final { return bytes_; }
  std::size_t workspace_bytes(std::size_t rows) const final;

  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const final;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const final;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const final;

 protected:
  /// Throws InvalidArgument for dim = 0.
  RowCodec(std::size_t dim, std::size_t bytes);

  /// Scratch that one encode_row or decode_row takes from the workspace.
  virtual std::size_t row_workspace_bytes() const { return 0; }
  /// Throws InvalidArgument naming row and column when x cannot be coded. Called for every row before any is coded.
  /// Here: a coordinate that is not finite.
  virtual void check_row(std::span<const float> x, std::size_t row) const;
  virtual void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const = 0;
  virtual void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const = 0;

 private:
  std::size_t dim_;
  std::size_t bytes_;
};

}  // namespace orthant::quantizer
