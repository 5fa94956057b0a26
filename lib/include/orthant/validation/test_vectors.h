#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/core/rng.h"

namespace orthant::validation {

/// Fixed unit vectors that structured maps find hard, for claims that are made "for every x".
struct HardVectors {
  std::vector<std::string_view> names;
  Matrix<float> rows;  ///< (names.size(), d)
};

/// one-hot e_0; two-hot (e_0 + e_1)/sqrt 2; constant 1/sqrt d; a Hadamard row (-1)^popcount(j & 5)/sqrt d; a large
/// constant with small seeded noise; a combination of two slow cosines. d >= 8.
HardVectors hard_vectors(std::size_t d);

/// query <- rho x + sqrt(1 - rho^2) y, a unit vector with <query, x> = rho: y is uniform on the unit vectors orthogonal
/// to the unit vector x. d >= 2, |rho| <= 1. Computed in double, rounded once.
void correlated_query(std::span<const float> x, double rho, RngStream& rng, std::span<float> query);

/// <a, b> in double.
double dot(std::span<const float> a, std::span<const float> b);
/// |a - b|^2 in double.
double squared_distance(std::span<const float> a, std::span<const float> b);

}  // namespace orthant::validation
