#include "orthant/transform/matching.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::transform {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Symmetric = Eigen::SelfAdjointEigenSolver<MatrixXd>;

// Beyond it, A^-1/2 has fewer than four digits left in its weakest direction (d * epsilon * cond at d = 256).
constexpr double kLargestCondition = 1e12;

MatrixXd symmetric(const char* where, MatrixView<const double> s) {
  require_size(where, "columns of a moment", s.cols(), s.rows());
  const auto d = static_cast<Eigen::Index>(s.rows());
  MatrixXd out(d, d);
  for (std::size_t i = 0; i < s.rows(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      if (!std::isfinite(s(i, j)))
        throw_invalid_argument(where, "moment (" + std::to_string(i) + ", " + std::to_string(j) + ")",
                               std::to_string(s(i, j)), "a finite number");
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = s(i, j);
      out(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(i)) = s(i, j);
    }
  return out;
}

Matrix<double> to_matrix(const MatrixXd& m) {
  Matrix<double> out(static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols()));
  Eigen::Map<RowMajor>(out.data(), m.rows(), m.cols()) = m;
  return out;
}

Symmetric decompose(const char* where, const MatrixXd& s) {
  Symmetric solver(s);
  if (solver.info() != Eigen::Success)
    throw_invalid_argument(where, "eigen-decomposition", "no convergence", "a finite symmetric matrix");
  return solver;
}

Symmetric decompose_definite(const char* where, const MatrixXd& s) {
  Symmetric solver = decompose(where, s);
  const double low = solver.eigenvalues().minCoeff();
  const double high = solver.eigenvalues().maxCoeff();
  if (!(low > 0) || high > kLargestCondition * low)
    throw_invalid_argument(where, "eigenvalues of a moment", std::to_string(low) + " to " + std::to_string(high),
                           "positive ones with a ratio below 1e12; shrink the moment");
  return solver;
}

void require_definite(const char* where, const MatrixXd& s) {
  if (Eigen::LLT<MatrixXd>(s).info() != Eigen::Success)
    throw_invalid_argument(where, "a moment", "no Cholesky factor", "a positive definite matrix; shrink it");
}

VectorXd positive_diagonal(const char* where, const MatrixXd& s) {
  const VectorXd diagonal = s.diagonal();
  const double low = diagonal.minCoeff();
  if (!(low > 0)) throw_invalid_argument(where, "variance of a channel", std::to_string(low), "a positive one");
  return diagonal;
}

/// Sigma_k^1/2, Sigma_k^-1/2 and the decomposition U diag(lambda) U^T of Sigma_k^1/2 Sigma_q Sigma_k^1/2.
struct Pencil {
  MatrixXd root;
  MatrixXd inverse_root;
  VectorXd lambda;
  MatrixXd directions;
};

Pencil pencil(const char* where, const MatrixXd& keys, const MatrixXd& queries) {
  const Symmetric k = decompose_definite(where, keys);
  require_definite(where, queries);
  Pencil out;
  out.root = k.operatorSqrt();
  out.inverse_root = k.operatorInverseSqrt();
  const MatrixXd product = out.root * queries * out.root;
  const Symmetric c = decompose(where, 0.5 * (product + product.transpose()));
  out.lambda = c.eigenvalues().cwiseMax(0.0);
  out.directions = c.eigenvectors();
  return out;
}

MatchingMap diagonal_map(Match match, const VectorXd& scale, const VectorXd& lambda) {
  const auto d = static_cast<std::size_t>(lambda.size());
  std::vector<Eigen::Index> order(d);
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::sort(order, {}, [&](Eigen::Index j) { return std::pair(-lambda[j], j); });
  MatchingMap map{match, Matrix<double>(d, d), Matrix<double>(d, d), std::vector<double>(d)};
  for (std::size_t i = 0; i < d; ++i) {
    const auto j = static_cast<std::size_t>(order[i]);
    map.forward(i, j) = scale[order[i]];
    map.inverse(j, i) = 1 / scale[order[i]];
    map.importance[i] = lambda[order[i]];
  }
  return map;
}

MatchingMap full_map(const MatrixXd& keys, const MatrixXd& queries) {
  const Pencil p = pencil("matching_map", keys, queries);
  const double floor = p.lambda.maxCoeff() / (kLargestCondition * kLargestCondition);
  // A = Lambda^1/4 U^T Sigma_k^-1/2: A Sigma_k A^T = Lambda^1/2, A^T A = Sigma_k^-1 # Sigma_q.
  const VectorXd quarter = p.lambda.cwiseMax(floor).array().sqrt().sqrt();
  MatrixXd forward = quarter.asDiagonal() * p.directions.transpose() * p.inverse_root;
  MatrixXd inverse = p.root * p.directions * quarter.cwiseInverse().asDiagonal();
  const Eigen::Index d = p.lambda.size();
  MatchingMap map{Match::kFull, {}, {}, std::vector<double>(static_cast<std::size_t>(d))};
  for (Eigen::Index i = 0; i < d; ++i) map.importance[static_cast<std::size_t>(i)] = p.lambda[d - 1 - i];
  map.forward = to_matrix(forward.colwise().reverse());
  map.inverse = to_matrix(inverse.rowwise().reverse());
  return map;
}

}  // namespace

Matrix<double> shrunk(MatrixView<const double> s, double share) {
  if (!(share >= 0 && share <= 1)) throw_invalid_argument("shrunk", "share", std::to_string(share), "0 to 1");
  MatrixXd m = symmetric("shrunk", s);
  const Eigen::Index d = m.rows();
  const double mean = d == 0 ? 0 : m.trace() / static_cast<double>(d);
  if (mean == 0) return to_matrix(MatrixXd::Identity(d, d));
  m *= 1 - share;
  m.diagonal().array() += share * mean;
  return to_matrix(m);
}

Matrix<double> geometric_mean(MatrixView<const double> a, MatrixView<const double> b) {
  const MatrixXd first = symmetric("geometric_mean", a);
  const MatrixXd second = symmetric("geometric_mean", b);
  require_size("geometric_mean", "dim of the second matrix", b.rows(), a.rows());
  const Symmetric sa = decompose_definite("geometric_mean", first);
  require_definite("geometric_mean", second);
  const MatrixXd root = sa.operatorSqrt();
  const MatrixXd inverse_root = sa.operatorInverseSqrt();
  const MatrixXd inner = inverse_root * second * inverse_root;
  const MatrixXd middle = decompose("geometric_mean", 0.5 * (inner + inner.transpose())).operatorSqrt();
  const MatrixXd mean = root * middle * root;
  return to_matrix(0.5 * (mean + mean.transpose()));
}

MappedMoments mapped_moments(const MatchingMap& map, MatrixView<const double> key_moment,
                             MatrixView<const double> query_moment) {
  require_size("mapped_moments", "dim of the key moment", key_moment.rows(), map.forward.rows());
  require_size("mapped_moments", "dim of the query moment", query_moment.rows(), map.forward.rows());
  const auto d = static_cast<Eigen::Index>(map.forward.rows());
  const Eigen::Map<const RowMajor> forward(map.forward.data(), d, d);
  const Eigen::Map<const RowMajor> inverse(map.inverse.data(), d, d);
  const VectorXd keys = (forward * symmetric("mapped_moments", key_moment)).cwiseProduct(forward).rowwise().sum();
  const VectorXd queries = (inverse.transpose() * symmetric("mapped_moments", query_moment))
                               .cwiseProduct(inverse.transpose())
                               .rowwise()
                               .sum();
  return {{keys.begin(), keys.end()}, {queries.begin(), queries.end()}};
}

Matrix<double> matching_metric(Match match, MatrixView<const double> key_covariance,
                               MatrixView<const double> query_moment) {
  const MatchingMap map = matching_map(match, key_covariance, query_moment);
  const Eigen::Map<const RowMajor> a(map.forward.data(), static_cast<Eigen::Index>(map.forward.rows()),
                                     static_cast<Eigen::Index>(map.forward.cols()));
  return to_matrix(a.transpose() * a);
}

std::vector<double> joint_spectrum(MatrixView<const double> key_covariance, MatrixView<const double> query_moment) {
  require_size("joint_spectrum", "dim of the query moment", query_moment.rows(), key_covariance.rows());
  const MatrixXd keys = symmetric("joint_spectrum", key_covariance);
  const MatrixXd queries = symmetric("joint_spectrum", query_moment);
  // Any root of Sigma_k will do: with Sigma_k = L L^T, L^T Sigma_q L has the same eigenvalues.
  const Symmetric k = decompose("joint_spectrum", keys);
  const MatrixXd root = k.eigenvectors() * k.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
  const MatrixXd product = root.transpose() * queries * root;
  const VectorXd lambda = decompose("joint_spectrum", 0.5 * (product + product.transpose())).eigenvalues();
  std::vector<double> out(static_cast<std::size_t>(lambda.size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::max(0.0, lambda[lambda.size() - 1 - static_cast<Eigen::Index>(i)]);
  return out;
}

MatchingMap matching_map(Match match, MatrixView<const double> key_covariance, MatrixView<const double> query_moment) {
  require_size("matching_map", "dim of the query moment", query_moment.rows(), key_covariance.rows());
  const MatrixXd keys = symmetric("matching_map", key_covariance);
  const MatrixXd queries = symmetric("matching_map", query_moment);
  if (match == Match::kFull) return full_map(keys, queries);
  if (match == Match::kNone)
    return diagonal_map(match, VectorXd::Ones(keys.rows()), keys.diagonal().cwiseProduct(queries.diagonal()));
  const VectorXd k = positive_diagonal("matching_map", keys);
  const VectorXd q = positive_diagonal("matching_map", queries);
  // A_jj = (Sigma_q,jj / Sigma_k,jj)^1/4, so that A_jj^2 = M_jj.
  return diagonal_map(match, q.cwiseQuotient(k).array().sqrt().sqrt(), k.cwiseProduct(q));
}

MatchingMap in_channel_order(const MatchingMap& map) {
  if (map.match == Match::kFull)
    throw_invalid_argument("in_channel_order", "match", "full", "none or diag: a full map mixes channels");
  const std::size_t d = map.importance.size();
  MatchingMap ordered{map.match, Matrix<double>(d, d), Matrix<double>(d, d), std::vector<double>(d)};
  for (std::size_t i = 0; i < d; ++i) {
    const auto row = map.forward.row(i);
    const auto j = static_cast<std::size_t>(std::ranges::find_if(row, [](double v) { return v != 0; }) - row.begin());
    ordered.forward(j, j) = map.forward(i, j);
    ordered.inverse(j, j) = map.inverse(j, i);
    ordered.importance[j] = map.importance[i];
  }
  return ordered;
}

}  // namespace orthant::transform
