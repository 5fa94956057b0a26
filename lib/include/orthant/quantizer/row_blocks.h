#pragma once

#include <memory>

#include "orthant/quantizer/block_codec.h"
#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// A quantizer of single vectors as a codec of blocks of one token.
class RowBlocks final : public BlockCodec {
 public:
  /// shared_bytes: parameters outside the rows (a scale of the whole head).
  explicit RowBlocks(std::unique_ptr<VectorQuantizer> rows, std::size_t shared_bytes = 0);

  std::size_t dim() const override { return rows_->dim(); }
  std::size_t tokens_per_block() const override { return 1; }
  std::size_t max_block_bytes() const override { return rows_->bytes_per_vector(); }
  std::size_t metadata_bytes(std::size_t) const override { return rows_->metadata_bytes(); }
  std::size_t shared_bytes() const override { return shared_bytes_; }
  std::size_t workspace_bytes() const override { return rows_->workspace_bytes(1); }
  std::size_t encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const override;
  void decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const override;

  const VectorQuantizer& rows() const { return *rows_; }

 private:
  std::unique_ptr<VectorQuantizer> rows_;
  std::size_t shared_bytes_;
};

}  // namespace orthant::quantizer
