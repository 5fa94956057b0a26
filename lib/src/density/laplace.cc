#include "orthant/density/laplace.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "density/panel_quadrature.h"

namespace orthant::density {
namespace {

constexpr long double kRate = std::numbers::sqrt2_v<long double>;
constexpr long double kReach = 45;  // exp(-45 sqrt 2) = 2e-28 of the density at the near end is left out

}  // namespace

double Laplace::pdf(double x) const {
  return static_cast<double>(std::exp(-kRate * std::abs(static_cast<long double>(x))) / kRate);
}

CellMoments Laplace::cell_moments(long double centre, long double a, long double b) const {
  CellMoments sum;
  const auto add = [&](long double low, long double high) {
    if (!(low < high)) return;
    const CellMoments part = integrate_panels(
        centre, low, high, 1, [](long double x) { return std::pair(x, std::exp(-kRate * std::abs(x)) / kRate); });
    sum.mass += part.mass;
    sum.first += part.first;
    sum.second += part.second;
  };
  const long double start = std::max(a, 0.0L);
  const long double stop = std::min(b, 0.0L);
  add(std::max(a, stop - kReach), stop);
  add(start, std::min(b, start + kReach));
  return sum;
}

}  // namespace orthant::density
