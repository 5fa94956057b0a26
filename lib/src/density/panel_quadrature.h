#pragma once

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>

#include "orthant/density/density.h"

namespace orthant::density {

namespace detail {
template <unsigned kNodes, class At>
void add_panel(CellMoments& sum, long double centre, long double middle, long double half, const At& at) {
  using Rule = boost::math::quadrature::gauss<long double, kNodes>;
  for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
    for (const long double side : {-1.0L, 1.0L}) {
      const auto [x, weight] = at(middle + side * half * Rule::abscissa()[i]);
      const long double w = half * Rule::weights()[i] * weight;
      const long double offset = x - centre;
      sum.mass += w;
      sum.first += w * offset;
      sum.second += w * offset * offset;
      if (Rule::abscissa()[i] == 0) break;  // the middle point of an odd rule has no mirror image
    }
  }
}
}  // namespace detail

/// Moments about `centre` of the integral over [lower, upper], by Gauss-Legendre panels at most `panel` wide.
/// at(s) returns {x, weight}: the point and the density with respect to ds.
/// The n-point rule errs by w^{2n+1} n!^4 / ((2n+1) (2n)!^3) |f^(2n)| on a panel of width w. For f = exp(-s^2/2), s <
/// 7, and panel 1 that is below 1e-24 with 20 points, below 1e-25 with 10 points on a quarter panel, and below 1e-28
/// with 7 points on a sixteenth: rounding is all that remains.
template <class At>
CellMoments integrate_panels(long double centre, long double lower, long double upper, long double panel,
                             const At& at) {
  CellMoments sum;
  if (!(lower < upper)) return sum;
  if (upper - lower <= panel / 16) {
    detail::add_panel<7>(sum, centre, (lower + upper) / 2, (upper - lower) / 2, at);
    return sum;
  }
  if (upper - lower <= panel / 4) {
    detail::add_panel<10>(sum, centre, (lower + upper) / 2, (upper - lower) / 2, at);
    return sum;
  }
  const long double count = std::ceil((upper - lower) / panel);
  const long double half = (upper - lower) / (2 * count);
  for (long double k = 0; k < count; ++k) detail::add_panel<20>(sum, centre, lower + (2 * k + 1) * half, half, at);
  return sum;
}

/// (lower, upper) of a panel integration of exp(-s^2/2)-like tails: beyond sqrt(s^2 + kTail) nothing is left in
/// extended precision, exp(-kTail / 2) = 9e-27 of the density at s.
inline constexpr long double kTail = 120;

}  // namespace orthant::density
