#pragma once

#include <cstdint>
#include <limits>

namespace orthant {

/// Count, mean, variance and range of a sample; two of them merge (Chan, Golub & LeVeque 1983).
/// Merging in a fixed order gives the same bits for any number of threads.
class Moments {
 public:
  Moments() = default;
  /// The sample whose accessors gave these values: a checkpoint read back, a part computed on another machine.
  Moments(std::uint64_t count, double mean, double sum_of_squares, double min, double max)
      : count_(count), mean_(mean), squares_(sum_of_squares), min_(min), max_(max) {}

  void add(double x);
  void merge(const Moments& other);

  std::uint64_t count() const { return count_; }
  /// 0 for an empty sample.
  double mean() const { return mean_; }
  /// Unbiased: sum (x - mean)^2 / (n - 1); 0 for n < 2.
  double variance() const;
  double standard_deviation() const;
  /// standard_deviation / sqrt(n); 0 for n < 2.
  double standard_error() const;
  /// sum (x - mean)^2.
  double sum_of_squares() const { return squares_; }
  /// +infinity and -infinity for an empty sample. A NaN that was added makes mean and variance NaN.
  double min() const { return min_; }
  double max() const { return max_; }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace orthant
