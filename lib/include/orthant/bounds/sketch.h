#pragma once

#include <cstdint>

namespace orthant::bounds {

/// One-bit sketches of a vector: QJL (Zandieh, Daliri & Han 2024, arXiv 2406.03482). rho is the cosine between query
/// and key; errors are relative to ||q|| ||k||; m is the number of rows of the sketch.

/// Gaussian rows: the estimate is rho sqrt(pi/2) mean|g_i| + sqrt(1 - rho^2) sqrt(pi/(2m)) g, hence exactly
/// Var = (pi/2 - rho^2) / m.
double qjl_variance(double rho, std::int64_t m);
/// The value that is printed for every rho: pi / (2m); exact at rho = 0 only.
double qjl_variance_printed(std::int64_t m);
/// Lemma 3.5 as printed (its minus sign restored): P(|error| > e) <= 2 exp(-(3/4) m e^2 / (1 + e)). False at rho = 0.
double qjl_tail_printed(double e, std::int64_t m);
/// With the second moment pi/2 kept in Bernstein's inequality: 2 exp(-m e^2 / (pi + 4e/3)).
double qjl_tail_corrected(double e, std::int64_t m);
/// Exact at rho = 0, where the error is N(0, pi/(2m)).
double qjl_tail_perpendicular(double e, std::int64_t m);
/// Rows that make the tail at most delta: printed (4/3)(1 + e) e^-2 ln(2/delta), corrected (pi + 4e/3) e^-2
/// ln(2/delta).
double qjl_rows_printed(double e, double delta);
double qjl_rows_corrected(double e, double delta);

/// Rows of a Haar orthogonal matrix instead (m = d, scale sqrt(pi/2)/sqrt(d)), what released code does.
///   factor beta_d = sqrt(d/2) Gamma(d/2) / Gamma((d+1)/2) = 1 + 1/(4d) + ...: slightly biased, dividing by it repairs;
///   perpendicular: error variance (pi/2 - 1) / d exactly at rho = 0;
///   parallel: mean squared error at rho = 1, bias included.
struct OrthogonalSketch {
  double factor = 1;
  double perpendicular = 0;
  double parallel = 0;
};
/// d >= 1. repaired: divided by beta_d, after which factor = 1.
OrthogonalSketch orthogonal_sketch(std::int64_t d, bool repaired);

}  // namespace orthant::bounds
