#include "cache/section_plan.h"

#include <algorithm>
#include <string>

#include "kernels/cpu_features.h"
#include "orthant/core/error.h"

namespace orthant::cache {

namespace {

const kernels::KernelTable& table_for(const std::string& target) {
  return target.empty() ? kernels::chosen_table() : kernels::table_named(target);
}

// Wider codes of values are finer than weights of one byte.
constexpr int kMaxByteWeightBits = 4;

void require_options(const CacheOptions& options) {
  if (options.query_bits != 0 && options.query_bits != 8 && options.query_bits != 16) {
    throw_invalid_argument("CacheOptions", "query_bits", std::to_string(options.query_bits), "0, 8 or 16");
  }
}

}  // namespace

SectionPlan::SectionPlan(const RowFormat& format, const CacheOptions& options)
    : table_(&table_for(options.target)),
      exact_(options.precision == Precision::kExact),
      prefetch_bytes_(kernels::streaming_prefetch_bytes()) {
  require_options(options);
  grids_.reserve(format.sections().size());  // sections keep pointers into it
  for (const RowFormat::Section& from : format.sections()) {
    SectionPart part{.section = {}, .first = from.first, .middle = 0, .scale = from.scale};
    kernels::Section& section = part.section;
    section.bits = from.bits;
    if (from.bits != RowFormat::kBfloat16Bits) {
      const auto [low, high] = std::ranges::minmax(from.levels);
      section.half_range = (high - low) / 2;
      part.middle = (high + low) / 2;
      section.grid = &grids_.emplace_back(kernels::make_level_grid(from.levels, from.bits, table_->arithmetic));
      std::vector<float>& levels = levels_.emplace_back(256);
      for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = from.levels[k % from.levels.size()];
      section.levels = levels.data();
      section.query_planes = kernels::query_planes_for(from.bits);
      if (options.query_bits == 16) section.query_planes = 2;
      if (options.query_bits == 8 && section.grid->direct) section.query_planes = 1;
    }
    parts_.push_back(part);
  }
}

std::shared_ptr<const SectionPlan> SectionPlan::for_keys(const RowFormat& format, const TileLayout& layout,
                                                         const CacheOptions& options) {
  const std::shared_ptr<SectionPlan> plan(new SectionPlan(format, options));
  for (std::size_t i = 0; i < plan->parts_.size(); ++i) {
    SectionPart& part = plan->parts_[i];
    kernels::Section& section = part.section;
    section.dims = format.sections()[i].dims;
    section.rows = TileLayout::rows(section.bits, section.dims);
    section.offset = layout.section_offset(i);
    section.tile_bytes = layout.tile_bytes();
    if (format.scales() > 0) section.scales = layout.scale_offset(part.scale);
    if (format.has_offsets()) section.offsets = layout.offset_offset(part.scale);
  }
  return plan;
}

std::shared_ptr<const SectionPlan> SectionPlan::for_values(const RowFormat& format, const ValueLayout& layout,
                                                           const CacheOptions& options) {
  const std::shared_ptr<SectionPlan> plan(new SectionPlan(format, options));
  plan->of_values_ = true;
  for (std::size_t i = 0; i < plan->parts_.size(); ++i) {
    SectionPart& part = plan->parts_[i];
    kernels::Section& section = part.section;
    part.lane_tiles = ValueLayout::lane_tiles(format.sections()[i].dims);
    section.dims = TileLayout::kLanes;
    section.rows = TileLayout::rows(section.bits, section.dims);
    section.offset = layout.section_offset(i);
    section.tile_bytes = layout.tile_bytes();
    if (format.scales() > 0) section.scales = layout.scale_offset(part.scale);
    if (format.has_offsets()) section.offsets = layout.offset_offset(part.scale);
    section.query_planes = section.bits <= kMaxByteWeightBits && options.query_bits != 16 ? 1 : 2;
  }
  return plan;
}

bool SectionPlan::has_kernels(std::size_t batch) const {
  return std::ranges::all_of(parts_, [&](const SectionPart& part) {
    if (of_values_) return table_->find_summer(part.section, exact_, batch) != nullptr;
    return table_->find_scorer(part.section, exact_, batch) != nullptr;
  });
}

std::size_t SectionPlan::batch(std::size_t left) const {
  for (const std::size_t size : {std::size_t{8}, std::size_t{4}}) {
    if (left >= size && has_kernels(size)) return size;
  }
  return 1;
}

std::size_t SectionPlan::prefetch_distance(std::size_t cache_bytes, std::size_t batch) const {
  constexpr std::size_t kFewBytes = 24;  // of a key
  if (!streams(cache_bytes)) return 0;
  const kernels::Section& first = parts_.front().section;
  if (!of_values_ && batch > 1 && first.bits != RowFormat::kBfloat16Bits) return 2 * prefetch_bytes_;
  return first.tile_bytes < kFewBytes * kernels::kLanes ? prefetch_bytes_ * 3 / 2 : prefetch_bytes_;
}

std::size_t SectionPlan::query_bytes(std::size_t batch) const {
  std::size_t bytes = 0;
  for (const SectionPart& part : parts_) {
    bytes += kernels::query_bytes(part.section, table_->arithmetic, exact_, batch);
  }
  return bytes;
}

void SectionPlan::prepare(const Batches& batches, std::byte* prepared, std::size_t stride) const {
  std::byte* at = prepared;
  for (const SectionPart& part : parts_) {
    kernels::QueryRows rows{batches.queries.data() + part.first, batches.queries.stride(), batches.batch,
                            batches.scale};
    for (std::size_t i = 0; i < batches.count; ++i, rows.data += batches.rows * rows.stride) {
      table_->prepare(part.section, rows, exact_, at + i * stride);
    }
    if (&part != &parts_.back()) at += kernels::query_bytes(part.section, table_->arithmetic, exact_, batches.batch);
  }
  if (batches.terms.rows() == 0) return;
  // Scores of all sections are added up: the first one's header brings the terms.
  for (std::size_t i = 0; i < batches.count; ++i) {
    auto& header = *reinterpret_cast<kernels::QueryHeader*>(prepared + i * stride);
    for (std::size_t q = 0; q < batches.batch; ++q) header.term[q] = batches.terms(i * batches.rows + q, 0);
  }
}

bool SectionPlan::takes_turned() const {
  return parts_.size() == 1 && !exact_ && kernels::takes_turned(parts_.front().section, table_->arithmetic);
}

void SectionPlan::prepare_turned(const kernels::TurnedQueries& queries, std::byte* prepared, std::size_t stride) const {
  table_->prepare_turned(parts_.front().section, queries, prepared, stride);
}

void SectionPlan::score(std::span<const std::byte> prepared, std::size_t batch, const kernels::TileRun& run) const {
  const auto score_part = [&](const SectionPart& part, const std::byte* at, const kernels::TileRun& of_part) {
    table_->find_scorer(part.section, exact_, batch)(part.section, at, of_part);
  };
  score_part(parts_.front(), prepared.data(), run);
  if (parts_.size() == 1) return;
  kernels::TileRun others = run;
  others.accumulate = true;
  const std::byte* at = prepared.data();
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    at += kernels::query_bytes(parts_[i - 1].section, table_->arithmetic, exact_, batch);
    score_part(parts_[i], at, others);
  }
}

void SectionPlan::sum(std::size_t batch, kernels::ValueRun run) const {
  for (const SectionPart& part : parts_) {
    run.lane_tiles = part.lane_tiles;
    table_->find_summer(part.section, exact_, batch)(part.section, run);
    run.totals += part.lane_tiles * TileLayout::kLanes;
    run.constants += batch * kernels::kConstantChains;
  }
}

}  // namespace orthant::cache
