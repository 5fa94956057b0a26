#include "orthant/bounds/mse_moments.h"

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "bounds/quadrature.h"
#include "orthant/bounds/coordinate_law.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

/// Per-coordinate summands, r = y - q(y):  r^2, r y and q^2 - y^2 = r^2 - 2 r y. All are small when the code is good,
/// so that sums of them keep their digits.
struct Summands {
  std::array<double, 3> value{};

  double operator[](std::size_t k) const { return value[k]; }
  friend Summands operator+(Summands a, const Summands& b) {
    for (std::size_t k = 0; k < a.value.size(); ++k) a.value[k] += b.value[k];
    return a;
  }
  friend Summands operator*(double w, Summands a) {
    for (double& v : a.value) v *= w;
    return a;
  }
};

Summands summands(double y, double level) {
  const double r = y - level;
  return {{r * r, r * y, r * r - 2 * r * y}};
}

/// A tie goes to the lower level.
double nearest_level(const std::vector<double>& levels, const std::vector<double>& t, double y) {
  return levels[static_cast<std::size_t>(std::lower_bound(t.begin(), t.end(), y) - t.begin())];
}

/// E[summands(y_2)] given y_1, over y_2 = s u, s = sqrt(1 - y_1^2), u a coordinate of S^{d-2}.
class Conditional {
 public:
  Conditional(std::int64_t d, const std::vector<double>& levels, const std::vector<double>& t)
      : levels_(levels), t_(t), exponent_(static_cast<double>(d - 3)), pair_(d == 2) {
    if (pair_) return;
    normalizer_ = sphere_normalizer(d - 1);
    width_ = 1 / std::sqrt(static_cast<double>(d - 1));
    reach_ = std::min(std::numbers::pi / 2, 39 / std::sqrt(std::max(1.0, exponent_)));
  }

  Summands operator()(double s) const {
    if (pair_)
      return 0.5 *
             (summands(s, nearest_level(levels_, t_, s)) + summands(-s, nearest_level(levels_, t_, -s)));  // u = +-1
    Summands sum{};
    double low = -reach_;
    for (std::size_t i = 0; i < levels_.size() && low < reach_; ++i) {
      const double end = i + 1 == levels_.size() ? 1.0 : std::clamp(t_[i] / s, -1.0, 1.0);
      const double high = std::min(reach_, std::asin(end));
      if (high <= low) continue;
      sum = sum + integrate_panels(
                      [&](double angle) {
                        const double u = std::sin(angle);
                        const double f = std::exp(exponent_ / 2 * std::log1p(-u * u));
                        return f * summands(s * u, levels_[i]);
                      },
                      low, high, width_);
      low = high;
    }
    return normalizer_ * sum;
  }

 private:
  const std::vector<double>& levels_;
  const std::vector<double>& t_;
  double exponent_;
  bool pair_;
  double normalizer_ = 0;
  double width_ = 1;
  double reach_ = 0;
};

double square_error(const std::vector<double>& levels, const std::vector<double>& t, double y) {
  const double r = y - nearest_level(levels, t, y);
  return r * r;
}

/// Where the outer integrand has kinks: the cells' ends, and where a cell of y_2 vanishes, |y_1| = sqrt(1 - t^2).
std::vector<double> breakpoints(const std::vector<double>& t) {
  std::vector<double> ends{-1.0, 1.0};
  for (const double b : t) {
    if (std::abs(b) >= 1) continue;
    const double vanishing = std::sqrt((1 - b) * (1 + b));
    ends.insert(ends.end(), {b, vanishing, -vanishing});
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

}  // namespace

MseMoments mse_moments(std::int64_t d, const std::vector<double>& levels) {
  if (d < 2) throw_invalid_argument("mse_moments", "d", std::to_string(d), "2 or more");
  const std::vector<double> t = midpoints(levels);
  const Conditional conditional(d, levels, t);
  const double exponent = static_cast<double>(d - 2);
  const double width = 1 / std::sqrt(static_cast<double>(d));
  const double reach = std::min(std::numbers::pi / 2, 39 / std::sqrt(std::max(1.0, exponent)));

  Summands mean{};
  Summands square{};
  Summands product{};
  const std::vector<double> ends = breakpoints(t);
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    const double low = std::max(-reach, std::asin(ends[k]));
    const double high = std::min(reach, std::asin(ends[k + 1]));
    if (high <= low) continue;
    const double middle = std::sin((low + high) / 2);
    const double level = nearest_level(levels, t, middle);
    const double panels = std::ceil((high - low) / width);
    const double step = (high - low) / panels;
    for (double j = 0; j < panels; ++j) {
      // angle = a + step v^2 (3 - 2v): the square-root kinks where a cell vanishes become smooth in v.
      const double a = low + j * step;
      const auto visit = [&](double v, double weight) {
        const double angle = a + step * v * v * (3 - 2 * v);
        const double y = std::sin(angle);
        const double f = std::exp(exponent / 2 * std::log1p(-y * y));
        const double w = weight * 6 * v * (1 - v) * step * f;
        const Summands own = summands(y, level);
        const Summands other = conditional(std::cos(angle));
        for (std::size_t i = 0; i < own.value.size(); ++i) {
          mean.value[i] += w * own[i];
          square.value[i] += w * own[i] * own[i];
          product.value[i] += w * own[i] * other[i];
        }
      };
      using Rule = boost::math::quadrature::gauss<double, 20>;
      for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
        visit(0.5 - 0.5 * Rule::abscissa()[i], 0.5 * Rule::weights()[i]);
        visit(0.5 + 0.5 * Rule::abscissa()[i], 0.5 * Rule::weights()[i]);
      }
    }
  }
  const double n = static_cast<double>(d);
  const double c = sphere_normalizer(d);
  std::array<double, 3> expectation{};
  std::array<double, 3> second{};
  for (std::size_t i = 0; i < expectation.size(); ++i) {
    expectation[i] = n * c * mean[i];
    second[i] = n * c * square[i] + n * (n - 1) * c * product[i];
  }
  MseMoments m;
  m.distortion = expectation[0];
  m.distortion_variance = second[0] - expectation[0] * expectation[0];
  m.alignment = 1 - expectation[1];
  m.residual_on_key = second[1];
  m.alignment_variance = second[1] - expectation[1] * expectation[1];
  m.norm_square_variance = second[2] - expectation[2] * expectation[2];
  m.perpendicular_variance = (m.distortion - m.residual_on_key) / (n - 1);
  return m;
}

double mse_inner_product_error(const MseMoments& m, double rho) {
  return rho * rho * m.residual_on_key + (1 - rho * rho) * m.perpendicular_variance;
}

double flat_vector_distortion(std::int64_t d, const std::vector<double>& levels) {
  if (d < 1) throw_invalid_argument("flat_vector_distortion", "d", std::to_string(d), "1 or more");
  const std::vector<double> t = midpoints(levels);
  const double n = static_cast<double>(d);
  const double y = 1 / std::sqrt(n);
  return n * (square_error(levels, t, y) + square_error(levels, t, -y)) / 2;
}

double half_zero_vector_distortion(std::int64_t d, const std::vector<double>& levels) {
  if (d < 2) throw_invalid_argument("half_zero_vector_distortion", "d", std::to_string(d), "2 or more");
  const std::vector<double> t = midpoints(levels);
  const double n = static_cast<double>(d);
  const double y = std::sqrt(2 / n);
  return n / 2 * (square_error(levels, t, 0) + (square_error(levels, t, y) + square_error(levels, t, -y)) / 2);
}

}  // namespace orthant::bounds
