#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orthant/codebook/codebook.h"
#include "orthant/density/density.h"
#include "orthant/density/gaussian.h"
#include "orthant/density/sphere_coordinate.h"

namespace orthant::codebook {

struct LloydMaxOptions {
  int bits = 4;              ///< 0 to 10; 2^bits levels
  double tolerance = 1e-13;  ///< converged when max_k |c_k - E[X | cell k]| <= tolerance * standard deviation
  int max_iterations = 100;  ///< Newton steps; 4 to 8 are usual
};

enum class Termination {
  kConverged,
  kIterationLimit,  ///< the codebook is the best found; its residual says how far off it is
};

struct LloydMaxResult {
  Codebook codebook;
  Termination termination;
  int iterations;
  double last_change;  ///< largest move of a centroid in the last step, in standard deviations
  double residual;     ///< max_k |c_k - E[X | cell k]| / standard deviation, of the rounded codebook itself
  std::vector<double> probabilities;  ///< P(cell k), k < 2^bits; their rounded sum may differ from 1 in the last place
};

/// Optimal scalar quantizer of 2^bits levels (Lloyd 1982; Max 1960): stationary point of
///   D(c) = E min_k (X - c_k)^2,      F_k = c_k - E[X | cell k] = 0 for each k.
/// Newton's method on F, whose Jacobian is tridiagonal, from the companding start (quantiles of f^{1/3}, Panter & Dite
/// 1951), steps halved until sum F_k^2 falls; on one half of the levels when the law is symmetric. For
/// log-concave laws the stationary point is unique (Fleischer 1964; Kieffer 1983), hence the global optimum: the sphere
/// for d >= 3, the Gaussian. For d = 2 it is the only one known from multistart searches.
/// Works in extended precision: centroids, boundaries and distortion are then rounded once.
/// Distortion is the sum of the cells' own second moments about their centroids; nothing is subtracted.
/// Throws InvalidArgument on options out of range, before any work. Pure: may run concurrently.
LloydMaxResult lloyd_max(density::DensityView law, const LloydMaxOptions& options);
/// As above; in closed form for d = 3, the uniform law: c_k = (2k + 1 - N) / N, and for d = 1, the atoms -1 and 1,
/// where levels with both among them are optimal: c_k = (2k + 1 - N) / (N - 1), distortion 0.
LloydMaxResult lloyd_max(const density::SphereCoordinate& law, const LloydMaxOptions& options);

/// max_k |c_k - E[X | cell k]| / standard deviation, cells ending at midpoints; empty cells do not count.
double centroid_residual(density::DensityView law, const Codebook& book);

/// The optimal codebook of a coordinate of S^{dim-1}, 1 <= dim <= 1e9, 0 <= bits <= 10: lloyd_max, then one Newton step
/// in 60-digit arithmetic, so that every number is the double nearest to the optimum. The tables in codebooks/ are
/// these same bits, with their proof. Solved once in each process and kept; thread-safe. Throws InvalidArgument out of
/// range.
Codebook sphere_codebook(std::int64_t dim, int bits);
/// The optimal codebook of N(0, 1), likewise.
Codebook gaussian_codebook(int bits);

}  // namespace orthant::codebook
