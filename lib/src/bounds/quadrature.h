#pragma once

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>

namespace orthant::bounds {

/// Gauss-Legendre, 20 nodes on each of equal panels at most `width` wide. For an integrand whose natural scale is sigma
/// and width <= sigma the rule's error (h/2)^41 (20!)^4 / (41 (40!)^3) |f^(40)| is below 1e-30 of the maximum.
template <class F>
auto integrate_panels(F&& f, double a, double b, double width) {
  using Rule = boost::math::quadrature::gauss<double, 20>;
  using Value = decltype(f(a));
  Value sum{};
  if (!(b > a)) return sum;
  const double panels = std::max(1.0, std::ceil((b - a) / width));
  const double step = (b - a) / panels;
  for (double k = 0; k < panels; ++k) {
    const double centre = a + (k + 0.5) * step;
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      const double offset = 0.5 * step * Rule::abscissa()[i];
      const double weight = 0.5 * step * Rule::weights()[i];
      sum = sum + weight * f(centre - offset);
      sum = sum + weight * f(centre + offset);
    }
  }
  return sum;
}

}  // namespace orthant::bounds
