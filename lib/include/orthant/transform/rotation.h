#pragma once

#include <span>

#include "orthant/core/matrix_view.h"
#include "orthant/transform/transform.h"

namespace orthant::transform {

/// An orthogonal map R: keys and queries alike take y = R x, and x = R^T y gives them back.
/// Beside the float maps of Transform it has itself in double precision, from the same random numbers, as the
/// reference that tests and audits measure against: |R^T R - I| <= 1e-12 in every element up to d = 4096.
class Rotation : public Transform {
 public:
  bool orthogonal() const final { return true; }
  void apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const final {
    apply_keys(q, p, work);
  }

  /// x <- R x and x <- R^T x in place; x: (d), InvalidArgument otherwise. May allocate.
  virtual void rotate(std::span<double> x) const = 0;
  virtual void rotate_back(std::span<double> x) const = 0;
};

/// R itself, (d, d): row i holds the coefficients of y_i. Allocates 8 d^2 bytes.
Matrix<double> matrix(const Rotation& rotation);

}  // namespace orthant::transform
