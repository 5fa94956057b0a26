#include "orthant/transform/identity.h"

#include "orthant/core/error.h"
#include "transform/row_shapes.h"

namespace orthant::transform {

Identity::Identity(std::size_t dim) : dim_(dim) { require_dim("Identity", dim); }

std::string Identity::guarantee() const { return "none: the coordinates of x are coded as they are"; }

void Identity::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace&) const {
  require_row_shapes("Identity", dim_, x, y);
  copy_rows(x, y);
}

void Identity::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace&) const {
  require_row_shapes("Identity", dim_, y, x);
  copy_rows(y, x);
}

void Identity::rotate(std::span<double> x) const { require_size("Identity::rotate", "size of x", x.size(), dim_); }

void Identity::rotate_back(std::span<double> x) const {
  require_size("Identity::rotate_back", "size of x", x.size(), dim_);
}

}  // namespace orthant::transform
