#include "orthant/core/moments.h"

#include <algorithm>
#include <cmath>

namespace orthant {

void Moments::add(double x) {
  ++count_;
  const double before = x - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (x - mean_);
  min_ = std::min(min_, x);
  max_ = std::max(max_, x);
}

void Moments::merge(const Moments& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  const double n = static_cast<double>(count_);
  const double m = static_cast<double>(other.count_);
  const double gap = other.mean_ - mean_;
  count_ += other.count_;
  mean_ += gap * (m / (n + m));
  squares_ += other.squares_ + gap * gap * (n * m / (n + m));
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double Moments::variance() const { return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1); }

double Moments::standard_deviation() const { return std::sqrt(variance()); }

double Moments::standard_error() const { return count_ < 2 ? 0 : std::sqrt(variance() / static_cast<double>(count_)); }

}  // namespace orthant
