#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace orthant::quantizer {

/// How far a study goes. One draw is a rotation, a sketch of each kind and a query, with `vectors` vectors at each
/// correlation; what belongs to one draw shares its randomness, so standard errors are taken between draws.
struct EstimatorStudy {
  std::size_t dim = 64;
  std::vector<double> correlations;
  std::uint64_t draws = 80;
  std::size_t vectors = 8;
};

/// Bias and mean square of (estimate - rho) of one method at one correlation, beside their exact values.
struct EstimatorError {
  std::string method;
  double correlation = 0;
  double bias = 0;
  double bias_error = 0;  ///< standard error
  double exact_bias = 0;
  double square = 0;
  double square_error = 0;
  double exact_square = 0;
};

/// Every inner-product estimator at 1 to 6 bits, unit vectors and queries, f32 norms, Haar rotations:
///   turbo-mse; eden with each scale; turbo-prod with each sketch, gamma stored and constant; qjl with each sketch and
///   d/2, d and 2d rows; rabitq with both scales.
/// Exact values hold at finite d. Where they come from:
///   turbo-mse, turbo-prod   moments of the residual r = x - x_hat (turbo_mse_moments.json); for a sketch, the law of
///                           v = sum_i sign(<s_i, r>) s_i given r
///   eden, constant gamma    moments of the angle between x and its code, of |r| and <x, r> (direction_moments.json)
///   qjl                     the same law of v given x
///   rabitq, 2 bits and up   the law given the angle theta between x and its code is exact, E tan^2 theta and the like
///                           are measured from the codes
/// A Hadamard sketch is not Haar: for turbo-prod its exact values are those of the orthogonal sketch up to O(1/d^2).
std::vector<EstimatorError> study_estimators(const EstimatorStudy& study);

/// EXPECTs every bias and mean square within 4 standard errors of its exact value; says how many comparisons.
void expect_exact_values(const EstimatorStudy& study);

}  // namespace orthant::quantizer
