#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/core/rng.h"

namespace orthant::quantizer {

/// n unit rows x with <q, x> = rho, the part orthogonal to the unit vector q uniform: what a random rotation makes of
/// one pair. Drawn from RngStream(seed, kData, trial).
inline Matrix<float> rows_at_correlation(std::span<const float> q, double rho, std::size_t n, std::uint64_t seed,
                                         std::uint64_t trial) {
  const std::size_t d = q.size();
  RngStream rng(seed, Domain::kData, trial);
  Matrix<float> x(n, d);
  std::vector<double> side(d);
  for (std::size_t i = 0; i < n; ++i) {
    double along = 0;
    double square = 0;
    rng.fill_normal(std::span(side));
    for (std::size_t j = 0; j < d; ++j) along += side[j] * static_cast<double>(q[j]);
    for (std::size_t j = 0; j < d; ++j) {
      side[j] -= along * static_cast<double>(q[j]);
      square += side[j] * side[j];
    }
    const double turn = square > 0 ? std::sqrt((1 - rho * rho) / square) : 0;
    for (std::size_t j = 0; j < d; ++j) {
      x(i, j) = static_cast<float>(rho * static_cast<double>(q[j]) + turn * side[j]);
    }
  }
  return x;
}

inline double inner_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return sum;
}

}  // namespace orthant::quantizer
