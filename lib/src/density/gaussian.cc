#include "orthant/density/gaussian.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "density/panel_quadrature.h"

namespace orthant::density {
namespace {

constexpr long double kInvSqrt2Pi = 0.398942280401432677939946059934381868L;

long double phi(long double x) { return kInvSqrt2Pi * std::exp(-x * x / 2); }
long double x_phi(long double x) { return std::isinf(x) ? 0 : x * phi(x); }
long double tail(long double x) { return std::erfc(x / std::numbers::sqrt2_v<long double>) / 2; }
long double central(long double x) { return std::erf(x / std::numbers::sqrt2_v<long double>) / 2; }

// M2(x) for |x| <= 1: x phi(x) sum_{n >= 1} x^{2n} / (3 5 ... (2n+1)); M0 - x phi would cancel.
long double central_second(long double x) {
  if (std::abs(x) > 1) return central(x) - x_phi(x);
  const long double y = x * x;
  long double term = 1;
  long double sum = 0;
  for (int n = 1; n < 60; ++n) {
    term *= y / (2 * n + 1);
    sum += term;
    if (term <= sum * 1e-21L) break;
  }
  return x_phi(x) * sum;
}

// Calls part(a, b) for 0 <= a <= b and puts the two half-lines together; sign is +1 for even, -1 for odd moments.
template <class Part>
long double over_halves(double a, double b, int sign, Part part) {
  if (!(a < b)) return 0;
  if (a >= 0) return part(a, b);
  if (b <= 0) return sign * part(-b, -a);
  return part(0, b) + sign * part(0, -a);
}

}  // namespace

double Gaussian::pdf(double x) const { return static_cast<double>(phi(x)); }

double Gaussian::mass(double a, double b) const {
  return static_cast<double>(over_halves(
      a, b, 1, [](long double u, long double v) { return u > 1 ? tail(u) - tail(v) : central(v) - central(u); }));
}

double Gaussian::first_moment(double a, double b) const {
  return static_cast<double>(over_halves(a, b, -1, [](long double u, long double v) {
    return std::isinf(v) ? phi(u) : -phi(u) * std::expm1(-(v - u) * (v + u) / 2);
  }));
}

double Gaussian::second_moment(double a, double b) const {
  return static_cast<double>(over_halves(a, b, 1, [](long double u, long double v) {
    return u > 1 ? (tail(u) + x_phi(u)) - (tail(v) + x_phi(v)) : central_second(v) - central_second(u);
  }));
}

CellMoments Gaussian::cell_moments(long double centre, long double a, long double b) const {
  if (!(a < b)) return {};
  const long double nearest = a > 0 ? a : (b < 0 ? -b : 0);
  const long double reach = std::sqrt(nearest * nearest + kTail);
  return integrate_panels(centre, std::max(a, -reach), std::min(b, reach), 1,
                          [](long double x) { return std::pair(x, phi(x)); });
}

}  // namespace orthant::density
