#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace orthant::bounds {

/// The law of one coordinate, as the bounds need it: written apart from the density module on purpose, so that a bound
/// and the codebook it judges cannot share a mistake.
///   sphere(d):   f(x) = C_d (1 - x^2)^((d-3)/2), |x| <= 1, C_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)); variance 1/d.
///   gaussian():  the limit of sqrt(d) x; variance 1.
/// Immutable and thread-safe. Masses and moments are relative to about 1e-14, tails included.
class CoordinateLaw {
 public:
  /// Throws InvalidArgument unless d >= 2: for d = 1 the coordinate is +-1 and has no density.
  static CoordinateLaw sphere(std::int64_t d);
  static CoordinateLaw gaussian();

  /// 0 for the Gaussian.
  std::int64_t dim() const { return dim_; }
  bool is_gaussian() const { return dim_ == 0; }
  /// 1 / sqrt(d), or 1.
  double standard_deviation() const { return sigma_; }
  /// 1, or +infinity.
  double upper() const { return is_gaussian() ? std::numeric_limits<double>::infinity() : 1.0; }

  double density(double x) const;
  double cdf(double x) const;
  /// P(X > x), without cancellation.
  double upper_tail(double x) const;
  /// E|X|: sqrt(2/pi), or Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)).
  double mean_abs() const;
  /// The q in [0, upper()] with P(|Y| <= q) = p, Y of the density proportional to f^(1/3) (Panter & Dite 1951):
  /// where a good quantizer puts its levels at high rate. 0 <= p < 1.
  double companding_quantile(double p) const;

  /// The integrals of f, (x - c) f and (x - c)^2 f over [a, b], cut at the ends of the support. Quadrature over the
  /// cell itself: no difference of large numbers, whatever the number of cells.
  struct Cell {
    double mass = 0;
    double first = 0;
    double second = 0;
  };
  Cell cell(double a, double b, double c) const;

 private:
  CoordinateLaw(std::int64_t dim, double sigma, double normalizer);

  std::int64_t dim_;
  double sigma_;
  double normalizer_;
};

/// C_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)), d >= 2.
double sphere_normalizer(std::int64_t d);

/// Midpoints of neighbouring levels. Levels must be strictly increasing (InvalidArgument).
std::vector<double> midpoints(const std::vector<double>& levels);

}  // namespace orthant::bounds
