#pragma once

#include "orthant/quantizer/block_codec.h"
#include "orthant/quantizer/uniform_grid.h"

namespace orthant::quantizer {

/// Uniform groups per channel: each channel of `group` consecutive tokens has its own UniformGrid (KIVI's keys).
/// Packed block: the metadata of every channel, then the codes, channel after channel, as one bit string.
class UniformChannels final : public BlockCodec {
 public:
  /// Throws InvalidArgument for a group or dimension of 0.
  UniformChannels(UniformGrid grid, std::size_t group, std::size_t dim);

  std::size_t dim() const override { return dim_; }
  std::size_t tokens_per_block() const override { return group_; }
  std::size_t max_block_bytes() const override;
  std::size_t metadata_bytes(std::size_t) const override { return dim_ * grid_.metadata_bytes(); }
  std::size_t workspace_bytes() const override { return Workspace::bytes_for<std::uint8_t>(dim_ * group_); }
  std::size_t encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const override;
  void decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const override;

 private:
  UniformGrid grid_;
  std::size_t group_;
  std::size_t dim_;
};

}  // namespace orthant::quantizer
