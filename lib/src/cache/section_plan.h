#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/level_grid.h"
#include "orthant/cache/cache_options.h"
#include "orthant/cache/row_format.h"
#include "orthant/cache/tile_layout.h"
#include "orthant/cache/value_cache.h"
#include "orthant/core/matrix_view.h"

namespace orthant::cache {

struct SectionPart {
  kernels::Section section;
  std::size_t first = 0;       ///< its first coordinate
  float middle = 0;            ///< centre of the range of levels
  std::size_t scale = 0;       ///< index of its scale
  std::size_t lane_tiles = 0;  ///< in a value tile
};

/// The sections of a row format as the kernels of one target see them. Immutable; sections point into it.
class SectionPlan {
 public:
  /// Throw InvalidArgument on bad options or a target that cannot be used.
  static std::shared_ptr<const SectionPlan> for_keys(const RowFormat& format, const TileLayout& layout,
                                                     const CacheOptions& options);
  /// Tokens are the coordinates of these sections: 64 dims each.
  static std::shared_ptr<const SectionPlan> for_values(const RowFormat& format, const ValueLayout& layout,
                                                       const CacheOptions& options);
  SectionPlan(const SectionPlan&) = delete;
  SectionPlan& operator=(const SectionPlan&) = delete;

  /// In coordinate order; one of width 0 has no rows.
  const std::vector<SectionPart>& parts() const { return parts_; }
  const kernels::KernelTable& table() const { return *table_; }
  bool exact() const { return exact_; }

  /// True for tiles of so many bytes in all that do not stay in the second-level cache.
  static bool streams(std::size_t cache_bytes) { return cache_bytes > std::size_t{3} << 18; }
  /// How far ahead a batch of queries fetches them. Kernels are to need longer for so many bytes than memory for the
  /// first of them: half as many again are fetched where a key has few bytes, twice as many where queries share a
  /// decoded key, but for bfloat16, which memory holds up in any case.
  std::size_t prefetch_distance(std::size_t cache_bytes, std::size_t batch) const;

  /// Queries to take together when `left` are left: the largest batch that every section has a kernel for.
  std::size_t batch(std::size_t left) const;
  /// Bytes of all sections' prepared queries for a batch.
  std::size_t query_bytes(std::size_t batch) const;
  /// Batches of queries that follow each other `rows` apart, in `queries` and `terms` alike.
  struct Batches {
    MatrixView<const float> queries;  ///< (.., d)
    MatrixView<const float> terms;    ///< empty or (.., 1), added to every score
    std::size_t count;                ///< of batches
    std::size_t rows;
    std::size_t batch;  ///< queries in each
    float scale;
  };
  /// prepared: query_bytes(batch) bytes for each batch, 64-byte aligned, `stride` from one to the next.
  void prepare(const Batches& batches, std::byte* prepared, std::size_t stride) const;
  /// Whether prepare_turned serves these sections.
  bool takes_turned() const;
  /// The same bytes for each of several tiles, from queries that are turned, scaled and rotated first.
  void prepare_turned(const kernels::TurnedQueries& queries, std::byte* prepared, std::size_t stride) const;
  /// Scores of all sections together; run.accumulate adds to what is there.
  void score(std::span<const std::byte> prepared, std::size_t batch, const kernels::TileRun& run) const;
  /// Weighted sums of all sections of a value cache: their lanes of totals follow each other, and so do their
  /// constants.
  void sum(std::size_t batch, kernels::ValueRun run) const;

 private:
  SectionPlan(const RowFormat& format, const CacheOptions& options);

  bool has_kernels(std::size_t batch) const;

  const kernels::KernelTable* table_;
  bool exact_;
  std::size_t prefetch_bytes_;
  bool of_values_ = false;
  std::vector<kernels::LevelGrid> grids_;
  std::vector<std::vector<float>> levels_;
  std::vector<SectionPart> parts_;
};

}  // namespace orthant::cache
