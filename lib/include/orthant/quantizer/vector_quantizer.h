#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::quantizer {

/// The one contract of every quantizer that codes vectors one by one.
/// Immutable: calls may run concurrently, each thread with its own Workspace of at least workspace_bytes(rows) bytes,
/// rows being the number of vectors of the call. No call allocates; shapes are checked (InvalidArgument) before
/// anything is written. Bits are bytes: everything a vector needs to be decoded lies in its bytes_per_vector() bytes.
///
/// Rows that are not finite: a NaN or infinite coordinate throws InvalidArgument naming row and column, unless a
/// method says otherwise. The zero vector is coded and decoded exactly.
class VectorQuantizer {
 public:
  virtual ~VectorQuantizer() = default;

  virtual std::size_t dim() const = 0;
  /// Bytes of one coded vector: codes, scales, norms and padding together.
  virtual std::size_t bytes_per_vector() const = 0;
  /// Of these, the bytes that are not codes: scales, minima, norms. 0 for formats in which every byte is code.
  virtual std::size_t metadata_bytes() const { return 0; }
  /// The method string; parsing it makes an equal quantizer (given the same dim and seed).
  virtual std::string describe() const = 0;
  virtual std::size_t workspace_bytes(std::size_t rows) const = 0;

  /// x: (n, d) -> packed: (n, bytes_per_vector()).
  virtual void encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const = 0;
  /// packed: (n, bytes_per_vector()) -> x_hat: (n, d).
  virtual void decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const = 0;
  /// estimates[i] = the method's estimate of <query, x_i>, straight from the packed bytes.
  /// query: (d); packed: (n, bytes_per_vector()); estimates: (n).
  virtual void estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                        Workspace& work) const = 0;

  double bits_per_element() const { return 8.0 * static_cast<double>(bytes_per_vector()) / static_cast<double>(dim()); }
};

}  // namespace orthant::quantizer
