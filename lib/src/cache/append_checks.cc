#include "cache/append_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::cache {
namespace {

std::string at(std::string_view what, std::size_t row, std::ptrdiff_t column) {
  return std::string(what) + " in row " + std::to_string(row) + ", column " + std::to_string(column);
}

void require_halves(std::string_view where, std::string_view what, const MatrixView<const float>& values) {
  for (std::size_t i = 0; i < values.rows(); ++i) {
    const std::span<const float> row = values.row(i);
    const auto bad = std::ranges::find_if(row, [](float x) { return !std::isfinite(half_to_float(float_to_half(x))); });
    if (bad != row.end()) {
      throw_invalid_argument(where, at(what, i, bad - row.begin()), std::to_string(*bad),
                             "a value of magnitude below 65520");
    }
  }
}

}  // namespace

void require_finite_row(std::string_view where, std::string_view what, const MatrixView<const float>& rows,
                        std::size_t i) {
  const std::span<const float> row = rows.row(i);
  // One more than an exponent of all ones reaches the sign bit: additions and ors, which vectorise everywhere, and a
  // search only when one did.
  std::uint32_t all = 0;
  for (const float x : row) all |= (std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU) + 0x00800000U;
  if (all < 0x80000000U) return;
  const auto bad = std::ranges::find_if(row, [](float x) { return !std::isfinite(x); });
  throw_invalid_argument(where, at(what, i, bad - row.begin()), std::to_string(*bad), "a finite value");
}

void require_finite(std::string_view where, std::string_view what, const MatrixView<const float>& rows) {
  for (std::size_t i = 0; i < rows.rows(); ++i) require_finite_row(where, what, rows, i);
}

void require_finite(std::string_view where, std::string_view what, const MatrixView<const float>& rows,
                    const kernels::KernelTable& table) {
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    // Finite numbers may have an infinite sum of squares: then one by one.
    if (!std::isfinite(table.sum_of_squares(rows.row(i).data(), rows.cols()))) require_finite_row(where, what, rows, i);
  }
}

void require_coded_rows(std::string_view where, const RowFormat& format, bool windows,
                        const MatrixView<const std::uint8_t>& codes, const MatrixView<const float>& scales,
                        const MatrixView<const float>& offsets, const MatrixView<const float>& exact) {
  if (format.is_bfloat16()) {
    throw_invalid_argument(where, "rows", "codes and scales", "the rows themselves: the cache holds bfloat16");
  }
  const std::size_t n = codes.rows();
  require_size(where, "columns of codes", codes.cols(), format.dim());
  require_size(where, "rows of scales", scales.rows(), n);
  require_size(where, "columns of scales", scales.cols(), format.scales());
  require_size(where, "rows of offsets", offsets.rows(), format.has_offsets() ? n : 0);
  if (format.has_offsets()) require_size(where, "columns of offsets", offsets.cols(), format.scales());
  require_size(where, "exact rows", exact.rows(), windows ? n : 0);
  if (windows) {
    require_size(where, "columns of exact rows", exact.cols(), format.dim());
    require_finite(where, "exact value", exact);
  }
  require_halves(where, "scale", scales);
  require_halves(where, "offset", offsets);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const std::uint8_t> row = codes.row(i);
    for (const RowFormat::Section& section : format.sections()) {
      const unsigned limit = 1U << section.bits;
      const auto part = row.subspan(section.first, section.dims);
      if (limit == 256) continue;
      unsigned all = 0;  // or of all codes: one pass that vectorises, and a search only when something is wrong
      for (const unsigned code : part) all |= code;
      if (all < limit) continue;
      const auto bad = std::ranges::find_if(part, [limit](unsigned code) { return code >= limit; });
      throw_invalid_argument(where, at("code", i, bad - part.begin()) + " of a section", std::to_string(*bad),
                             "less than " + std::to_string(limit));
    }
  }
}

void require_plain_rows(std::string_view where, const RowFormat& format, const MatrixView<const float>& rows) {
  if (!format.is_bfloat16()) {
    throw_invalid_argument(where, "rows", "floats", "codes and scales: the cache does not hold bfloat16");
  }
  require_size(where, "columns of rows", rows.cols(), format.dim());
  require_finite(where, "value", rows);
}

void require_range(std::string_view where, std::size_t first, std::size_t count, std::size_t size) {
  if (first > size || count > size - first) {
    throw_invalid_argument(where, "rows asked for, from " + std::to_string(first), std::to_string(count),
                           "at most " + std::to_string(size - std::min(first, size)));
  }
}

}  // namespace orthant::cache
