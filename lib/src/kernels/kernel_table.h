#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/scoring.h"

namespace orthant::kernels {

/// Scores of a batch of prepared queries against one section of a run of tiles. Reads the rows and scales of the run
/// and nothing beyond; writes 64 floats for each tile and query.
using ScoreFn = void(const Section& section, const std::byte* prepared, const TileRun& run);

/// What one instruction set offers. Every table does the same work; tables of one Arithmetic give the same bits.
struct KernelTable {
  std::string_view name;
  Arithmetic arithmetic;
  bool (*supported)();
  /// Fills query_bytes(section, arithmetic, exact, queries.count) bytes, 64-byte aligned. Queries must be finite.
  void (*prepare)(const Section& section, const QueryRows& queries, bool exact, std::byte* prepared);
  /// The kernel for batches of `queries` queries: 1 or 4 always, 8 for some sections, else nullptr.
  ScoreFn* (*find_scorer)(const Section& section, bool exact, std::size_t queries);
};

/// Portable kernels that compute what targets of an arithmetic compute, bit for bit: the reference of their tests.
const KernelTable& reference_table(Arithmetic arithmetic);

/// All targets compiled into this library, the portable one first, then from the narrowest to the widest.
std::span<const KernelTable* const> compiled_tables();

/// The table of that name. Throws InvalidArgument when there is no such target, or this CPU cannot run it.
const KernelTable& table_named(std::string_view name);

/// The widest target this CPU runs, or the one that the environment variable ORTHANT_TARGET names; chosen at the first
/// call. Throws InvalidArgument (at every call) when that name is not usable.
const KernelTable& chosen_table();

}  // namespace orthant::kernels
