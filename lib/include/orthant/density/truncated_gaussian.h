#pragma once

#include <cstdint>
#include <string>

#include "orthant/density/density.h"

namespace orthant::density {

/// N(mean, sigma^2) given that it lies in [lower, upper]; infinite ends make it the scaled Gaussian.
class TruncatedGaussian {
 public:
  /// Throws InvalidArgument unless mean and sigma > 0 are finite, lower < upper, and the interval holds a probability
  /// of at least 1e-300.
  TruncatedGaussian(double mean, double sigma, double lower, double upper);

  /// "gaussian(mean, sigma) on [lower, upper]".
  std::string name() const;
  std::int64_t dim() const { return 0; }
  Interval support() const { return {lower_, upper_}; }
  bool symmetric() const { return mu_ == 0 && lower_ == -upper_; }
  double mean() const { return mean_; }
  double variance() const { return variance_; }
  double pdf(double x) const;
  double mass(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).mass); }
  double first_moment(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).first); }
  double second_moment(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).second); }
  /// Gauss-Legendre panels of at most sigma, relative error below 1e-17 in mass and second.
  CellMoments cell_moments(long double centre, long double a, long double b) const;

 private:
  double mu_;
  double sigma_;
  double lower_;
  double upper_;
  long double height_;  ///< density at mu, the reciprocal of sigma sqrt(2 pi) P(interval)
  double mean_ = 0;
  double variance_ = 0;
};

}  // namespace orthant::density
