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

}  // namespace orthant::validation
