#include "orthant/validation/test_vectors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/core/error.h"

namespace orthant::validation {
namespace {

TEST(HardVectors, AreDistinctUnitVectors) {
  for (const std::size_t d : {8U, 80U, 128U}) {
    const HardVectors hard = hard_vectors(d);
    for (std::size_t i = 0; i < hard.names.size(); ++i) {
      EXPECT_NEAR(dot(hard.rows.row(i), hard.rows.row(i)), 1, 1e-6) << hard.names[i];
      for (std::size_t j = 0; j < i; ++j) EXPECT_GT(squared_distance(hard.rows.row(i), hard.rows.row(j)), 1e-3);
    }
  }
  EXPECT_THROW(hard_vectors(7), InvalidArgument);
}

// Float rounding: d additions of products of size 1/d, each within 2^-24: below 1e-6 for d = 128.
TEST(CorrelatedQuery, HasTheCosineAskedFor) {
  RngStream rng(3, claim_domain("correlated"), 0);
  std::vector<float> x(128);
  std::vector<float> q(128);
  for (const double rho : {-1.0, -0.3, 0.0, 0.5, 1.0}) {
    rng.fill_unit_vector(std::span<float>(x));
    correlated_query(x, rho, rng, q);
    EXPECT_NEAR(dot(x, q), rho, 1e-6);
    EXPECT_NEAR(dot(q, q), 1, 1e-6);
  }
  EXPECT_THROW(correlated_query(x, 1.1, rng, q), InvalidArgument);
  EXPECT_THROW(correlated_query(std::span<const float>(x).first(64), 0, rng, q), InvalidArgument);
}

}  // namespace
}  // namespace orthant::validation
