#include "orthant/transform/rotation.h"

namespace orthant::transform {

Matrix<double> matrix(const Rotation& rotation) {
  const std::size_t d = rotation.dim();
  Matrix<double> result(d, d);
  // R^T e_i is row i of R.
  for (std::size_t i = 0; i < d; ++i) {
    result(i, i) = 1;
    rotation.rotate_back(result.row(i));
  }
  return result;
}

}  // namespace orthant::transform
