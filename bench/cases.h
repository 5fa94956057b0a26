#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>

#include "orthant/cache/key_cache.h"
#include "orthant/cache/row_format.h"
#include "orthant/cache/value_cache.h"
#include "orthant/core/matrix_view.h"

namespace orthant::bench {

/// "b1" to "b8": that many bits and uneven levels; "int8": even ones; "q8_0", "fp8", "bf16".
struct Shape {
  std::string format;
  std::size_t d;
  std::size_t rows;
};

inline constexpr std::size_t kCached = 4096;                        ///< rows that stay in the second-level cache
inline constexpr std::size_t kFromMemory = std::size_t{1} << 20;    ///< rows that do not
inline constexpr std::size_t kBeyondCaches = std::size_t{1} << 22;  ///< rows that fit no cache, at one bit either

cache::RowFormat make_format(const Shape& shape);

/// Random rows. A block of 4096 is appended again and again: time and traffic do not depend on the codes.
cache::KeyCache make_keys(const Shape& shape, const cache::CacheOptions& options);
cache::ValueCache make_values(const Shape& shape, const cache::CacheOptions& options);

/// Standard normal entries, the same for the same size.
Matrix<float> normal_rows(std::size_t count, std::size_t d);

/// Counters of a benchmark that went through `rows` rows and `bytes` bytes an iteration: ns_per_key, GB/s, items/s.
void report(benchmark::State& state, std::size_t rows, std::size_t bytes);

/// "what/target/format/d128/n4096/q1".
std::string name(const std::string& what, const std::string& target, const Shape& shape, std::size_t queries);

}  // namespace orthant::bench
