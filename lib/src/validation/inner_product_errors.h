#pragma once

#include <vector>

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

}  // namespace orthant::validation
