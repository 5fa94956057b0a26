#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "orthant/core/matrix_view.h"
#include "orthant/core/rng.h"
#include "orthant/transform/rotation.h"

namespace orthant::transform {

/// A rotation drawn from the Haar measure of O(d) ("haar"): for every fixed unit x, R x is uniform on the sphere.
///
///   G: (d, d) independent standard normals of RngStream(seed, Domain::kRotation, index);   G = Q T by Householder;
///   R = Q diag(sign T_jj)                                                        (Stewart 1980; Mezzadri 2007)
/// Without the signs Q is not Haar: LAPACK's choice of reflections makes every Q_00 negative.
///
/// Computed in double, applied in float: O(d^2) a vector, 16 d^2 bytes kept, O(d^3) once. y_j is the sum of the float
/// products R_jk x_k in the order of k, so |y_j - (R x)_j| <= (d + 1) eps sum_k |R_jk x_k|, eps = 2^-24 (Higham 2002,
/// sec. 3.1), and the bits of a turned row, there and back, depend on it alone: not on the rows around it nor on the
/// instruction set. (R itself comes from a factorisation whose last digits may differ between builds.)
class Haar final : public Rotation {
 public:
  /// Throws InvalidArgument for dim = 0. `index` tells apart several rotations of one seed.
  Haar(std::size_t dim, std::uint64_t seed, std::uint64_t index = 0);
  /// The same from the next dim^2 normals of any stream: sketches have a domain of their own.
  Haar(std::size_t dim, RngStream rng);

  std::size_t dim() const override { return exact_.rows(); }
  std::string describe() const override { return "haar"; }
  std::string guarantee() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const override;
  void rotate(std::span<double> x) const override;
  void rotate_back(std::span<double> x) const override;

 private:
  Matrix<double> exact_;      // R
  Matrix<float> rounded_;     // R, for the way back
  Matrix<float> transposed_;  // R^T, for the way there
};

}  // namespace orthant::transform
