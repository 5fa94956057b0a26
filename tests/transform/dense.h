#pragma once

#include <Eigen/Dense>

#include "orthant/transform/rotation.h"

namespace orthant::transform {

inline Eigen::MatrixXd dense(const Rotation& rotation) {
  const Matrix<double> r = matrix(rotation);
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto d = static_cast<Eigen::Index>(rotation.dim());
  return Eigen::Map<const RowMajor>(r.data(), d, d);
}

/// max |R^T R - I|.
inline double orthogonality_defect(const Eigen::MatrixXd& r) {
  return (r.transpose() * r - Eigen::MatrixXd::Identity(r.cols(), r.cols())).cwiseAbs().maxCoeff();
}

}  // namespace orthant::transform
