#include "orthant/bounds/sketch.h"

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

constexpr double kHalfPi = std::numbers::pi / 2;

double rows(const char* where, std::int64_t m) {
  if (m < 1) throw_invalid_argument(where, "rows", std::to_string(m), "1 or more");
  return static_cast<double>(m);
}

}  // namespace

double qjl_variance(double rho, std::int64_t m) { return (kHalfPi - rho * rho) / rows("qjl_variance", m); }

double qjl_variance_printed(std::int64_t m) { return kHalfPi / rows("qjl_variance_printed", m); }

double qjl_tail_printed(double e, std::int64_t m) {
  return 2 * std::exp(-0.75 * rows("qjl_tail_printed", m) * e * e / (1 + e));
}

double qjl_tail_corrected(double e, std::int64_t m) {
  return 2 * std::exp(-rows("qjl_tail_corrected", m) * e * e / (std::numbers::pi + 4 * e / 3));
}

double qjl_tail_perpendicular(double e, std::int64_t m) {
  return std::erfc(e * std::sqrt(rows("qjl_tail_perpendicular", m) / std::numbers::pi));
}

double qjl_rows_printed(double e, double delta) { return 4.0 / 3 * (1 + e) / (e * e) * std::log(2 / delta); }

double qjl_rows_corrected(double e, double delta) {
  return (std::numbers::pi + 4 * e / 3) / (e * e) * std::log(2 / delta);
}

OrthogonalSketch orthogonal_sketch(std::int64_t d, bool repaired) {
  const double n = rows("orthogonal_sketch", d);
  // a = ||u||_1 / sqrt(d) of a uniform unit vector: the estimate at rho = 1 is sqrt(pi/2) a.
  const double mean = std::sqrt(n / std::numbers::pi) * boost::math::tgamma_delta_ratio(n / 2, 0.5);
  const double mean_square = 2 / std::numbers::pi + (1 - 2 / std::numbers::pi) / n;
  OrthogonalSketch s;
  s.factor = std::sqrt(kHalfPi) * mean;
  s.perpendicular = (kHalfPi - 1) / n;
  s.parallel = kHalfPi * mean_square - 2 * s.factor + 1;
  if (repaired) {
    const double square = s.factor * s.factor;
    s.perpendicular /= square;
    s.parallel = kHalfPi * mean_square / square - 1;
    s.factor = 1;
  }
  return s;
}

}  // namespace orthant::bounds
