#include "orthant/bounds/coordinate_law.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "bounds/quadrature.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

/// Three integrals carried through one quadrature.
struct Triple {
  double a = 0;
  double b = 0;
  double c = 0;
};
Triple operator+(const Triple& x, const Triple& y) { return {x.a + y.a, x.b + y.b, x.c + y.c}; }
Triple operator*(double w, const Triple& x) { return {w * x.a, w * x.b, w * x.c}; }

}  // namespace

double sphere_normalizer(std::int64_t d) {
  if (d < 2) throw_invalid_argument("sphere_normalizer", "d", std::to_string(d), "2 or more");
  const double x = static_cast<double>(d - 1) / 2;
  return 1 / (boost::math::tgamma_delta_ratio(x, 0.5) * std::sqrt(std::numbers::pi));
}

CoordinateLaw::CoordinateLaw(std::int64_t dim, double sigma, double normalizer)
    : dim_(dim), sigma_(sigma), normalizer_(normalizer) {}

CoordinateLaw CoordinateLaw::sphere(std::int64_t d) {
  if (d < 2) throw_invalid_argument("CoordinateLaw::sphere", "d", std::to_string(d), "2 or more");
  return {d, 1 / std::sqrt(static_cast<double>(d)), sphere_normalizer(d)};
}

CoordinateLaw CoordinateLaw::gaussian() { return {0, 1, 1 / std::sqrt(2 * std::numbers::pi)}; }

double CoordinateLaw::density(double x) const {
  if (is_gaussian()) return normalizer_ * std::exp(-x * x / 2);
  if (std::abs(x) > 1) return 0;
  if (dim_ == 3) return 0.5;
  if (std::abs(x) == 1) return dim_ == 2 ? std::numeric_limits<double>::infinity() : 0;
  return normalizer_ * std::exp(static_cast<double>(dim_ - 3) / 2 * std::log1p(-x * x));
}

double CoordinateLaw::upper_tail(double x) const {
  if (is_gaussian()) return boost::math::erfc(x / std::numbers::sqrt2) / 2;
  if (x >= 1) return 0;
  if (x <= -1) return 1;
  // x^2 ~ Beta(1/2, (d-1)/2).
  const double half = boost::math::ibetac(0.5, static_cast<double>(dim_ - 1) / 2, x * x) / 2;
  return x >= 0 ? half : 1 - half;
}

double CoordinateLaw::cdf(double x) const { return upper_tail(-x); }

double CoordinateLaw::mean_abs() const {
  if (is_gaussian()) return std::sqrt(2 / std::numbers::pi);
  return boost::math::tgamma_delta_ratio(static_cast<double>(dim_) / 2, 0.5) / std::sqrt(std::numbers::pi);
}

double CoordinateLaw::companding_quantile(double p) const {
  if (!(p >= 0 && p < 1)) {
    throw_invalid_argument("CoordinateLaw::companding_quantile", "p", std::to_string(p), "0 <= p < 1");
  }
  if (p == 0) return 0;
  if (is_gaussian()) return std::sqrt(6.0) * boost::math::erf_inv(p);  // N(0, 3)
  // (1 - x^2)^((d-3)/6) is the law of dimension (d + 6) / 3, a real number.
  const double dim = static_cast<double>(dim_ + 6) / 3;
  return std::sqrt(boost::math::ibeta_inv(0.5, (dim - 1) / 2, p));
}

CoordinateLaw::Cell CoordinateLaw::cell(double a, double b, double c) const {
  Triple sum;
  if (is_gaussian()) {
    // exp(-z^2/2) underflows beyond 39.
    const auto moments = [&](double z) {
      const double f = std::exp(-z * z / 2);
      return Triple{f, (z - c) * f, (z - c) * (z - c) * f};
    };
    sum = integrate_panels(moments, std::max(a, -39.0), std::min(b, 39.0), 1.0);
  } else {
    // X = sin T turns f(x) dx into C_d cos^{d-2}(t) dt: smooth up to the ends for every d >= 2.
    const double exponent = static_cast<double>(dim_ - 2);
    const auto moments = [&](double t) {
      const double x = std::sin(t);
      const double f = std::exp(exponent / 2 * std::log1p(-x * x));
      return Triple{f, (x - c) * f, (x - c) * (x - c) * f};
    };
    // cos^{d-2}(t) <= exp(-(d-2) t^2 / 2) underflows beyond 39 / sqrt(d-2).
    const double reach = std::min(std::numbers::pi / 2, 39 / std::sqrt(std::max(1.0, exponent)));
    const double low = std::max(-reach, std::asin(std::clamp(a, -1.0, 1.0)));
    const double high = std::min(reach, std::asin(std::clamp(b, -1.0, 1.0)));
    sum = integrate_panels(moments, low, high, sigma_);
  }
  return {normalizer_ * sum.a, normalizer_ * sum.b, normalizer_ * sum.c};
}

std::vector<double> midpoints(const std::vector<double>& levels) {
  if (levels.empty()) throw InvalidArgument("midpoints: got no levels, expected at least one");
  std::vector<double> t(levels.size() - 1);
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    if (!(levels[i] < levels[i + 1])) {
      throw_invalid_argument("midpoints", "levels", "level " + std::to_string(i + 1) + " not above the one before",
                             "strictly increasing levels");
    }
    t[i] = levels[i] + (levels[i + 1] - levels[i]) / 2;
  }
  return t;
}

}  // namespace orthant::bounds
