#include "orthant/density/truncated_gaussian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "density/panel_quadrature.h"
#include "orthant/core/error.h"

namespace orthant::density {

TruncatedGaussian::TruncatedGaussian(double mean, double sigma, double lower, double upper)
    : mu_(mean), sigma_(sigma), lower_(lower), upper_(upper), height_(1) {
  const auto refuse = [](const char* what, double got, const char* expected) {
    throw_invalid_argument("TruncatedGaussian", what, fmt::format("{}", got), expected);
  };
  if (!std::isfinite(mean)) refuse("mean", mean, "a finite number");
  if (!(sigma > 0 && std::isfinite(sigma))) refuse("sigma", sigma, "a positive finite number");
  if (!(lower < upper)) refuse("upper end", upper, "more than the lower end");
  const long double mass = cell_moments(mu_, lower, upper).mass;
  if (!(mass >= 1e-300L * sigma_)) refuse("probability of the interval", static_cast<double>(mass), "at least 1e-300");
  height_ = 1 / mass;
  const CellMoments about_mu = cell_moments(mu_, lower, upper);
  mean_ = static_cast<double>(mu_ + about_mu.first);
  variance_ = static_cast<double>(cell_moments(mu_ + about_mu.first, lower, upper).second);
}

std::string TruncatedGaussian::name() const {
  return fmt::format("gaussian({}, {}) on [{}, {}]", mu_, sigma_, lower_, upper_);
}

double TruncatedGaussian::pdf(double x) const {
  if (x < lower_ || x > upper_) return 0;
  const long double z = (static_cast<long double>(x) - mu_) / sigma_;
  return static_cast<double>(height_ * std::exp(-z * z / 2));
}

CellMoments TruncatedGaussian::cell_moments(long double centre, long double a, long double b) const {
  a = std::max(a, static_cast<long double>(lower_));
  b = std::min(b, static_cast<long double>(upper_));
  if (!(a < b)) return {};
  const long double nearest = std::max({(a - mu_) / sigma_, (mu_ - b) / sigma_, 0.0L});
  const long double reach = sigma_ * std::sqrt(nearest * nearest + kTail);
  return integrate_panels(centre, std::max(a, mu_ - reach), std::min(b, mu_ + reach), sigma_, [this](long double x) {
    const long double z = (x - mu_) / sigma_;
    return std::pair(x, height_ * std::exp(-z * z / 2));
  });
}

}  // namespace orthant::density
