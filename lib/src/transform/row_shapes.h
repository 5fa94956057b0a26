#pragma once

#include <cstddef>
#include <string_view>

#include "orthant/core/matrix_view.h"

namespace orthant::transform {

/// Throws InvalidArgument unless `in` and `out` are both (n, dim) with the same n.
void require_row_shapes(std::string_view where, std::size_t dim, MatrixView<const float> in, MatrixView<float> out);

/// Throws InvalidArgument for dim = 0.
void require_dim(std::string_view where, std::size_t dim);

/// Copies the rows of `in` to `out`; nothing to do when they are the same memory.
void copy_rows(MatrixView<const float> in, MatrixView<float> out);

}  // namespace orthant::transform
