#pragma once

#include <span>

#include "orthant/core/matrix_view.h"

namespace orthant::transform {

/// What a code is worth to attention: E (score error)^2 for keys and queries of known second moments, keys and queries
/// independent (matching.h). All errors are in the units of (q . k)^2, before the softmax scale.

/// The mean squared error of a rotation quantizer on a unit vector u, split by direction:
///   E[e e^T] = along u u^T + across (I - u u^T),   along + (d - 1) across = D.
/// TurboQuant mse under a Haar rotation: along = E <e, u>^2 = D^2 + Var <x_hat, x>, the rest shared by d - 1
/// directions.
struct ErrorLaw {
  double along = 0;
  double across = 0;
};

/// tr(M Sigma_k) tr(M^-1 Sigma_q) for a positive definite M, else InvalidArgument. Times D / d: the score error when
/// the error is isotropic.
double error_product(MatrixView<const double> metric, MatrixView<const double> key_moment,
                     MatrixView<const double> query_moment);

/// (sum_i sqrt(lambda_i))^2, the least error_product; importance as in MatchingMap.
double least_error_product(std::span<const double> importance);

/// Exactly, for keys and queries independent and the error law above, keys coded with the map A (M = A^T A) after
/// centring:
///   E (score error)^2 = across tr(M Sigma_k) tr(M^-1 Sigma_q) + (along - across) tr(Sigma_k Sigma_q).
double score_error(const ErrorLaw& law, MatrixView<const double> metric, MatrixView<const double> key_moment,
                   MatrixView<const double> query_moment);

/// 1/2 log2(plain / matched): bits per coordinate that the plain coder needs more for the same error (6 dB a bit).
double gain_bits(double plain, double matched);

/// Gaussian rate-distortion figure with the same second moments (reverse water-filling, Cover & Thomas, Th. 10.3.3):
///   error = sum_i min(level, lambda_i)   at   sum_i max(0, 1/2 log2(lambda_i / level)) = bits,
/// the level found in closed form. It is what no scheme that knows only second moments can promise to beat; it is not
/// a lower bound for actual, non-Gaussian keys.
struct GaussianBenchmark {
  double error = 0;
  double level = 0;
};
/// importance: any order, none negative; bits: of the whole vector, >= 0; else InvalidArgument.
GaussianBenchmark gaussian_benchmark(std::span<const double> importance, double bits);

}  // namespace orthant::transform
