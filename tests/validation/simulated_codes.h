#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
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

/// A foreign multi-bit RaBitQ of `bits` bits, 2 to 4: the grid c_j = +-(k_j + 1/2), k_j = floor(t |x_j|) at most
/// m = 2^(bits-1) - 1, t the best of a walk over all places where some k_j steps. As two libraries shipped it, the walk
/// begins at start[bits] (m + 10)/max|x_j| with k_j that may lie beyond m: it scores codes that cannot be stored, and
/// at 4 bits passes by the best. From start = 0 the walk misses nothing. x_hat = c / <c, x>, the unbiased scale.
inline Matrix<float> grid_codes(const Matrix<float>& x, int bits, bool late_start) {
  constexpr double kStart[] = {0, 0, 0.15, 0.20, 0.52};
  const double top = std::ldexp(1.0, bits - 1) - 1;
  Matrix<float> out(x.rows(), x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    double largest = 0;
    for (const float v : x.row(i)) largest = std::max(largest, std::abs(static_cast<double>(v)));
    const double end = (top + 10) / largest;
    const double begin = late_start ? kStart[bits] * end : 0;
    std::vector<std::pair<double, double>> steps;  // t, |x_j| of the coordinate that steps
    double product = 0;
    double square = 0;
    for (const float v : x.row(i)) {
      const double a = std::abs(static_cast<double>(v));
      const double k = std::floor(begin * a);
      product += (k + 0.5) * a;
      square += (k + 0.5) * (k + 0.5);
      for (double next = k + 1; next == k + 1 || next <= top; ++next) {
        if (next / a < end || next == k + 1) steps.emplace_back(next / a, a);
      }
    }
    std::sort(steps.begin(), steps.end());
    double best = late_start ? 0 : product / std::sqrt(square);
    double scale = begin;
    for (const auto& [t, a] : steps) {
      product += a;
      square += 2 * std::round(t * a);
      if (product / std::sqrt(square) <= best) continue;
      best = product / std::sqrt(square);
      scale = t;
    }
    std::vector<float> c(x.cols());
    for (std::size_t j = 0; j < x.cols(); ++j) {
      // A step's own coordinate has k_j = t |x_j| exactly: no rounding may take it back.
      const double k = std::min(top, std::floor(scale * std::abs(static_cast<double>(x(i, j))) * (1 + 1e-12)));
      c[j] = static_cast<float>(std::copysign(k + 0.5, x(i, j)));
    }
    const double along = dot(c, x.row(i));
    for (std::size_t j = 0; j < x.cols(); ++j) out(i, j) = static_cast<float>(static_cast<double>(c[j]) / along);
  }
  return out;
}

inline std::vector<double> sphere_levels(std::size_t d, int bits) {
  return bounds::optimal_levels(bounds::CoordinateLaw::sphere(static_cast<std::int64_t>(d)), bits);
}

}  // namespace orthant::validation
