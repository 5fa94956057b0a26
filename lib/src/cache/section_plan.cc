#include "cache/section_plan.h"

#include <algorithm>

namespace orthant::cache {

SectionPlan::SectionPlan(const RowFormat& format, const TileLayout& layout, const kernels::KernelTable& table,
                         bool exact, int query_bits)
    : table_(&table), exact_(exact) {
  const std::size_t count = format.sections().size();
  grids_.reserve(count);
  levels_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RowFormat::Section& from = format.sections()[i];
    SectionPart part{.section = {}, .first = from.first, .middle = 0, .scale = from.scale};
    kernels::Section& section = part.section;
    section.bits = from.bits;
    section.dims = from.dims;
    section.rows = TileLayout::rows(from.bits, from.dims);
    section.offset = layout.section_offset(i);
    section.tile_bytes = layout.tile_bytes();
    if (format.scales() > 0) section.scales = layout.scale_offset(from.scale);
    // Sections that share a scale share its offset too: it is added with the query sum of each.
    if (format.has_offsets()) section.offsets = layout.offset_offset(from.scale);
    if (from.bits != RowFormat::kBfloat16Bits) {
      const auto [low, high] = std::ranges::minmax(from.levels);
      section.half_range = (high - low) / 2;
      part.middle = (high + low) / 2;
      grids_.push_back(kernels::make_level_grid(from.levels, from.bits, table.arithmetic));
      section.grid = &grids_.back();
      std::vector<float>& levels = levels_.emplace_back(256);
      for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = from.levels[k % from.levels.size()];
      section.levels = levels.data();
      section.query_planes = kernels::query_planes_for(from.bits);
      if (query_bits == 16) section.query_planes = 2;
      if (query_bits == 8 && section.grid->direct) section.query_planes = 1;
    }
    parts_.push_back(part);
  }
}

std::size_t SectionPlan::batch(std::size_t left) const {
  for (const std::size_t size : {std::size_t{8}, std::size_t{4}}) {
    if (left < size) continue;
    const bool all = std::ranges::all_of(parts_, [&](const SectionPart& part) {
      return part.section.bits == 0 || table_->find_scorer(part.section, exact_, size) != nullptr;
    });
    if (all) return size;
  }
  return 1;
}

std::size_t SectionPlan::query_bytes(std::size_t batch) const {
  std::size_t bytes = 0;
  for (const SectionPart& part : parts_) {
    bytes += kernels::query_bytes(part.section, table_->arithmetic, exact_, batch);
  }
  return bytes;
}

}  // namespace orthant::cache
