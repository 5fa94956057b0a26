#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "orthant/density/density.h"

namespace orthant::density {

/// The standard normal law, limit of sqrt(d) X for the coordinate X of a uniform point on S^{d-1}.
///   M0(x) = erf(x / sqrt 2) / 2,   M1(a, b) = phi(a) - phi(b),   M2(x) = M0(x) - x phi(x).
/// Tails come from erfc. Evaluated in extended precision, accuracy as for SphereCoordinate.
class Gaussian {
 public:
  std::string name() const { return "gaussian"; }
  std::int64_t dim() const { return 0; }
  Interval support() const {
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  bool symmetric() const { return true; }
  double mean() const { return 0; }
  double variance() const { return 1; }
  double pdf(double x) const;
  double mass(double a, double b) const;
  double first_moment(double a, double b) const;
  double second_moment(double a, double b) const;
  CellMoments cell_moments(long double centre, long double a, long double b) const;
};

}  // namespace orthant::density
