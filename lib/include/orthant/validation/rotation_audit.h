#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orthant/core/matrix_view.h"

namespace orthant::validation {

enum class RotationFault {
  kShape,          ///< not square, or empty
  kNotFinite,      ///< a NaN or an infinity
  kNotOrthogonal,  ///< R^T R is not the identity
  kSignBias,       ///< the signs that QR leaves behind, where Haar has fair coins
  kStructured,     ///< a structured input whose coordinates do not look like those of a uniform point
};
std::string to_string(RotationFault fault);

struct RotationFinding {
  RotationFault fault;
  std::string text;
};

/// One fixed unit input x and what 2-bit codes do to y = R x. For Haar R, y is uniform on the sphere, and the relative
/// distortion ||y - c(y)||^2 has mean D(d, 2) and the standard deviation found from uniform points.
struct StructuredInput {
  std::string name;
  double distortion = 0;
  double z = 0;        ///< (distortion - mean) / standard deviation under the uniform law
  double largest = 0;  ///< max_j |y_j|
};

struct RotationAudit {
  std::size_t rows = 0;
  std::size_t cols = 0;
  double orthogonality_defect = 0;  ///< max_ij |(R^T R - I)_ij|
  double smallest_singular_value = 0;
  double largest_singular_value = 0;
  double determinant = 0;  ///< +1 or -1 for an orthogonal matrix; Haar on O(d) has both equally often
  double trace = 0;        ///< close to N(0, 1) for Haar on O(d) (Diaconis & Mallows)
  /// Householder's QR of R itself, R = H_1 ... H_{d-1} T: for Haar the signs of T_jj, j < d, are fair coins, exactly;
  /// for a Q that LAPACK returned without the sign fix all are +1. The less likely of R and R^T is shown.
  std::size_t positive_signs = 0;
  double sign_probability = 1;     ///< of so uneven a count under Haar, two-sided, for both R and R^T
  double expected_distortion = 0;  ///< D(d, 2)
  std::vector<StructuredInput> inputs;
  std::vector<RotationFinding> findings;

  bool correct() const { return findings.empty(); }
};

struct RotationAuditOptions {
  /// Largest orthogonality defect accepted. Default: 1e-5 (single precision leaves about 1e-6), or where every entry is
  /// a half-precision or bfloat16 number what that rounding can do: |r_i.e_j + e_i.r_j| <= |e_i| + |e_j|.
  std::optional<double> tolerance;
  std::uint64_t seed = 1;  ///< of the uniform points that calibrate the structured inputs
};

/// Judges a matrix y = R x meant as a random rotation. False alarms for a Haar matrix: signs, 1e-6 exactly at most, so
/// that d >= 22 can be accused; structured inputs, |z| > 6, a nominal 2e-9 each for d >= 16, where the distortion of a
/// uniform point is close to normal (below 16 it is only reported). Throws InvalidArgument for more than 8192 rows.
RotationAudit audit_rotation(MatrixView<const double> rotation, const RotationAuditOptions& options);

}  // namespace orthant::validation
