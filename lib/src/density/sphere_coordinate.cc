#include "orthant/density/sphere_coordinate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "density/panel_quadrature.h"
#include "orthant/core/error.h"

namespace orthant::density {
namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;

// Part of a moment over 0 <= a <= b, put together over the two halves; sign +1 for even moments, -1 for odd ones.
template <class Part>
long double over_halves(double a, double b, int sign, Part part) {
  a = std::clamp(a, -1.0, 1.0);
  b = std::clamp(b, -1.0, 1.0);
  if (!(a < b)) return 0;
  if (a >= 0) return part(a, b);
  if (b <= 0) return sign * part(-b, -a);
  return part(0, b) + sign * part(0, -a);
}

// sum_{n >= first} (d/2)_n / (3/2)_n y^n, all terms positive; y <= 1/2.
long double moment_series(std::int64_t d, long double y, int first) {
  long double term = 1;
  long double sum = first == 0 ? 1 : 0;
  for (int n = 0; n < 10000; ++n) {
    const long double ratio = y * (static_cast<long double>(d) / 2 + n) / (1.5L + n);
    term *= ratio;
    sum += term;
    if (ratio < 0.75L && term <= sum * 1e-21L) break;  // what is left is below 3 terms
  }
  return sum;
}

}  // namespace

long double sphere_normalizer(std::int64_t d) {
  if (d < 2) throw_invalid_argument("sphere_normalizer", "dimension", std::to_string(d), "at least 2");
  constexpr std::int64_t kRecursionEnd = 66;
  if (d < kRecursionEnd) {
    long double c = d % 2 == 0 ? 1 / kPi : 0.5L;  // C_2 and C_3; C_{k+2} = C_k k / (k - 1)
    for (std::int64_t k = 2 + d % 2; k < d; k += 2) c *= static_cast<long double>(k) / static_cast<long double>(k - 1);
    return c;
  }
  // ln Gamma(x + 1/2) / Gamma(x) = ln(x)/2 - sum_k (1 - 4^-k) B_2k / (k (2k-1)) x^{1-2k}: alternating and enveloping,
  // so the error is below the first term left out, 2e-24 at x = 32.5 after seven terms.
  constexpr long double kTerms[] = {-1.0L / 8,      1.0L / 192,         -1.0L / 640,         17.0L / 14336,
                                    -31.0L / 18432, 691.0L / 180224.0L, -5461.0L / 425984.0L};
  const long double x = static_cast<long double>(d - 1) / 2;
  long double sum = 0;
  for (int k = 6; k >= 0; --k) sum = sum / (x * x) + kTerms[k];
  return std::sqrt(x / kPi) * std::exp(sum / x);
}

SphereCoordinate::SphereCoordinate(std::int64_t d) : d_(d), normalizer_(0) {
  if (d < 1 || d > kMaxDim) {
    throw_invalid_argument("SphereCoordinate", "dimension", std::to_string(d), "1 to " + std::to_string(kMaxDim));
  }
  if (d >= 2) normalizer_ = sphere_normalizer(d);
}

double SphereCoordinate::pdf(double x) const {
  if (d_ == 1) return std::abs(x) == 1 ? std::numeric_limits<double>::infinity() : 0;
  if (!(std::abs(x) <= 1)) return std::isnan(x) ? x : 0;
  const long double exponent = static_cast<long double>(d_ - 3) / 2;
  if (d_ == 3) return 0.5;
  const long double y = static_cast<long double>(x) * x;
  return static_cast<double>(normalizer_ * std::exp(exponent * std::log1p(-y)));
}

long double SphereCoordinate::boundary_term(long double x) const {
  return normalizer_ * x * std::exp(static_cast<long double>(d_ - 1) / 2 * std::log1p(-x * x));
}

long double SphereCoordinate::tail_mass(long double x) const {
  if (d_ == 2) return std::acos(x) / kPi;
  if (d_ == 3) return (1 - x) / 2;
  return panels(0, x, 1).mass;
}

long double SphereCoordinate::central_mass(long double x) const {
  if (d_ == 2) return std::asin(x) / kPi;
  if (d_ == 3) return x / 2;
  if (x * x > std::min(0.5L, 4.0L / static_cast<long double>(d_))) return 0.5L - tail_mass(x);
  return boundary_term(x) * moment_series(d_, x * x, 0);
}

double SphereCoordinate::mass(double a, double b) const {
  if (d_ == 1) return static_cast<double>(cell_moments(0, a, b).mass);
  return static_cast<double>(over_halves(a, b, 1, [this](long double u, long double v) {
    if (u * u * static_cast<long double>(d_) > 1) return tail_mass(u) - tail_mass(v);
    return central_mass(v) - central_mass(u);
  }));
}

double SphereCoordinate::first_moment(double a, double b) const {
  if (d_ == 1) return static_cast<double>(cell_moments(0, a, b).first);
  return static_cast<double>(over_halves(a, b, -1, [this](long double u, long double v) -> long double {
    if (u >= 1) return 0;
    const long double p = static_cast<long double>(d_ - 1) / 2;
    const long double drop = std::expm1(p * std::log1p(-(v - u) * (v + u) / ((1 - u) * (1 + u))));
    return -normalizer_ / (2 * p) * std::exp(p * std::log1p(-u * u)) * drop;
  }));
}

double SphereCoordinate::second_moment(double a, double b) const {
  if (d_ == 1) return static_cast<double>(cell_moments(0, a, b).second);
  const auto d = static_cast<long double>(d_);
  return static_cast<double>(over_halves(a, b, 1, [this, d](long double u, long double v) {
    if (u * u * d > 1) return ((tail_mass(u) + boundary_term(u)) - (tail_mass(v) + boundary_term(v))) / d;
    const auto central = [this, d](long double x) {
      if (x * x > std::min(0.5L, 4.0L / d)) return (0.5L - tail_mass(x) - boundary_term(x)) / d;
      return boundary_term(x) / d * moment_series(d_, x * x, 1);
    };
    return central(v) - central(u);
  }));
}

CellMoments SphereCoordinate::panels(long double centre, long double a, long double b) const {
  // x = sin(theta): f_d(x) dx = C_d cos^{d-2}(theta) dtheta, entire in theta. -ln cos grows at least like
  // theta^2 / 2, so the reach of a Gaussian of variance 1 / (d - 2) holds everything.
  const auto power = static_cast<long double>(d_ - 2);
  const long double nearest = a > 0 ? a : (b < 0 ? -b : 0);
  const long double angle = std::asin(nearest);
  const long double reach = power > 0 ? std::min(kPi / 2, std::sqrt(angle * angle + kTail / power)) : kPi / 2;
  const long double lower = std::max(std::asin(a), -reach);
  const long double upper = std::min(std::asin(b), reach);
  return integrate_panels(centre, lower, upper, 1 / std::sqrt(std::max(power, 1.0L)), [&](long double theta) {
    const long double x = std::sin(theta);
    return std::pair(x, power > 0 ? normalizer_ * std::exp(power / 2 * std::log1p(-x * x)) : normalizer_);
  });
}

CellMoments SphereCoordinate::cell_moments(long double centre, long double a, long double b) const {
  if (d_ == 1) {
    CellMoments sum;
    for (const long double atom : {-1.0L, 1.0L}) {
      const bool inside = a < atom ? atom <= b : (a <= -1 && atom <= -1 && b >= -1);
      if (!inside) continue;
      sum.mass += 0.5L;
      sum.first += (atom - centre) / 2;
      sum.second += (atom - centre) * (atom - centre) / 2;
    }
    return sum;
  }
  a = std::clamp(a, -1.0L, 1.0L);
  b = std::clamp(b, -1.0L, 1.0L);
  if (!(a < b)) return {};
  return panels(centre, a, b);
}

}  // namespace orthant::density
