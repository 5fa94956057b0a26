#include "orthant/bounds/turboquant.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "orthant/bounds/converse.h"
#include "orthant/bounds/coordinate_law.h"
#include "orthant/bounds/sketch.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

constexpr double kPi = std::numbers::pi;

/// 4^-b, exactly.
double quarter_power(int bits) { return std::ldexp(1.0, -2 * bits); }

std::optional<double> small_bits(const std::array<double, 4>& values, int bits) {
  if (bits < 1 || bits > 4) return std::nullopt;
  return values[static_cast<std::size_t>(bits - 1)];
}

}  // namespace

double theorem1(int bits) { return kPanterDite * quarter_power(bits); }

double theorem1_misprint_root(int bits) { return std::sqrt(3 * kPi) / 2 * quarter_power(bits); }

double theorem1_misprint_no_root(int bits) { return 1.5 * kPi * quarter_power(bits); }

std::optional<double> theorem1_refined(int bits) { return small_bits({0.36, 0.117, 0.03, 0.009}, bits); }

double panter_dite(std::int64_t d, int bits) {
  const double b = boost::math::beta(0.5, static_cast<double>(d + 3) / 6);
  return static_cast<double>(d) * sphere_normalizer(d) / 12 * b * b * b * quarter_power(bits);
}

double theorem2_times_d(int bits) { return std::numbers::sqrt3 * kPi * kPi * quarter_power(bits); }

std::optional<double> theorem2_refined_times_d(int bits) { return small_bits({1.57, 0.56, 0.18, 0.047}, bits); }

std::optional<double> theorem2_refined_corrected_times_d(int bits) {
  return small_bits({1.58, 0.571, 0.185, 0.0543}, bits);
}

double printed_lower_bound(int bits) { return quarter_power(bits); }

LowerBoundStatus printed_lower_bound_status(std::int64_t d, int bits) {
  if (cap_converse(d, bits) >= quarter_power(bits)) return LowerBoundStatus::kProved;
  // d = 2: 4^b D = 0.758 at b = 1, falling to the Panter-Dite value 0.597.
  return d == 2 ? LowerBoundStatus::kFalse : LowerBoundStatus::kOpen;
}

ProductError prod_error_gaussian(std::int64_t d, std::int64_t rows, const MseMoments& m) {
  // Given r, the sketch errs by N-like noise of variance ((pi/2) ||r||^2 - <r,y>^2) / rows for a unit y.
  const double s = static_cast<double>(rows);
  const double across = (m.distortion - m.residual_on_key) / static_cast<double>(d - 1);
  return {(kPi / 2 * m.distortion - across) / s, (kPi / 2 * m.distortion - m.residual_on_key) / s};
}

ProductError prod_error_orthogonal(std::int64_t d, const MseMoments& m, bool repaired) {
  const OrthogonalSketch sketch = orthogonal_sketch(d, repaired);
  const auto error = [&](double along) {
    return sketch.parallel * along + sketch.perpendicular * (m.distortion - along);
  };
  return {error((m.distortion - m.residual_on_key) / static_cast<double>(d - 1)), error(m.residual_on_key)};
}

MseMoments empty_stage() {
  MseMoments m;
  m.distortion = 1;
  m.residual_on_key = 1;
  return m;
}

double crossover_correlation(std::int64_t d, double mse_distortion, double prod_variance_times_d) {
  const double n = static_cast<double>(d);
  const double across = mse_distortion * (1 - mse_distortion) / n;
  const double along = mse_distortion * mse_distortion;
  const double excess = prod_variance_times_d / n - across;
  if (excess <= 0) return 0;
  return along <= across ? 1 : std::min(1.0, std::sqrt(excess / (along - across)));
}

double raw_variance_times_d(double distortion) { return distortion * (1 - distortion); }

double unbiased_variance_times_d(double distortion) { return distortion / (1 - distortion); }

}  // namespace orthant::bounds
