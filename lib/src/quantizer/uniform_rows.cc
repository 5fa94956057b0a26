#include "orthant/quantizer/uniform_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

std::size_t row_bytes(const UniformGrid& grid, std::size_t group, std::size_t dim) {
  if (group == 0 || dim % group != 0) {
    throw_invalid_argument("uniform", "group", std::to_string(group),
                           "a divisor of the dimension, " + std::to_string(dim));
  }
  return dim / group * grid.metadata_bytes() + packed_bytes(dim, grid.bits());
}

UniformGrid::Group fit_run(const UniformGrid& grid, std::span<const float> run) {
  const auto [low, high] = std::minmax_element(run.begin(), run.end());
  return grid.fit(*low, *high);
}

}  // namespace

UniformRows::UniformRows(UniformGrid grid, std::size_t group, std::size_t dim)
    : RowCodec(dim, row_bytes(grid, group, dim)), grid_(grid), group_(group) {}

std::string UniformRows::describe() const {
  std::string text = "uniform:" + std::to_string(grid_.bits());
  if (group_ != 64) text += ",group=" + std::to_string(group_);
  if (grid_.symmetric()) text += ",sym=1";
  if (grid_.meta() != MetaType::kF16) text.append(",meta=").append(meta_name(grid_.meta()));
  return text;
}

void UniformRows::check_row(std::span<const float> x, std::size_t row) const {
  check_finite(x, row);
  for (std::size_t first = 0; first < dim(); first += group_) {
    const std::span<const float> run = x.subspan(first, group_);
    if (UniformGrid::finite(fit_run(grid_, run))) continue;
    const auto peak =
        std::max_element(run.begin(), run.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    refuse_value(row, first + static_cast<std::size_t>(peak - run.begin()), *peak,
                 "a group whose minimum and step fit " + std::string(meta_name(grid_.meta())) +
                     "; a wider format is meta=bf16 or meta=f32");
  }
}

void UniformRows::encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const {
  const std::size_t groups = dim() / group_;
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  for (std::size_t g = 0; g < groups; ++g) {
    const UniformGrid::Group group = fit_run(grid_, x.subspan(g * group_, group_));
    grid_.store(group, packed.data() + g * grid_.metadata_bytes());
    for (std::size_t j = g * group_; j < (g + 1) * group_; ++j) codes[j] = grid_.code(group, x[j]);
  }
  pack_codes(codes, grid_.bits(), packed.subspan(groups * grid_.metadata_bytes()));
}

void UniformRows::decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const {
  const std::size_t groups = dim() / group_;
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  unpack_codes(packed.subspan(groups * grid_.metadata_bytes()), grid_.bits(), codes);
  for (std::size_t g = 0; g < groups; ++g) {
    const UniformGrid::Group group = grid_.load(packed.data() + g * grid_.metadata_bytes());
    for (std::size_t j = g * group_; j < (g + 1) * group_; ++j) x_hat[j] = grid_.value(group, codes[j]);
  }
}

}  // namespace orthant::quantizer
