#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "orthant/core/rng.h"
#include "orthant/transform/make_rotation.h"

namespace orthant::transform {

/// |R x| = |x|, <R x, R z> = <x, z> and R^T R x = x for two random vectors: what a map that is not orthogonal misses
/// with probability 1. Steps are exact to 2^-53 each, fewer than 500 of them: 1e-13 relative to |x| |z|, about d.
inline void expect_orthogonal_on_random_vectors(const std::string& spec, std::size_t d) {
  SCOPED_TRACE(spec + " d = " + std::to_string(d));
  const auto rotation = make_rotation(spec, d, 7);
  std::vector<double> x(d);
  std::vector<double> z(d);
  RngStream(4, Domain::kData, d).fill_normal(x);
  RngStream(5, Domain::kData, d).fill_normal(z);
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  std::vector<double> rx = x;
  std::vector<double> rz = z;
  rotation->rotate(rx);
  rotation->rotate(rz);
  const double tolerance = 1e-13 * std::sqrt(dot(x, x) * dot(z, z));
  EXPECT_NEAR(dot(rx, rx), dot(x, x), 1e-13 * dot(x, x));
  EXPECT_NEAR(dot(rx, rz), dot(x, z), tolerance);
  rotation->rotate_back(rx);
  for (std::size_t j = 0; j < d; ++j) ASSERT_NEAR(rx[j], x[j], 1e-12);
}

}  // namespace orthant::transform
