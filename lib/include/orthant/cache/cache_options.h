#pragma once

#include <cstddef>
#include <string>

namespace orthant::cache {

enum class Precision {
  kFast,   ///< integer dot products; the error is bounded in the headers of the caches
  kExact,  ///< float levels and queries, float sums
};

/// How a KeyCache or ValueCache works.
struct CacheOptions {
  Precision precision = Precision::kFast;
  /// Keys in fast mode: bits of a query coordinate, 8, 16, or 0 for the choice by width: 16 at 6 bits and more, where 8
  /// would show beside the code's own error, else 8. At 6 and 7 bits, and at 8 with unevenly spaced levels, always 16.
  /// Values in fast mode: bits of a weight, 16 from 5 bits a code on, else 8 unless 16 is asked for.
  int query_bits = 0;
  /// The first rows and the most recent ones that are also kept in float32 and enter exactly.
  std::size_t first_exact = 0;
  std::size_t last_exact = 0;
  /// Name of the instruction set to use ("scalar", "avx2", ...); empty: the widest this CPU has, or ORTHANT_TARGET.
  std::string target = {};
};

}  // namespace orthant::cache
