#pragma once

#include <cstddef>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/level_grid.h"
#include "orthant/cache/row_format.h"
#include "orthant/cache/tile_layout.h"

namespace orthant::cache {

struct SectionPart {
  kernels::Section section;
  std::size_t first = 0;  ///< its first coordinate
  float middle = 0;       ///< centre of the range of levels
  std::size_t scale = 0;  ///< index of its scale
};

/// The sections of a row format as the kernels of one target see them. Immutable; sections point into it.
class SectionPlan {
 public:
  /// query_bits: 8, 16, or 0 for the choice by width.
  SectionPlan(const RowFormat& format, const TileLayout& layout, const kernels::KernelTable& table, bool exact,
              int query_bits);
  SectionPlan(const SectionPlan&) = delete;
  SectionPlan& operator=(const SectionPlan&) = delete;

  /// In coordinate order; one of width 0 has no rows.
  const std::vector<SectionPart>& parts() const { return parts_; }
  const kernels::KernelTable& table() const { return *table_; }
  bool exact() const { return exact_; }

  /// Queries to score together when `left` are left: the largest batch that every section has a kernel for.
  std::size_t batch(std::size_t left) const;
  /// Bytes of all sections' prepared queries for a batch.
  std::size_t query_bytes(std::size_t batch) const;

 private:
  const kernels::KernelTable* table_;
  bool exact_;
  std::vector<kernels::LevelGrid> grids_;
  std::vector<std::vector<float>> levels_;
  std::vector<SectionPart> parts_;
};

}  // namespace orthant::cache
