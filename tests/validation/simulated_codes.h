#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/rng.h"
#include "orthant/validation/test_vectors.h"

namespace orthant::validation {

/// n uniform unit vectors: isotropic, so that no rotation is needed.
inline Matrix<float> unit_vectors(std::size_t n, std::size_t d, const char* domain) {
  Matrix<float> x(n, d);
  for (std::size_t i = 0; i < n; ++i) {
    RngStream rng(1, claim_domain(domain), i);
    rng.fill_unit_vector(x.row(i));
  }
  return x;
}

/// A foreign implementation: every coordinate to the nearest of these levels.
inline Matrix<float> rounded(const Matrix<float>& x, const std::vector<double>& levels) {
  const std::vector<double> t = bounds::midpoints(levels);
  Matrix<float> out(x.rows(), x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < x.cols(); ++j) {
      const auto k = std::lower_bound(t.begin(), t.end(), static_cast<double>(x(i, j))) - t.begin();
      out(i, j) = static_cast<float>(levels[static_cast<std::size_t>(k)]);
    }
  }
  return out;
}

inline std::vector<double> scaled(std::vector<double> levels, double s) {
  for (double& c : levels) c *= s;
  return levels;
}

inline std::vector<double> sphere_levels(std::size_t d, int bits) {
  return bounds::optimal_levels(bounds::CoordinateLaw::sphere(static_cast<std::int64_t>(d)), bits);
}

}  // namespace orthant::validation
