#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/code_search.h"
#include "kernels/scoring.h"

namespace orthant::kernels {

/// Scores of a batch of prepared queries against one section of a run of tiles. Reads the rows and scales of the run
/// and nothing beyond; writes 64 floats for each tile and query.
using ScoreFn = void(const Section& section, const std::byte* prepared, const TileRun& run);

/// Weighted sums of a batch of queries over one section of a run of value tiles; tiles whose weights are all zero are
/// not read.
using SumFn = void(const Section& section, const ValueRun& run);

/// What one instruction set offers. Every table does the same work; tables of one Arithmetic give the same bits.
struct KernelTable {
  std::string_view name;
  Arithmetic arithmetic;
  bool (*supported)();
  /// Fills query_bytes(section, arithmetic, exact, queries.count) bytes, 64-byte aligned. Queries must be finite.
  void (*prepare)(const Section& section, const QueryRows& queries, bool exact, std::byte* prepared);
  /// The same for several tiles, of queries that are turned, scaled and rotated first: fills the blocks of one tile
  /// after the other, `stride` bytes apart, with their headers' terms. Sections that takes_turned names; the same bits
  /// on every target of an arithmetic.
  void (*prepare_turned)(const Section& section, const TurnedQueries& queries, std::byte* prepared, std::size_t stride);
  /// The kernel for batches of `queries` queries: 1 or 4 always, 8 for some sections, else nullptr.
  ScoreFn* (*find_scorer)(const Section& section, bool exact, std::size_t queries);
  /// The same for weighted sums of values, whose weights have two bytes in fast mode.
  SumFn* (*find_summer)(const Section& section, bool exact, std::size_t queries);
  /// The largest of n >= 1 scores, none of them NaN.
  float (*largest)(const float* scores, std::size_t n);
  /// scores[i] <- exp(x), x the rounded scores[i] - largest <= 0, i < n; returns their sum. Scores may be -infinity,
  /// largest is finite. Relative error of each at most 2^-22; 0 for x <= -87. The same bits on every target.
  float (*exponentials)(float* scores, std::size_t n, float largest);
  /// The bitwise or of all words of `count` rows: reads them and does nothing else.
  unsigned (*read_rows)(const std::byte* rows, std::size_t count);
  /// sum_j x_j^2, relative error at most (n / 16 + 6) 2^-24 as long as nothing overflows or underflows.
  float (*sum_of_squares)(const float* x, std::size_t n);
  /// codes[j] = #{k : thresholds[k] < factor * y[j]}, j < n.
  void (*find_codes)(const CodeSearch& search, const float* y, std::size_t n, float factor, std::uint8_t* codes);
  /// y_r = sum_i x_ri m_i, r < n: row r of x at x + r * x_stride, m_i the rows of the matrix. Chains of fused
  /// multiply-adds in the order of i: the same bits for any n, on every target.
  void (*multiply_rows)(const PanelMatrix& m, const float* x, std::size_t x_stride, std::size_t n, float* y,
                        std::size_t y_stride);
};

/// Portable kernels that compute what targets of an arithmetic compute, bit for bit: the reference of their tests.
const KernelTable& reference_table(Arithmetic arithmetic);

/// All targets compiled into this library, the portable one first, then from the narrowest to the widest.
std::span<const KernelTable* const> compiled_tables();

/// The table of that name. Throws InvalidArgument when there is no such target, or this CPU cannot run it.
const KernelTable& table_named(std::string_view name);

/// The fastest target this CPU runs, or the one that the environment variable ORTHANT_TARGET names; chosen at the first
/// call. Throws InvalidArgument (at every call) when that name is not usable.
const KernelTable& chosen_table();

}  // namespace orthant::kernels
