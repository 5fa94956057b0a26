#include "orthant/transform/second_moments.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::transform {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t kBlockRows = 256;  // chosen: the centred block stays in the second-level cache

void require_finite(MatrixView<const float> x) {
  for (std::size_t i = 0; i < x.rows(); ++i)
    for (std::size_t j = 0; j < x.cols(); ++j)
      if (!std::isfinite(x(i, j)))
        throw_invalid_argument("SecondMoments::add",
                               "value in row " + std::to_string(i) + ", column " + std::to_string(j),
                               std::to_string(x(i, j)), "a finite number");
}

}  // namespace

SecondMoments::SecondMoments(std::size_t dim) : mean_(dim), scatter_(dim, dim) {}

SecondMoments::SecondMoments(std::uint64_t count, std::vector<double> mean, MatrixView<const double> covariance)
    : count_(count), mean_(std::move(mean)), scatter_(mean_.size(), mean_.size()) {
  require_size("SecondMoments", "rows of the covariance", covariance.rows(), dim());
  require_size("SecondMoments", "columns of the covariance", covariance.cols(), dim());
  for (std::size_t i = 0; i < dim(); ++i) {
    if (!std::isfinite(mean_[i])) throw_invalid_argument("SecondMoments", "mean", std::to_string(mean_[i]), "finite");
    for (std::size_t j = 0; j <= i; ++j) {
      if (!std::isfinite(covariance(i, j)))
        throw_invalid_argument("SecondMoments", "covariance", std::to_string(covariance(i, j)), "finite");
      scatter_(i, j) = scatter_(j, i) = covariance(i, j) * static_cast<double>(count_);
    }
  }
}

void SecondMoments::add(MatrixView<const float> x) {
  require_size("SecondMoments::add", "columns", x.cols(), dim());
  require_finite(x);
  const auto d = static_cast<Eigen::Index>(dim());
  for (std::size_t first = 0; first < x.rows(); first += kBlockRows) {
    const std::size_t n = std::min(kBlockRows, x.rows() - first);
    RowMajor block(static_cast<Eigen::Index>(n), d);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < dim(); ++j)
        block(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = static_cast<double>(x(first + i, j));
    SecondMoments part(dim());
    part.count_ = n;
    Eigen::Map<Eigen::RowVectorXd> mean(part.mean_.data(), d);
    mean = block.colwise().mean();
    block.rowwise() -= mean;
    Eigen::Map<RowMajor> scatter(part.scatter_.data(), d, d);
    scatter.selfadjointView<Eigen::Lower>().rankUpdate(block.transpose());
    scatter.triangularView<Eigen::StrictlyUpper>() = scatter.transpose();
    merge(part);
  }
}

void SecondMoments::merge(const SecondMoments& other) {
  require_size("SecondMoments::merge", "dim", other.dim(), dim());
  if (other.count_ == 0) return;
  const auto na = static_cast<double>(count_);
  const auto nb = static_cast<double>(other.count_);
  const double share = nb / (na + nb);
  std::vector<double> step(dim());
  for (std::size_t j = 0; j < dim(); ++j) step[j] = other.mean_[j] - mean_[j];
  for (std::size_t i = 0; i < dim(); ++i)
    for (std::size_t j = 0; j < dim(); ++j) scatter_(i, j) += other.scatter_(i, j) + na * share * step[i] * step[j];
  for (std::size_t j = 0; j < dim(); ++j) mean_[j] += share * step[j];
  count_ += other.count_;
}

void SecondMoments::turn(const Rope& rope, double position) {
  require_size("SecondMoments::turn", "dim of the rope", rope.dim(), dim());
  const MatrixView<double> mean(mean_.data(), 1, dim());
  rope.turn(mean, position, mean);
  rope.turn_moment(scatter_.view(), position);
}

Matrix<double> SecondMoments::covariance() const {
  Matrix<double> out(dim(), dim());
  if (count_ == 0) return out;
  for (std::size_t i = 0; i < dim(); ++i)
    for (std::size_t j = 0; j < dim(); ++j) out(i, j) = scatter_(i, j) / static_cast<double>(count_);
  return out;
}

Matrix<double> SecondMoments::second_moment() const {
  Matrix<double> out = covariance();
  for (std::size_t i = 0; i < dim(); ++i)
    for (std::size_t j = 0; j < dim(); ++j) out(i, j) += mean_[i] * mean_[j];
  return out;
}

}  // namespace orthant::transform
