#include "transform/row_shapes.h"

#include <algorithm>

#include "orthant/core/error.h"

namespace orthant::transform {

void require_row_shapes(std::string_view where, std::size_t dim, MatrixView<const float> in, MatrixView<float> out) {
  require_size(where, "columns of the input", in.cols(), dim);
  require_size(where, "columns of the output", out.cols(), dim);
  require_size(where, "rows of the output", out.rows(), in.rows());
}

void require_dim(std::string_view where, std::size_t dim) {
  if (dim == 0) throw_invalid_argument(where, "dimension", "0", "1 or more");
}

void copy_rows(MatrixView<const float> in, MatrixView<float> out) {
  if (in.data() == out.data() && in.stride() == out.stride()) return;
  for (std::size_t i = 0; i < in.rows(); ++i) std::ranges::copy(in.row(i), out.row(i).begin());
}

}  // namespace orthant::transform
