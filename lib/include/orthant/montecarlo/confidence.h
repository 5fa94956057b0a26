#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "orthant/core/moments.h"

namespace orthant::montecarlo {

struct Interval {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

/// A confidence interval that is valid at every sample size at once: with probability 1 - alpha the true mean lies in
/// interval() after EVERY chunk. A run may therefore look after each chunk and stop as soon as its verdict is safe.
/// Chunks of trials come in order; what is predicted for a chunk uses earlier chunks only.
/// Not thread-safe. Inputs that are not finite make every later interval infinite.
class ConfidenceSequence {
 public:
  virtual ~ConfidenceSequence() = default;
  virtual void add(const Moments& chunk) = 0;
  virtual Interval interval() const = 0;
  /// "empirical Bernstein", "beta-binomial" or "asymptotic".
  virtual std::string_view kind() const = 0;
  /// Everything add() changed, for a checkpoint; restore() continues with the same bits.
  virtual std::vector<double> state() const = 0;
  /// Throws InvalidInput when the number of values is wrong.
  virtual void restore(std::span<const double> state) = 0;
};

/// Where an interval should be tightest. Coverage holds for any plan.
struct Plan {
  double trials = 20000;            ///< sample size at which to be tightest
  double standard_deviation = 0.1;  ///< guess for one trial
};

/// Mean of a variable in [lower, upper], whatever its law: empirical Bernstein with a gamma-exponential mixture
/// (Howard, Ramdas, McAuliffe & Sekhon, Annals of Statistics 2021, Theorem 4 and Proposition 9).
///   With predictions p_i and V = sum (X_i - p_i)^2, exp(l S - psi(l) V) is a supermartingale for the upward sum S when
///   every p_i <= lower + c, and for the downward sum when every p_i >= upper - c; alpha/2 goes to either side.
/// `centre` is a guess of the mean: predictions stay in [lower, 2 centre - lower], which makes the lower limit (the one
/// that convicts) independent of `upper`; upper may be +infinity, and then so is the upper limit. A value
/// above `upper` makes it so, one below `lower` voids the interval.
std::unique_ptr<ConfidenceSequence> bounded_mean(double lower, double upper, double centre, double alpha, Plan plan);

/// Frequency of an event (chunks hold 0 and 1): beta-binomial mixture (Robbins 1970), exact at every sample size,
///   { p : B(a + s, b + n - s) / B(a, b) < p^s (1 - p)^(n - s) / alpha },
/// with a + b = 2 and mean a / (a + b) = centre, 0 < centre < 1.
std::unique_ptr<ConfidenceSequence> frequency(double centre, double alpha);

/// Mean of a variable with a finite variance and no known range: mean +- sd sqrt(2 (n r^2 + 1) / (n r)^2
/// ln(sqrt(n r^2 + 1) / alpha)) (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024, Theorem 2.2). Its coverage is a
/// limit as the first look grows; no interval is given before 1000 trials.
std::unique_ptr<ConfidenceSequence> asymptotic_mean(double alpha, Plan plan);

}  // namespace orthant::montecarlo
