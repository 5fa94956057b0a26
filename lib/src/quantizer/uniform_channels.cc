#include "orthant/quantizer/uniform_channels.h"

#include <algorithm>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {

UniformChannels::UniformChannels(UniformGrid grid, std::size_t group, std::size_t dim)
    : grid_(grid), group_(group), dim_(dim) {
  if (group == 0 || dim == 0) throw_invalid_argument("uniform", "group and dimension", "0", "1 or more");
}

std::size_t UniformChannels::max_block_bytes() const {
  return metadata_bytes(0) + packed_bytes(dim_ * group_, grid_.bits());
}

std::size_t UniformChannels::encode(MatrixView<const float> x, std::span<std::uint8_t> out, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim_ * group_);
  for (std::size_t c = 0; c < dim_; ++c) {
    float low = x(0, c);
    float high = low;
    for (std::size_t t = 1; t < group_; ++t) {
      low = std::min(low, x(t, c));
      high = std::max(high, x(t, c));
    }
    const UniformGrid::Group group = grid_.fit(low, high);
    if (!UniformGrid::finite(group)) {
      refuse_value(0, c, -low > high ? low : high,
                   "a channel whose minimum and step fit " + std::string(meta_name(grid_.meta())) +
                       "; a wider format is meta=bf16 or meta=f32");
    }
    grid_.store(group, out.data() + c * grid_.metadata_bytes());
    for (std::size_t t = 0; t < group_; ++t) codes[c * group_ + t] = grid_.code(group, x(t, c));
  }
  pack_codes(codes, grid_.bits(), out.subspan(metadata_bytes(0)));
  return out.size();
}

void UniformChannels::decode(std::span<const std::uint8_t> block, MatrixView<float> x_hat, Workspace& work) const {
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim_ * group_);
  unpack_codes(block.subspan(metadata_bytes(0)), grid_.bits(), codes);
  for (std::size_t c = 0; c < dim_; ++c) {
    const UniformGrid::Group group = grid_.load(block.data() + c * grid_.metadata_bytes());
    for (std::size_t t = 0; t < group_; ++t) x_hat(t, c) = grid_.value(group, codes[c * group_ + t]);
  }
}

}  // namespace orthant::quantizer
