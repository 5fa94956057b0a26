#pragma once

#include <cstdint>
#include <vector>

#include "codebook/ball.h"
#include "codebook/extended_solve.h"

namespace orthant::codebook {

/// Balls that hold the optimum: positive half, centroids ascending, boundaries between them, distortion of one
/// coordinate, entropy in bits.
struct Enclosure {
  std::vector<Ball> centroids;
  std::vector<Ball> boundaries;
  std::vector<Ball> probabilities;
  Ball distortion;
  Ball entropy;
};

/// Proves that the law (coordinate of S^{dim-1}, dim >= 2; N(0, 1), dim = 0) has exactly one codebook, symmetric about
/// 0, with every positive centroid within radius * standard deviation of the solution's and stationary,
///   G_k(c) = E[(X - c_k) 1_{cell k}] = 0:
/// the Krawczyk operator K(B) = c - Y G(c) + (I - Y J(B)) (B - c), Y an approximate inverse of the tridiagonal
/// Jacobian J, maps the box B into its interior (Krawczyk 1969; Moore 1977).
/// Throws Error when the inclusion does not hold at this thread's Ball::precision().
Enclosure enclose(std::int64_t dim, const ExtendedSolution& solution, double radius);

/// M0(x) = P(0 <= X <= x) of the law, 0 < x inside the support.
Ball enclosed_mass(std::int64_t dim, const Ball& x);

}  // namespace orthant::codebook
