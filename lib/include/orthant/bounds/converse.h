#pragma once

#include <cstdint>

namespace orthant::bounds {

/// Lower bounds on the mean squared error of ANY code of b bits a coordinate for a uniform unit vector in R^d.
/// All hold at finite d; 4^-b does not (see printed_lower_bound in turboquant.h).
/// d >= 2, 0 < bits (a rate, may be fractional); throw InvalidArgument otherwise. Accurate to 1e-12 relative.

/// Exact distortion-rate function of the sphere, for codes of any kind (variable length, shared randomness): the
/// optimal backward channel is von Mises-Fisher with concentration kappa,
///   R = kappa A - ln E[exp(kappa X)] = b d ln 2,   D = 1 - A^2,   A = I_{d/2}(kappa) / I_{d/2-1}(kappa),
/// X one coordinate. 1 - A is computed directly, so that D keeps its digits when it is tiny.
struct RateDistortion {
  double distortion = 0;
  double kappa = 0;
};
RateDistortion rate_distortion(std::int64_t d, double bits);

/// One-shot fixed-rate converse, stronger: no cell of 2^(bd) can do better than the spherical cap of measure 2^-(bd),
///   D >= 1 - rho^2, rho the mean of cos(angle to the centre) over that cap.  Exact at d = 2. bits * d >= 1.
double cap_converse(std::int64_t d, double bits);

/// High-rate Shannon lower bound on the (d-1)-dimensional sphere:
///   (d-1)/(2 pi e) |S^{d-1}|^{2/(d-1)} 4^{-b d/(d-1)}.  An approximation that becomes exact as b grows; no bound at
///   small b.
double high_rate_shannon(std::int64_t d, double bits);

/// Floor of d Var for unbiased estimates of <y, x>, y orthogonal to x, when the codes cannot beat distortion D: scaling
/// an unbiased x_hat of total variance V by 1/(1+V) gives mean squared error V/(1+V) >= D, so V >= D/(1-D).
double unbiased_floor(double distortion);

}  // namespace orthant::bounds
