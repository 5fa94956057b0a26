#pragma once

#include <cmath>
#include <vector>

#include "orthant/bounds/coordinate_law.h"
#include "validation/coded_vector.h"

namespace orthant::validation {

/// Mean and mean square of estimate - <query, x_0> over `queries` random queries of cosine rho to the unit vector x_0.
struct ErrorMoments {
  double mean = 0;
  double square = 0;
};

inline ErrorMoments inner_product_errors(CodedRows& coded, std::span<const float> x, double rho, int queries,
                                         RngStream& rng) {
  ErrorMoments m;
  std::vector<float> query(x.size());
  for (int i = 0; i < queries; ++i) {
    correlated_query(x, rho, rng, query);
    const double error = coded.error(query);
    m.mean += error / queries;
    m.square += error * error / queries;
  }
  return m;
}

/// Mean of (estimate - <y, x>)^2 over every unit y orthogonal to the unit vector x, for a method whose estimate is
/// <y, x_hat>: for uniform y, E y y^T = (I - x x^T)/(d - 1), so (|x_hat|^2 - <x_hat, x>^2)/(d - 1). One number in place
/// of many queries, with the same mean and without their scatter. d >= 2.
inline double mean_square_across(std::span<const float> x, std::span<const float> x_hat) {
  const double along = dot(x, x_hat);
  return (dot(x_hat, x_hat) - along * along / dot(x, x)) / static_cast<double>(x.size() - 1);
}

/// P(|estimate - <q, x>| > limit) over q uniform on the unit vectors orthogonal to the unit vector x, given the code of
/// x. The estimate is linear in q, so its error is that at u times <u, q>, u the unit vector along the part of x_hat
/// orthogonal to x; and <u, q> is a coordinate of S^(d-2). d >= 4.
inline double probability_beyond(CodedRows& coded, std::span<const float> x, double limit) {
  const Matrix<float> x_hat = coded.decoded();
  const double along = dot(x, x_hat.row(0)) / dot(x, x);
  std::vector<double> across(x.size());
  double square = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    across[j] = static_cast<double>(x_hat(0, j)) - along * static_cast<double>(x[j]);
    square += across[j] * across[j];
  }
  if (square == 0) return 0;
  std::vector<float> u(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) u[j] = static_cast<float>(across[j] / std::sqrt(square));
  const double reach = std::abs(coded.error(u));
  if (reach <= limit) return 0;
  return 2 * bounds::CoordinateLaw::sphere(static_cast<std::int64_t>(x.size()) - 1).upper_tail(limit / reach);
}

}  // namespace orthant::validation
