#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::quantizer {

/// Codes runs of tokens_per_block() consecutive tokens of one head together: what a token stream is made of.
/// One token a block is a quantizer of single vectors; per-channel groups need more. Immutable: calls may run
/// concurrently, each thread with its own Workspace of at least workspace_bytes() bytes. No call allocates.
class BlockCodec {
 public:
  virtual ~BlockCodec() = default;

  virtual std::size_t dim() const = 0;
  virtual std::size_t tokens_per_block() const = 0;
  /// Bytes of the largest coded block; of every one when fixed_size().
  virtual std::size_t max_block_bytes() const = 0;
  virtual bool fixed_size() const { return true; }
  /// Of a block of `bytes` bytes, those that are not codes: scales, minima, norms, outliers and their places.
  virtual std::size_t metadata_bytes(std::size_t bytes) const = 0;
  /// Parameters that all blocks share and a decoder must have: levels, thresholds, a given scale.
  virtual std::size_t shared_bytes() const { return 0; }
  virtual std::size_t workspace_bytes() const = 0;

  /// x: (tokens_per_block, dim), finite; out: max_block_bytes() bytes. Returns the number of bytes written, from the
  /// front. Throws InvalidArgument, as VectorQuantizer::encode, for values that cannot be coded.
  virtual std::size_t encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const = 0;
  /// block: the bytes that encode wrote; x_hat: (tokens_per_block, dim).
  virtual void decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const = 0;
};

}  // namespace orthant::quantizer
