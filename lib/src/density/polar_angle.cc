#include "orthant/density/polar_angle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "density/panel_quadrature.h"
#include "orthant/core/error.h"

namespace orthant::density {
namespace {

constexpr long double kEnd = std::numbers::pi_v<long double> / 4;

}  // namespace

PolarAngle::PolarAngle(int level) : level_(level), power_((1 << (level < 2 || level > 10 ? 2 : level - 1)) - 1) {
  if (level < 2 || level > 10) throw_invalid_argument("PolarAngle", "level", std::to_string(level), "2 to 10");
  // 1 / c = integral of cos^(n-1) over a quarter turn each way, halved: (n-2)!!/(n-1)!! for even n, a finite product.
  constant_ = 1;
  for (int k = 3; k <= power_; k += 2) constant_ *= static_cast<long double>(k) / (k - 1);
}

Interval PolarAngle::support() const { return {-static_cast<double>(kEnd), static_cast<double>(kEnd)}; }

double PolarAngle::variance() const { return static_cast<double>(cell_moments(0, -kEnd, kEnd).second); }

double PolarAngle::pdf(double x) const {
  if (std::abs(x) > static_cast<double>(kEnd)) return 0;
  return static_cast<double>(constant_ * std::pow(std::cos(2 * static_cast<long double>(x)), power_));
}

double PolarAngle::mass(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).mass); }

double PolarAngle::first_moment(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).first); }

double PolarAngle::second_moment(double a, double b) const { return static_cast<double>(cell_moments(0, a, b).second); }

CellMoments PolarAngle::cell_moments(long double centre, long double a, long double b) const {
  // cos^p(2 psi) is about exp(-2 p psi^2): panels of one standard deviation, 1 / (2 sqrt p), as the rule asks.
  const long double panel = 0.5L / std::sqrt(static_cast<long double>(power_));
  return integrate_panels(centre, std::max(a, -kEnd), std::min(b, kEnd), panel, [&](long double psi) {
    struct Weighted {
      long double x;
      long double weight;
    };
    return Weighted{psi, constant_ * std::pow(std::cos(2 * psi), static_cast<long double>(power_))};
  });
}

}  // namespace orthant::density
