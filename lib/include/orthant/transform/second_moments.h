#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/transform/rope.h"

namespace orthant::transform {

/// Count, mean and scatter of vectors in R^d, streamed and mergeable (Chan, Golub & LeVeque 1983):
///   S_{ab} = S_a + S_b + (n_a n_b / n) (m_a - m_b)(m_a - m_b)^T.
/// No cancellation when the mean is large against the spread, as it is in keys. The same calls in the same order give
/// the same bits; to use threads, fill one object per part of the data and merge in the order of the parts.
/// Memory: d^2 doubles. Not synchronised.
class SecondMoments {
 public:
  explicit SecondMoments(std::size_t dim);
  /// The sample with these moments: what mean() and covariance() gave. covariance: (d, d), d = mean.size(), of which
  /// the lower triangle is read. Throws InvalidArgument on a shape mismatch or a value that is not finite.
  SecondMoments(std::uint64_t count, std::vector<double> mean, MatrixView<const double> covariance);

  /// x: (n, d). Throws InvalidArgument naming row and column at the first value that is not finite; nothing is added.
  void add(MatrixView<const float> x);
  void merge(const SecondMoments& other);
  /// As if every vector had been turned by the rope before it was added.
  void turn(const Rope& rope, double position);

  std::size_t dim() const { return mean_.size(); }
  std::uint64_t count() const { return count_; }
  /// Zero for an empty sample.
  std::span<const double> mean() const { return mean_; }
  /// (1/n) sum (x - mean)(x - mean)^T; zero for an empty sample.
  Matrix<double> covariance() const;
  /// (1/n) sum x x^T = covariance + mean mean^T.
  Matrix<double> second_moment() const;

 private:
  std::uint64_t count_ = 0;
  std::vector<double> mean_;
  Matrix<double> scatter_;
};

}  // namespace orthant::transform
