#include "orthant/quantizer/row_blocks.h"

#include <utility>

namespace orthant::quantizer {

RowBlocks::RowBlocks(std::unique_ptr<VectorQuantizer> rows, std::size_t shared_bytes)
    : rows_(std::move(rows)), shared_bytes_(shared_bytes) {}

std::size_t RowBlocks::encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const {
  rows_->encode(x, {out.data(), 1, out.size()}, work);
  return out.size();
}

void RowBlocks::decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const {
  rows_->decode({block.data(), 1, block.size()}, x_hat, work);
}

}  // namespace orthant::quantizer
