#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "orthant/quantizer/scale.h"
#include "orthant/quantizer/vector_quantizer.h"
#include "orthant/transform/transform.h"

namespace orthant::quantizer {

/// Base of the quantizers that code a direction after a map A: y = A x / |A x| and the length |A x|. A derived class
/// codes one direction; what is common is done here, once:
///   - shapes; rows with a NaN or an infinity and lengths that the format cannot hold are refused before anything is
///     written (InvalidArgument naming row and column);
///   - lengths and divisions in double: no finite x overflows or underflows, and codes of x and 2^k x are the same;
///   - the zero vector: all bytes zero, decoded to zeros;
///   - rows in blocks, so that the map runs at speed and the workspace stays bounded.
/// For an orthogonal A the length is |x|.
class RotatedQuantizer : public VectorQuantizer {
 public:
  std::size_t dim() const final { return rotation_->dim(); }
  std::size_t bytes_per_vector() const final { return header_bytes_ + code_bytes_; }
  std::size_t metadata_bytes() const final { return header_bytes_; }
  std::size_t workspace_bytes(std::size_t rows) const final;

  void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const final;
  void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const final;
  void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                Workspace& work) const final;

  const transform::Transform& rotation() const { return *rotation_; }
  /// How lengths and scales are kept.
  ScaleFormat format() const { return format_; }

 protected:
  /// Of one packed vector: the bytes of its numbers, then those of its codes.
  RotatedQuantizer(std::shared_ptr<const transform::Transform> rotation, std::size_t header_bytes,
                   std::size_t code_bytes, ScaleFormat format);

  /// y: (d), |y| = 1; length > 0; row: for messages.
  virtual void encode_direction(std::span<const float> y, double length, std::size_t row,
                                std::span<std::uint8_t> packed, Workspace& work) const = 0;
  /// Fills y_hat: (d) and returns the factor s: x_hat = s A^-1 y_hat. All-zero bytes must give s = 0 or y_hat = 0.
  virtual float decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat,
                                 Workspace& work) const = 0;
  /// p = A^-T q: (d).
  virtual void estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed,
                             std::span<float> estimates, Workspace& work) const = 0;
  /// What one call of the three above takes from the workspace.
  virtual std::size_t scratch_bytes() const = 0;

  /// Calls code(y, length, row) for the direction of every row, length 0 (and y = 0) for a zero row.
  template <class Code>
  void for_each_direction(MatrixView<const float> x, Workspace& work, Code code) const;
  void check_rows(MatrixView<const float> x) const;

 private:
  static constexpr std::size_t kBlockRows = 64;
  /// Directions of at most kBlockRows rows.
  void directions(MatrixView<const float> x, MatrixView<float> y, std::span<double> lengths, Workspace& work) const;

  std::shared_ptr<const transform::Transform> rotation_;
  std::size_t header_bytes_;
  std::size_t code_bytes_;
  ScaleFormat format_;
};

template <class Code>
void RotatedQuantizer::for_each_direction(MatrixView<const float> x, Workspace& work, Code code) const {
  const Workspace::Scope scope(work);
  const std::size_t block = x.rows() < kBlockRows ? x.rows() : kBlockRows;
  const MatrixView<float> y(work.take<float>(block * dim()).data(), block, dim());
  const std::span<double> lengths = work.take<double>(block);
  for (std::size_t first = 0; first < x.rows(); first += block) {
    const std::size_t count = x.rows() - first < block ? x.rows() - first : block;
    directions(x.middle_rows(first, count), y.middle_rows(0, count), lengths.first(count), work);
    for (std::size_t i = 0; i < count; ++i) code(std::span<const float>(y.row(i)), lengths[i], first + i);
  }
}

}  // namespace orthant::quantizer
