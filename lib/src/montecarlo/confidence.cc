#include "orthant/montecarlo/confidence.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <string>

#include "orthant/core/error.h"

namespace orthant::montecarlo {
namespace {

void require_alpha(double alpha) {
  if (!(alpha > 0 && alpha < 1)) {
    throw_invalid_argument("ConfidenceSequence", "alpha", std::to_string(alpha), "0 < alpha < 1");
  }
}

void require_state(std::size_t got, std::size_t expected) {
  if (got != expected) {
    throw_invalid_input("ConfidenceSequence::restore", "values", std::to_string(got), std::to_string(expected));
  }
}

/// The root of an increasing function that is negative at `low`; `step` is a first guess of how far it lies.
template <class F>
double root_above(F&& f, double low, double step) {
  double high = low + step;
  while (f(high) < 0) {
    low = high;
    step *= 2;
    high += step;
  }
  std::uintmax_t iterations = 200;
  // 40 bits: the interval's ends carry twelve digits, rounded outwards.
  return boost::math::tools::toms748_solve(f, low, high, boost::math::tools::eps_tolerance<double>(40), iterations)
      .second;
}

/// ln of the mixture of exp(l s - psi_E(l) v), psi_E(l) = (-ln(1 - c l) - c l) / c^2, over the density of l on [0, 1/c)
/// proportional to (1 - c l)^(r/c^2 - 1) exp(-r (1 - c l) / c^2): with u = 1 - c l all of it is an incomplete gamma.
double log_mixture(double s, double v, double r, double c) {
  const double square = c * c;
  const double k0 = r / square;
  const double k = (v + r) / square;
  const double rate = (c * s + v + r) / square;
  const auto log_integral = [](double shape, double x) {  // of u^(shape-1) exp(-x u) over [0, 1]
    return boost::math::lgamma(shape) + std::log(boost::math::gamma_p(shape, x)) - shape * std::log(x);
  };
  return log_integral(k, rate) - log_integral(k0, k0) + rate - k0;
}

/// The s at which the mixture reaches 1 / alpha: P(some S >= boundary(V)) <= alpha (Ville).
double boundary(double v, double r, double c, double alpha) {
  const double level = -std::log(alpha);
  return root_above([&](double s) { return log_mixture(s, v, r, c) - level; }, 0,
                    std::sqrt((v + r) * level) + c * level / 3);
}

class BoundedMean final : public ConfidenceSequence {
 public:
  BoundedMean(double lower, double upper, double centre, double alpha, Plan plan)
      : lower_(lower), upper_(upper), side_(alpha / 2), prediction_(centre) {
    require_alpha(alpha);
    if (!(std::isfinite(lower) && lower < centre && centre < upper && plan.trials > 0 && plan.standard_deviation > 0)) {
      throw InvalidArgument("bounded_mean: expected finite lower < centre < upper and a positive plan");
    }
    ceiling_ = std::min(upper, 2 * centre - lower);
    // The mixture is tightest near this V (Howard et al. 2021, section 3.5).
    const double log_term = -2 * std::log(side_);
    mixing_ = plan.trials * plan.standard_deviation * plan.standard_deviation / (log_term + std::log1p(log_term));
  }

  void add(const Moments& chunk) override {
    const double n = static_cast<double>(chunk.count());
    const double gap = chunk.mean() - prediction_;
    spread_ += chunk.sum_of_squares() + n * gap * gap;
    count_ += n;
    sum_ += n * chunk.mean();
    // What lies below the range voids both limits; what lies above it only the upper one, see the header.
    if (!std::isfinite(sum_) || (chunk.count() > 0 && chunk.min() < lower_)) broken_ = true;
    if (chunk.count() > 0 && chunk.max() > upper_) upper_ = std::numeric_limits<double>::infinity();
    prediction_ = std::clamp(sum_ / std::max(count_, 1.0), lower_, ceiling_);
  }

  Interval interval() const override {
    Interval all{lower_, upper_};
    if (broken_) return {};
    if (count_ == 0) return all;
    const double mean = sum_ / count_;
    all.lower = std::max(all.lower, mean - boundary(spread_, mixing_, ceiling_ - lower_, side_) / count_);
    if (std::isfinite(upper_)) {
      all.upper = std::min(all.upper, mean + boundary(spread_, mixing_, upper_ - lower_, side_) / count_);
    }
    return all;
  }

  std::string_view kind() const override { return "empirical Bernstein"; }
  std::vector<double> state() const override {
    return {count_, sum_, spread_, prediction_, upper_, broken_ ? 1.0 : 0.0};
  }
  void restore(std::span<const double> state) override {
    require_state(state.size(), 6);
    count_ = state[0];
    sum_ = state[1];
    spread_ = state[2];
    prediction_ = state[3];
    upper_ = state[4];
    broken_ = state[5] != 0;
  }

 private:
  double lower_;
  double upper_;
  double side_;
  double ceiling_ = 0;
  double mixing_ = 0;
  double count_ = 0;
  double sum_ = 0;
  double spread_ = 0;
  double prediction_;
  bool broken_ = false;
};

class Frequency final : public ConfidenceSequence {
 public:
  Frequency(double centre, double alpha) : a_(2 * centre), b_(2 - a_), level_(-std::log(alpha)) {
    require_alpha(alpha);
    if (!(centre > 0 && centre < 1)) {
      throw_invalid_argument("frequency", "centre", std::to_string(centre), "0 < centre < 1");
    }
  }

  void add(const Moments& chunk) override {
    count_ += static_cast<double>(chunk.count());
    // A mean of zeros and ones times the count is a whole number up to rounding.
    hits_ += std::round(chunk.mean() * static_cast<double>(chunk.count()));
    const bool zero_one = chunk.count() == 0 || (chunk.min() >= 0 && chunk.max() <= 1);
    if (!zero_one) broken_ = true;
  }

  Interval interval() const override {
    if (broken_) return {};
    if (count_ == 0) return {0, 1};
    const double misses = count_ - hits_;
    const double evidence = log_beta(a_ + hits_, b_ + misses) - log_beta(a_, b_);
    // Evidence against p, in nats, grows away from hits/n on both sides.
    const auto against = [&](double p) {
      const double likelihood = (hits_ > 0 ? hits_ * std::log(p) : 0) + (misses > 0 ? misses * std::log1p(-p) : 0);
      return evidence - likelihood - level_;
    };
    const double peak = hits_ / count_;
    return {hits_ == 0 ? 0 : edge(against, 0, peak), misses == 0 ? 1 : edge(against, 1, peak)};
  }

  std::string_view kind() const override { return "beta-binomial"; }
  std::vector<double> state() const override { return {count_, hits_, broken_ ? 1.0 : 0.0}; }
  void restore(std::span<const double> state) override {
    require_state(state.size(), 3);
    count_ = state[0];
    hits_ = state[1];
    broken_ = state[2] != 0;
  }

 private:
  static double log_beta(double a, double b) {
    return boost::math::lgamma(a) + boost::math::lgamma(b) - boost::math::lgamma(a + b);
  }
  /// The p between `rejected` (an end, never accepted when it is excluded by a count) and `accepted`, by bisection; the
  /// side that is still rejected is returned, so rounding only widens the interval.
  template <class F>
  static double edge(F&& against, double rejected, double accepted) {
    for (int i = 0; i < 200; ++i) {
      const double middle = (rejected + accepted) / 2;
      if (middle == rejected || middle == accepted) break;
      (against(middle) >= 0 ? rejected : accepted) = middle;
    }
    return rejected;
  }

  double a_;
  double b_;
  double level_;
  double count_ = 0;
  double hits_ = 0;
  bool broken_ = false;
};

class AsymptoticMean final : public ConfidenceSequence {
 public:
  AsymptoticMean(double alpha, Plan plan) : alpha_(alpha) {
    require_alpha(alpha);
    if (!(plan.trials > 0)) {
      throw_invalid_argument("asymptotic_mean", "plan.trials", std::to_string(plan.trials), "more than 0");
    }
    const double log_term = -2 * std::log(alpha);
    square_ = (log_term + std::log(log_term + 1)) / plan.trials;
  }

  void add(const Moments& chunk) override { all_.merge(chunk); }

  Interval interval() const override {
    constexpr std::uint64_t kFirstLook = 1000;
    if (all_.count() < kFirstLook || !std::isfinite(all_.mean())) return {};
    const double n = static_cast<double>(all_.count());
    const double r = n * square_ + 1;
    const double half =
        all_.standard_deviation() * std::sqrt(2 * r / (n * n * square_) * (std::log(r) / 2 - std::log(alpha_)));
    return {all_.mean() - half, all_.mean() + half};
  }

  std::string_view kind() const override { return "asymptotic"; }
  std::vector<double> state() const override {
    return {static_cast<double>(all_.count()), all_.mean(), all_.sum_of_squares(), all_.min(), all_.max()};
  }
  void restore(std::span<const double> state) override {
    require_state(state.size(), 5);
    all_ = Moments(static_cast<std::uint64_t>(state[0]), state[1], state[2], state[3], state[4]);
  }

 private:
  double alpha_;
  double square_ = 0;
  Moments all_;
};

}  // namespace

std::unique_ptr<ConfidenceSequence> bounded_mean(double lower, double upper, double centre, double alpha, Plan plan) {
  return std::make_unique<BoundedMean>(lower, upper, centre, alpha, plan);
}

std::unique_ptr<ConfidenceSequence> frequency(double centre, double alpha) {
  return std::make_unique<Frequency>(centre, alpha);
}

std::unique_ptr<ConfidenceSequence> asymptotic_mean(double alpha, Plan plan) {
  return std::make_unique<AsymptoticMean>(alpha, plan);
}

}  // namespace orthant::montecarlo
