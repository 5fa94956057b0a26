#include "orthant/bounds/converse.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "bounds/quadrature.h"
#include "orthant/bounds/coordinate_law.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

constexpr double kPi = std::numbers::pi;

void require(const char* where, std::int64_t d, double bits) {
  if (d < 2) throw_invalid_argument(where, "d", std::to_string(d), "2 or more");
  if (!(bits > 0) || !std::isfinite(bits)) throw_invalid_argument(where, "bits", std::to_string(bits), "more than 0");
}

/// The root of an increasing function of log x, bracketed from `guess` outwards.
template <class F>
double increasing_root(F&& f, double guess) {
  double low = guess;
  double high = guess;
  while (f(low) > 0) low -= 1;
  while (f(high) < 0) high += 1;
  if (low == high) return low;
  std::uintmax_t iterations = 200;
  const auto ends =
      boost::math::tools::toms748_solve(f, low, high, boost::math::tools::eps_tolerance<double>(52), iterations);
  return (ends.first + ends.second) / 2;
}

struct Weighted {
  double mass = 0;
  double gap = 0;  // weighted with 1 - cos(angle)
};
Weighted operator+(const Weighted& a, const Weighted& b) { return {a.mass + b.mass, a.gap + b.gap}; }
Weighted operator*(double w, const Weighted& a) { return {w * a.mass, w * a.gap}; }

double one_minus_cos(double angle) { return 2 * std::sin(angle / 2) * std::sin(angle / 2); }

/// The von Mises-Fisher law on S^{d-1} seen from its centre: density of the angle ~ exp(-kappa (1 - cos a)) sin^{d-2}
/// a.
struct FisherCap {
  double log_normalizer = 0;  // ln E exp(-kappa (1 - X))
  double gap = 0;             // E_kappa[1 - X] = 1 - A
};

FisherCap fisher(std::int64_t d, double kappa) {
  const double p = static_cast<double>(d - 2);
  // The mode solves kappa sin^2 a = p cos a; in w = 1 - cos a:  kappa (2w - w^2) = p (1 - w).
  const double s = 2 * kappa + p;
  const double w = 2 * p / (s + std::sqrt(s * s - 4 * kappa * p));
  const double mode = std::acos(1 - w) > 1e-4 ? std::acos(1 - w) : std::sqrt(2 * w);
  const auto log_density = [&](double a) {
    return -kappa * one_minus_cos(a) + (p == 0 ? 0.0 : p * std::log(std::sin(a)));
  };
  const double top = log_density(p == 0 ? 0.0 : mode);
  // Curvature at the mode kappa cos a + p / sin^2 a >= kappa cos a + p; beyond 30 widths nothing is left, on the far
  // side too, since the angle's density is log-concave up to pi/2 and falls faster than its tangent after that.
  const double width =
      1 / std::sqrt(kappa * std::max(0.1, std::cos(mode)) + p / std::max(1e-300, std::sin(mode) * std::sin(mode)));
  const auto f = [&](double a) {
    const double weight = std::exp(log_density(a) - top);
    return Weighted{weight, weight * one_minus_cos(a)};
  };
  const Weighted sum = integrate_panels(f, std::max(0.0, mode - 40 * width), std::min(kPi, mode + 60 * width), width);
  return {std::log(sphere_normalizer(d)) + top + std::log(sum.mass), sum.gap / sum.mass};
}

}  // namespace

RateDistortion rate_distortion(std::int64_t d, double bits) {
  require("rate_distortion", d, bits);
  const double nats = bits * static_cast<double>(d) * std::numbers::ln2;
  // R = kappa A - ln E exp(kappa X) = -kappa (1 - A) - ln E exp(-kappa (1 - X)), increasing in kappa.
  const auto excess = [&](double log_kappa) {
    const double kappa = std::exp(log_kappa);
    const FisherCap cap = fisher(d, kappa);
    return -kappa * cap.gap - cap.log_normalizer - nats;
  };
  const double guess = std::log(static_cast<double>(d)) + 2 * bits * std::numbers::ln2;
  const double kappa = std::exp(increasing_root(excess, guess));
  const double gap = fisher(d, kappa).gap;
  return {gap * (2 - gap), kappa};
}

double cap_converse(std::int64_t d, double bits) {
  require("cap_converse", d, bits);
  const double log_cells = bits * static_cast<double>(d) * std::numbers::ln2;
  if (log_cells < std::numbers::ln2 * (1 - 1e-12)) {
    throw_invalid_argument("cap_converse", "bits * d", std::to_string(bits * static_cast<double>(d)), "1 or more");
  }
  const double p = static_cast<double>(d - 2);
  const double log_normalizer = std::log(sphere_normalizer(d));
  // Integral over angles a < theta of (sin a / sin theta)^{d-2}: no underflow, however small the cap.
  const auto cap = [&](double theta) {
    const double top = std::log(std::sin(theta));
    const auto f = [&](double a) {
      const double weight = p == 0 ? 1 : std::exp(p * (std::log(std::sin(a)) - top));
      return Weighted{weight, weight * one_minus_cos(a)};
    };
    // ln sin is concave: below theta the weight falls at least like exp(-p cot(theta) (theta - a)) and, near pi/2, like
    // a Gaussian of width 1/sqrt(p).
    const double width = std::min(1.0, 1 / std::max(std::sqrt(p), p / std::tan(theta)));
    return integrate_panels(f, std::max(0.0, theta - 45 * width), theta, width);
  };
  const auto excess = [&](double log_theta) {
    const double theta = std::exp(log_theta);
    return log_normalizer + p * std::log(std::sin(theta)) + std::log(cap(theta).mass) + log_cells;
  };
  const double log_right_angle = std::log(kPi / 2);
  if (excess(log_right_angle) <= 0) {  // two cells: hemispheres
    const Weighted half = cap(kPi / 2);
    const double gap = half.gap / half.mass;
    return gap * (2 - gap);
  }
  double low = log_right_angle;
  while (excess(low) > 0) low -= 1;
  std::uintmax_t iterations = 200;
  const auto ends = boost::math::tools::toms748_solve(excess, low, log_right_angle,
                                                      boost::math::tools::eps_tolerance<double>(52), iterations);
  const Weighted at = cap(std::exp((ends.first + ends.second) / 2));
  const double gap = at.gap / at.mass;
  return gap * (2 - gap);
}

double high_rate_shannon(std::int64_t d, double bits) {
  require("high_rate_shannon", d, bits);
  const double n = static_cast<double>(d - 1);
  const double log_area =
      std::numbers::ln2 + static_cast<double>(d) / 2 * std::log(kPi) - boost::math::lgamma(static_cast<double>(d) / 2);
  return n / (2 * kPi * std::numbers::e) *
         std::exp(2 / n * log_area - 2 * std::numbers::ln2 * bits * static_cast<double>(d) / n);
}

double unbiased_floor(double distortion) { return distortion / (1 - distortion); }

}  // namespace orthant::bounds
