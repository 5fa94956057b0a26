#pragma once

#include <cstdint>
#include <string>

#include "orthant/density/density.h"

namespace orthant::density {

/// One coordinate of a uniform point on the unit sphere S^{d-1} (TurboQuant, Zandieh et al. 2025, Lemma 1):
///   f_d(x) = C_d (1 - x^2)^{(d-3)/2} on [-1, 1],   C_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)),   variance 1/d.
/// d = 1 is the two-point law on {-1, +1}, 2 the arcsine law, 3 the uniform law, 4 the semicircle; strictly
/// log-concave from d = 4 on; sqrt(d) X tends to N(0, 1).
///
/// Closed forms, with p = (d-1)/2 and y = x^2:
///   M0(x) = C_d x (1-y)^p sum_n (d/2)_n / (3/2)_n y^n                  (all terms positive)
///   M1(a, b) = -C_d / (d-1) (1-a^2)^p expm1(p log1p(-(b^2-a^2) / (1-a^2)))
///   M2(x) = (M0(x) - C_d x (1-y)^p) / d                                (the same series from n = 1)
/// and the upper tails P(X > x) by quadrature of the entire function cos^{d-2} after x = sin(theta).
/// Evaluated in extended precision: pdf and M1 are good to a few units in the last place, M0 and M2 of a cell
/// of probability P to about 1e-18 / P relative.
class SphereCoordinate {
 public:
  /// Throws InvalidArgument unless 1 <= d <= kMaxDim.
  explicit SphereCoordinate(std::int64_t d);
  static constexpr std::int64_t kMaxDim = 1'000'000'000;

  std::string name() const { return "sphere"; }
  std::int64_t dim() const { return d_; }
  Interval support() const { return {-1, 1}; }
  bool symmetric() const { return true; }
  double mean() const { return 0; }
  double variance() const { return 1.0 / static_cast<double>(d_); }
  /// 0 outside [-1, 1]; +infinity at both ends for d = 2, and at the atoms for d = 1.
  double pdf(double x) const;
  double mass(double a, double b) const;
  double first_moment(double a, double b) const;
  double second_moment(double a, double b) const;
  /// Gauss-Legendre panels in theta, at most one standard deviation wide; relative error below 1e-17 in mass and
  /// second, below 1e-17 (mass * width) in first. d = 1: an atom on the common end of two cells belongs to the left
  /// one.
  CellMoments cell_moments(long double centre, long double a, long double b) const;

 private:
  long double central_mass(long double x) const;   ///< M0(x), 0 <= x
  long double tail_mass(long double x) const;      ///< P(X > x), 0 <= x
  long double boundary_term(long double x) const;  ///< C_d x (1 - x^2)^p
  CellMoments panels(long double centre, long double a, long double b) const;

  std::int64_t d_;
  long double normalizer_;  ///< C_d; 0 for d = 1
};

/// C_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)), d >= 2, without overflow or cancellation.
long double sphere_normalizer(std::int64_t d);

}  // namespace orthant::density
