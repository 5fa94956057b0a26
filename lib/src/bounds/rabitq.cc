#include "orthant/bounds/rabitq.h"

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "orthant/bounds/coordinate_law.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

double dimension(const char* where, std::int64_t d, std::int64_t least) {
  if (d < least) throw_invalid_argument(where, "d", std::to_string(d), std::to_string(least) + " or more");
  return static_cast<double>(d);
}

}  // namespace

double rabitq_mean_alignment(std::int64_t d) {
  const double n = dimension("rabitq_mean_alignment", d, 1);
  return std::sqrt(n / std::numbers::pi) * boost::math::tgamma_delta_ratio(n / 2, 0.5);
}

double rabitq_mean_square_alignment(std::int64_t d) {
  const double n = dimension("rabitq_mean_square_alignment", d, 1);
  return 2 / std::numbers::pi + (1 - 2 / std::numbers::pi) / n;
}

double rabitq_tail_theorem(double e0) { return 2 * std::exp(-e0 * e0 / 2); }

double rabitq_tail_exact(std::int64_t d, double e0, double rho) {
  const double n = dimension("rabitq_tail_exact", d, 2);
  if (std::abs(rho) >= 1) return 0;
  const double x = e0 / std::sqrt((n - 1) * (1 - rho * rho));
  if (d == 2) return x < 1 ? 1 : 0;  // S^0: X = +-1
  return 2 * CoordinateLaw::sphere(d - 1).upper_tail(x);
}

double rabitq_coverage(std::int64_t d, double e0) { return 1 - rabitq_tail_exact(d, e0, 0); }

double rabitq_error_rule(std::int64_t d, int bits) {
  return std::ldexp(5.75, -bits) / std::sqrt(dimension("rabitq_error_rule", d, 1));
}

double rabitq_error_constant(double uniform_distortion, int bits) {
  const double z = std::numbers::sqrt2 * boost::math::erf_inv(0.999);
  return std::ldexp(z * std::sqrt(uniform_distortion / (1 - uniform_distortion)), bits);
}

}  // namespace orthant::bounds
