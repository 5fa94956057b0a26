#pragma once

#include <cstdint>
#include <string>

#include "orthant/density/density.h"

namespace orthant::density {

/// The angle between the radii of two halves of a Gaussian vector, less pi/4 (PolarQuant, Han et al. 2025, Lemma 2): at
/// level l >= 2 both halves have 2^(l-1) coordinates, and
///   f(psi) = c cos(2 psi)^(n - 1),  |psi| <= pi/4,  n = 2^(l-1),  c = Gamma(n) / (2^(n-2) Gamma(n/2)^2).
/// Independent of the other levels' angles and of the length; at level 1 the angle is uniform on the circle.
class PolarAngle {
 public:
  /// Throws InvalidArgument unless 2 <= level <= 10.
  explicit PolarAngle(int level);

  std::string name() const { return "polar-angle:" + std::to_string(level_); }
  std::int64_t dim() const { return 0; }
  Interval support() const;
  bool symmetric() const { return true; }
  double mean() const { return 0; }
  double variance() const;
  double pdf(double x) const;
  double mass(double a, double b) const;
  double first_moment(double a, double b) const;
  double second_moment(double a, double b) const;
  CellMoments cell_moments(long double centre, long double a, long double b) const;

 private:
  int level_;
  int power_;  // n - 1
  long double constant_;
};

}  // namespace orthant::density
