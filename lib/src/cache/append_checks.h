#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/kernel_table.h"
#include "orthant/cache/row_format.h"
#include "orthant/core/matrix_view.h"

// What both caches ask of rows before they take them. Each throws InvalidArgument naming what, row and column.
namespace orthant::cache {

/// Of one row of several.
void require_finite_row(std::string_view where, std::string_view what, const MatrixView<const float>& rows,
                        std::size_t i);
void require_finite(std::string_view where, std::string_view what, const MatrixView<const float>& rows);
/// The same by sums of squares, as wide as the registers of the table's target.
void require_finite(std::string_view where, std::string_view what, const MatrixView<const float>& rows,
                    const kernels::KernelTable& table);

/// Shapes, codes below 2^bits, scales and offsets finite in half precision; exact: as many rows when `windows`, none
/// otherwise.
void require_coded_rows(std::string_view where, const RowFormat& format, bool windows,
                        const MatrixView<const std::uint8_t>& codes, const MatrixView<const float>& scales,
                        const MatrixView<const float>& offsets, const MatrixView<const float>& exact);

/// Rows of a bfloat16 cache.
void require_plain_rows(std::string_view where, const RowFormat& format, const MatrixView<const float>& rows);

/// Rows first .. first + count of a cache of `size`.
void require_range(std::string_view where, std::size_t first, std::size_t count, std::size_t size);

}  // namespace orthant::cache
