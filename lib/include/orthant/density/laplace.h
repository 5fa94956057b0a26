#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "orthant/density/density.h"

namespace orthant::density {

/// The Laplace law of variance 1: f(x) = exp(-sqrt(2) |x|) / sqrt(2). Log-concave, hence one optimal quantizer.
class Laplace {
 public:
  std::string name() const { return "laplace"; }
  std::int64_t dim() const { return 0; }
  Interval support() const {
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  bool symmetric() const { return true; }
  double mean() const { return 0; }
  double variance() const { return 1; }
  double pdf(double x) const;
  double mass(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).mass); }
  double first_moment(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).first); }
  double second_moment(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).second); }
  /// Gauss-Legendre panels on either side of the cusp at 0, relative error below 1e-17 in mass and second.
  CellMoments cell_moments(long double centre, long double a, long double b) const;
};

}  // namespace orthant::density
