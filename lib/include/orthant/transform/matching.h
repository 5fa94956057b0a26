#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"

namespace orthant::transform {

/// Which linear map is fitted to keys and queries before a rotation quantizer.
///
/// A rotation quantizer of relative distortion D codes y = A (k - mu) with an error that is isotropic but for a part
/// along y. With M = A^T A, Sigma_k the covariance of the keys, Sigma_q the second moment of the queries and keys and
/// queries independent, the score error of k_hat = A^-1 y_hat + mu is
///   E <q, k_hat - k>^2 ~= (D / d) tr(M Sigma_k) tr(M^-1 Sigma_q).
/// Over all positive definite M, Cauchy-Schwarz in the trace inner product gives the minimum
///   (D / d) (sum_i sqrt(lambda_i))^2,  lambda_i the eigenvalues of Sigma_k^1/2 Sigma_q Sigma_k^1/2,
/// attained at the matrix geometric mean M = Sigma_k^-1 # Sigma_q, the solution of M Sigma_k M = Sigma_q. Over diagonal
/// M: M_jj = sqrt(Sigma_q,jj / Sigma_k,jj), with lambda_j = Sigma_k,jj Sigma_q,jj.
enum class Match {
  kNone,      ///< M = I
  kDiagonal,  ///< best diagonal M: a scale per channel
  kFull,      ///< best M: a dense map
};

/// Moments are (d, d), symmetric (the lower triangle is read) and finite, else InvalidArgument.

/// (1 - share) S + share tr(S)/d I, 0 <= share <= 1: every direction keeps at least share of the average. A moment of
/// trace 0 says nothing about directions and becomes I. For share > 0 the condition number is at most
/// 1 + (1 - share) d / share.
Matrix<double> shrunk(MatrixView<const double> s, double share);

/// The geometric mean A # B = A^1/2 (A^-1/2 B A^-1/2)^1/2 A^1/2 of two positive definite matrices: X A^-1 X = B.
/// Relative error of order d * epsilon * cond(A) (two symmetric eigen-decompositions, each backward stable).
/// Throws InvalidArgument unless both are positive definite, A with a condition number below 1e12.
Matrix<double> geometric_mean(MatrixView<const double> a, MatrixView<const double> b);

/// The optimal M of the given kind: I, a diagonal, or Sigma_k^-1 # Sigma_q.
/// cond(M) <= sqrt(cond(Sigma_k) cond(Sigma_q)). Errors as in geometric_mean.
Matrix<double> matching_metric(Match match, MatrixView<const double> key_covariance,
                               MatrixView<const double> query_moment);

/// The eigenvalues lambda_i of Sigma_k^1/2 Sigma_q Sigma_k^1/2, falling: what kFull gives as importance, but also for
/// moments without full rank (negative rounding is cut at 0).
std::vector<double> joint_spectrum(MatrixView<const double> key_covariance, MatrixView<const double> query_moment);

/// A factor A of M = A^T A whose rows are the directions in which keys and queries are judged:
///   A Sigma_k A^T and A^-T Sigma_q A^-1 have the same diagonal sqrt(lambda_i) (kFull: both are that diagonal matrix),
/// rows in order of falling lambda. kNone: A is a permutation and the two diagonals are those of the moments
/// themselves.
struct MatchingMap {
  Match match = Match::kNone;
  Matrix<double> forward;          ///< A
  Matrix<double> inverse;          ///< A^-1
  std::vector<double> importance;  ///< lambda_i >= lambda_{i+1} >= 0
};
MatchingMap matching_map(Match match, MatrixView<const double> key_covariance, MatrixView<const double> query_moment);

/// The same map with coordinate j made of channel j. Only segments need falling importance; without them a coder of
/// channels in their own order scores faster. Throws InvalidArgument for a full map.
MatchingMap in_channel_order(const MatchingMap& map);

/// The diagonals of A Sigma_k A^T and A^-T Sigma_q A^-1, direction by direction: second moments of mapped keys and
/// queries, of whatever moments, not only those the map was fitted to.
struct MappedMoments {
  std::vector<double> keys;
  std::vector<double> queries;
};
MappedMoments mapped_moments(const MatchingMap& map, MatrixView<const double> key_moment,
                             MatrixView<const double> query_moment);

}  // namespace orthant::transform
