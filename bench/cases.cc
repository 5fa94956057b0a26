#include "cases.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "orthant/core/rng.h"

namespace orthant::bench {
namespace {

/// Any uneven levels cost the same; these have the spread of an optimal Gaussian quantizer.
std::vector<float> gaussian_levels(int bits) {
  const std::size_t n = std::size_t{1} << bits;
  std::vector<float> levels(n);
  for (std::size_t k = 0; k < n; ++k) {
    const double u = (2 * static_cast<double>(k) + 1) / static_cast<double>(n) - 1;
    levels[k] = static_cast<float>(1.4 * u + 1.3 * u * u * u);
  }
  return levels;
}

template <class Cache>
void fill(Cache& cache, std::size_t rows) {
  const cache::RowFormat& format = cache.format();
  const std::size_t d = format.dim();
  const std::size_t block = std::min<std::size_t>(rows, 4096);
  // Large pages for small caches too: of small ones those that the system happens to give compete for places in cache.
  cache.reserve(std::max(rows, std::size_t{1} << 17));
  RngStream random(1, Domain::kData, d);
  const Matrix<float> values = normal_rows(block, d);
  Matrix<std::uint8_t> codes(block, d);
  Matrix<float> scales(block, format.scales());
  const Matrix<float> offsets(format.has_offsets() ? block : 0, format.scales());
  for (std::size_t i = 0; i < block && !format.is_bfloat16(); ++i) {
    for (const cache::RowFormat::Section& section : format.sections()) {
      for (std::size_t j = section.first; j < section.first + section.dims; ++j) {
        codes(i, j) = static_cast<std::uint8_t>(random.below(std::uint64_t{1} << section.bits));
      }
    }
    for (float& s : scales.row(i)) s = static_cast<float>(0.5 + random.uniform());
  }
  for (std::size_t n = 0; n < rows; n += block) {
    if (format.is_bfloat16()) {
      cache.append(values.view());
    } else {
      cache.append(codes.view(), scales.view(), offsets.view());
    }
  }
}

}  // namespace

cache::RowFormat make_format(const Shape& shape) {
  if (shape.format == "bf16") return cache::RowFormat::bfloat16(shape.d);
  if (shape.format == "int8") return cache::RowFormat::uniform(shape.d, 8, shape.d);
  if (shape.format == "q8_0") return cache::RowFormat::q8_0(shape.d);
  if (shape.format == "fp8") return cache::RowFormat::fp8_e4m3(shape.d);
  const int bits = std::stoi(shape.format.substr(1));
  return cache::RowFormat::codebook(shape.d, bits, gaussian_levels(bits));
}

cache::KeyCache make_keys(const Shape& shape, const cache::CacheOptions& options) {
  cache::KeyCache keys(make_format(shape), options);
  fill(keys, shape.rows);
  return keys;
}

cache::ValueCache make_values(const Shape& shape, const cache::CacheOptions& options) {
  cache::ValueCache values(make_format(shape), options);
  fill(values, shape.rows);
  return values;
}

Matrix<float> normal_rows(std::size_t count, std::size_t d) {
  Matrix<float> rows(count, d);
  RngStream random(2, Domain::kData, d);
  for (std::size_t i = 0; i < count; ++i) random.fill_normal(rows.row(i));
  return rows;
}

void report(benchmark::State& state, std::size_t rows, std::size_t bytes) {
  const auto iterations = static_cast<double>(state.iterations());
  const double rows_done = iterations * static_cast<double>(rows);
  state.SetItemsProcessed(static_cast<std::int64_t>(rows_done));
  state.counters["ns_per_key"] =
      benchmark::Counter(rows_done * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["GB/s"] =
      benchmark::Counter(iterations * static_cast<double>(bytes) * 1e-9, benchmark::Counter::kIsRate);
}

std::string name(const std::string& what, const std::string& target, const Shape& shape, std::size_t queries) {
  return what + '/' + target + '/' + shape.format + "/d" + std::to_string(shape.d) + "/n" + std::to_string(shape.rows) +
         "/q" + std::to_string(queries);
}

}  // namespace orthant::bench
