#pragma once

#include "orthant/quantizer/row_codec.h"
#include "orthant/quantizer/uniform_grid.h"

namespace orthant::quantizer {

/// Uniform groups per token: each vector is cut into dim / group runs of channels, each with its own UniformGrid.
/// Packed row: the metadata of every group, then dim codes of `bits` bits as one bit string.
///   bytes = (dim / group) * metadata_bytes + ceil(dim * bits / 8)
/// A group that the metadata format cannot hold (a minimum of -70144 in f16) throws InvalidArgument.
class UniformRows final : public RowCodec {
 public:
  /// Throws InvalidArgument unless group divides dim.
  UniformRows(UniformGrid grid, std::size_t group, std::size_t dim);
  std::string describe() const override;
  std::size_t metadata_bytes() const override { return dim() / group_ * grid_.metadata_bytes(); }

 protected:
  std::size_t row_workspace_bytes() const override { return Workspace::bytes_for<std::uint8_t>(dim()); }
  void check_row(std::span<const float> x, std::size_t row) const override;
  void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const override;
  void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const override;

 private:
  UniformGrid grid_;
  std::size_t group_;
};

}  // namespace orthant::quantizer
