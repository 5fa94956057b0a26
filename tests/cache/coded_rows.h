#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "orthant/cache/key_cache.h"
#include "orthant/cache/row_format.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/rng.h"

namespace orthant::cache {

/// Random codes, scales and offsets for a format, and queries; the same for the same arguments.
struct CodedRows {
  Matrix<std::uint8_t> codes;
  Matrix<float> scales;
  Matrix<float> offsets;
  Matrix<float> values;  ///< for bfloat16 formats instead of codes
};

inline CodedRows random_rows(const RowFormat& format, std::size_t n, std::uint64_t seed) {
  CodedRows rows{{n, format.dim()}, {n, format.scales()}, {format.has_offsets() ? n : 0, format.scales()}, {}};
  RngStream random(seed, Domain::kData, n);
  if (format.is_bfloat16()) {
    rows.values = Matrix<float>(n, format.dim());
    for (std::size_t i = 0; i < n; ++i) random.fill_normal(rows.values.row(i));
    return rows;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (const RowFormat::Section& section : format.sections()) {
      for (std::size_t j = section.first; j < section.first + section.dims; ++j) {
        rows.codes(i, j) = static_cast<std::uint8_t>(random.below(std::uint64_t{1} << section.bits));
      }
    }
    for (float& scale : rows.scales.row(i)) scale = static_cast<float>(0.25 + random.uniform());
    if (format.has_offsets()) {
      for (float& offset : rows.offsets.row(i)) offset = static_cast<float>(random.normal());
    }
  }
  return rows;
}

inline void append_rows(KeyCache& cache, const CodedRows& rows) {
  if (cache.format().is_bfloat16()) {
    cache.append(rows.values.view());
  } else {
    cache.append(rows.codes.view(), rows.scales.view(),
                 cache.format().has_offsets() ? rows.offsets.view() : MatrixView<const float>());
  }
}

inline Matrix<float> random_queries(std::size_t count, std::size_t d, std::uint64_t seed) {
  Matrix<float> queries(count, d);
  for (std::size_t h = 0; h < count; ++h) {
    RngStream random(seed, Domain::kData, 1000000 + h);
    random.fill_normal(queries.row(h));
  }
  return queries;
}

/// Levels of an optimal quantizer's shape: the quantiles of a Gaussian, roughly, not evenly spaced.
inline std::vector<float> curved_levels(int bits) {
  const std::size_t n = std::size_t{1} << bits;
  std::vector<float> levels(n);
  for (std::size_t k = 0; k < n; ++k) {
    const double u = (2 * static_cast<double>(k) + 1) / static_cast<double>(n) - 1;
    levels[k] = static_cast<float>(u + 1.5 * u * u * u);
  }
  return levels;
}

}  // namespace orthant::cache
