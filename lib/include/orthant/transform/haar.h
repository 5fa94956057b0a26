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
/// Computed in double, applied in float by OpenBLAS sgemm: O(d^2) a vector, 4 d^2 + 8 d^2 bytes kept, O(d^3) once.
/// |y_j - (R x)_j| <= (d + 1) eps sum_k |R_jk x_k|, eps = 2^-24 (Higham 2002, sec. 3.1). Rows go to sgemm in blocks of
/// one fixed shape, so the bits of y_i depend on x_i alone, not on the rows around it; they may differ, within the
/// bound, between processor types, for which OpenBLAS has different kernels.
///
/// OpenBLAS is set to one thread, for the whole process, when the first Haar is made: parallel loops are the caller's.
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
  Matrix<double> exact_;   // R
  Matrix<float> rounded_;  // R, for sgemm
};

}  // namespace orthant::transform
