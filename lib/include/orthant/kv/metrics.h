#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/core/moments.h"

namespace orthant::kv {

/// How far decoded rows x_hat lie from the rows x they stand for.
struct RowError {
  Moments relative;                   ///< |x - x_hat|^2 / |x|^2 of each row that is not zero
  std::uint64_t zero_rows = 0;        ///< rows of zeros: they have no relative error
  std::uint64_t zero_rows_wrong = 0;  ///< of these, the ones decoded to something else

  /// Rows one by one; sums in double. Shapes must agree (InvalidArgument).
  void add(MatrixView<const float> x, MatrixView<const float> x_hat);
  void merge(const RowError& other);
  /// Mean of the relative errors: the relative distortion.
  double distortion() const { return relative.mean(); }
};

/// What a change of keys and values does to attention, averaged over queries. With p = softmax(s) over the tokens that
/// the query sees, s_j = softmax_scale q . k_j, o = sum_j p_j v_j, and hats for the changed cache, for each query:
///   score error e_j = s_hat_j - s_j: its mean over j (signed) and mean square over j
///   KL(p || p_hat) = sum_j p_j ln(p_j / p_hat_j) in nats; exact attention first: the reverse is another number
///   top-1: argmax s = argmax s_hat, on both sides the lowest index among equals
///   output error |o - o_hat| / |o|
struct AttentionError {
  Moments score_bias;
  Moments score_square;
  Moments kl;
  Moments top1;                         ///< 1 where the top token is the same, 0 elsewhere
  Moments output_ratio;                 ///< queries with o = 0 have none
  double output_difference_square = 0;  ///< sum of |o - o_hat|^2
  double output_square = 0;             ///< sum of |o|^2

  void merge(const AttentionError& other);
  double score_rms() const;
  /// Mean KL; rounding can leave a tiny negative mean, which is returned as 0.
  double mean_kl() const;
  /// sqrt(sum |o - o_hat|^2 / sum |o|^2): hides a query that was wiped out, as the mean of ratios does not. 0 when
  /// every output is zero.
  double pooled_output_error() const;
};

/// KL(p || p_hat) in nats of two distributions given as probabilities; p_j = 0 adds nothing, p_hat_j = 0 < p_j gives
/// infinity. Throws InvalidArgument on different sizes.
double kl_divergence(std::span<const double> p, std::span<const double> p_hat);

/// |o - o_hat| / |o| of every row, and their pooled form, as part of an AttentionError.
void add_output_error(MatrixView<const float> exact, MatrixView<const float> approximate, AttentionError& error);

/// Tokens that one query sees: first, ..., last.
struct VisibleTokens {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Tokens whose values one query reads exactly although others read them coded: 0, ..., sinks - 1 and those from
/// `recent` on (KIVI's window, attention sinks).
struct ExactTokens {
  std::size_t sinks = 0;
  std::size_t recent = std::numeric_limits<std::size_t>::max();

  bool contains(std::size_t token) const { return token < sinks || token >= recent; }
};

/// Exact attention and attention over a changed cache side by side, one block of tokens after the other, so that no
/// buffer grows with the number of tokens: sums over tokens are kept relative to the largest score so far and rescaled
/// when it grows (Milakov & Gimelshein 2018). Scores come from single-precision products, exponentials and sums over
/// scores are double, outputs are single-precision sums. Identical scores and values give errors that are exactly zero.
/// One object serves one thread.
class AttentionComparison {
 public:
  /// One entry of `visible` for each query; softmax_scale multiplies the scores.
  AttentionComparison(std::vector<VisibleTokens> visible, double softmax_scale, std::size_t value_dim);

  /// Tokens first, ..., first + n - 1 with n = values.rows(), blocks in ascending order without a gap.
  ///   scores (queries, n): q . k;  score_errors (queries, n): estimate of q . k_hat minus q . k;
  ///   values, values_hat (n, value_dim). Entries of tokens that a query does not see are ignored.
  void add_block(std::size_t first, MatrixView<const float> scores, MatrixView<const float> score_errors,
                 MatrixView<const float> values, MatrixView<const float> values_hat);
  /// The same where query i reads the tokens of exact[i] as values_exact (n, value_dim) instead of values_hat.
  void add_block(std::size_t first, MatrixView<const float> scores, MatrixView<const float> score_errors,
                 MatrixView<const float> values, MatrixView<const float> values_hat,
                 MatrixView<const float> values_exact, std::span<const ExactTokens> exact);

  /// The errors over all queries. Every query must have been shown at least one visible token.
  AttentionError result() const;

 private:
  /// Softmax sums relative to the largest score so far.
  struct Softmax {
    double largest = 0;
    double sum = 0;
    std::size_t top = 0;
    bool started = false;
  };
  struct Query {
    Softmax exact;
    Softmax changed;
    double weighted_error = 0;  ///< sum_j exp(s_j - largest) e_j
    double error_sum = 0;
    double error_square_sum = 0;
    std::size_t tokens = 0;
  };
  /// Raises the running maximum to that of the block, rescaling sums and the output row; returns the factor.
  static double raise(Softmax& softmax, double largest, std::span<float> output);

  std::vector<VisibleTokens> visible_;
  double scale_;
  std::vector<Query> queries_;
  Matrix<float> exact_output_;
  Matrix<float> changed_output_;
};

}  // namespace orthant::kv
