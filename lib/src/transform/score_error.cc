#include "orthant/transform/score_error.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "orthant/core/error.h"

namespace orthant::transform {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

auto map(MatrixView<const double> m) {
  return Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>(
      m.data(), static_cast<Eigen::Index>(m.rows()), static_cast<Eigen::Index>(m.cols()),
      Eigen::OuterStride<>(static_cast<Eigen::Index>(m.stride())));
}

void require_square(MatrixView<const double> m, std::size_t d, const char* what) {
  require_size("score_error", std::string("rows of the ") + what, m.rows(), d);
  require_size("score_error", std::string("columns of the ") + what, m.cols(), d);
}

}  // namespace

double error_product(MatrixView<const double> metric, MatrixView<const double> key_moment,
                     MatrixView<const double> query_moment) {
  const std::size_t d = metric.rows();
  require_square(metric, d, "metric");
  require_square(key_moment, d, "key moment");
  require_square(query_moment, d, "query moment");
  const Eigen::LLT<Eigen::MatrixXd> factor(map(metric));
  if (factor.info() != Eigen::Success)
    throw_invalid_argument("error_product", "metric", "a matrix without a Cholesky factor", "positive definite");
  const double keys = map(metric).cwiseProduct(map(key_moment)).sum();  // both symmetric: tr(M Sigma_k)
  return keys * factor.solve(Eigen::MatrixXd(map(query_moment))).trace();
}

double least_error_product(std::span<const double> importance) {
  double sum = 0;
  for (const double lambda : importance) sum += std::sqrt(lambda);
  return sum * sum;
}

double score_error(const ErrorLaw& law, MatrixView<const double> metric, MatrixView<const double> key_moment,
                   MatrixView<const double> query_moment) {
  const double product = error_product(metric, key_moment, query_moment);
  return law.across * product + (law.along - law.across) * map(key_moment).cwiseProduct(map(query_moment)).sum();
}

double gain_bits(double plain, double matched) { return 0.5 * std::log2(plain / matched); }

GaussianBenchmark gaussian_benchmark(std::span<const double> importance, double bits) {
  if (!(bits >= 0)) throw_invalid_argument("gaussian_benchmark", "bits", std::to_string(bits), "at least 0");
  std::vector<double> lambda(importance.begin(), importance.end());
  for (const double value : lambda)
    if (!(value >= 0) || !std::isfinite(value))
      throw_invalid_argument("gaussian_benchmark", "importance", std::to_string(value), "finite and not negative");
  std::sort(lambda.begin(), lambda.end(), std::greater<>());
  // With the k largest above water, sum_{i<k} 1/2 log2(lambda_i / level) = bits fixes the level; the right k is the
  // largest for which lambda_{k-1} is still at or above it.
  double level = lambda.empty() ? 0 : lambda.front();
  double logs = 0;
  for (std::size_t k = 1; k <= lambda.size() && lambda[k - 1] > 0; ++k) {
    logs += std::log2(lambda[k - 1]);
    const double candidate = std::exp2((logs - 2 * bits) / static_cast<double>(k));
    if (candidate > lambda[k - 1]) break;
    level = candidate;
  }
  GaussianBenchmark result{0, level};
  for (const double value : lambda) result.error += std::min(level, value);
  return result;
}

}  // namespace orthant::transform
