#include "orthant/kv/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "core/gemm.h"
#include "orthant/core/error.h"

namespace orthant::kv {
namespace {

struct SquareSums {
  double difference = 0;
  double exact = 0;
};

SquareSums square_sums(std::span<const float> exact, std::span<const float> approximate) {
  SquareSums sums;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    const double difference = double{exact[j]} - double{approximate[j]};
    sums.difference += difference * difference;
    sums.exact += double{exact[j]} * double{exact[j]};
  }
  return sums;
}

}  // namespace

void RowError::add(MatrixView<const float> x, MatrixView<const float> x_hat) {
  require_size("RowError", "rows", x_hat.rows(), x.rows());
  require_size("RowError", "columns", x_hat.cols(), x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const SquareSums sums = square_sums(x.row(i), x_hat.row(i));
    if (sums.exact > 0) {
      relative.add(sums.difference / sums.exact);
    } else {
      ++zero_rows;
      if (sums.difference > 0) ++zero_rows_wrong;
    }
  }
}

void RowError::merge(const RowError& other) {
  relative.merge(other.relative);
  zero_rows += other.zero_rows;
  zero_rows_wrong += other.zero_rows_wrong;
}

void AttentionError::merge(const AttentionError& other) {
  score_bias.merge(other.score_bias);
  score_square.merge(other.score_square);
  kl.merge(other.kl);
  top1.merge(other.top1);
  output_ratio.merge(other.output_ratio);
  output_difference_square += other.output_difference_square;
  output_square += other.output_square;
}

double AttentionError::score_rms() const { return std::sqrt(score_square.mean()); }

double AttentionError::mean_kl() const { return std::max(kl.mean(), 0.0); }

double AttentionError::pooled_output_error() const {
  return output_square > 0 ? std::sqrt(output_difference_square / output_square) : 0;
}

double kl_divergence(std::span<const double> p, std::span<const double> p_hat) {
  require_size("kl_divergence", "size of the second distribution", p_hat.size(), p.size());
  double sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    if (p[j] == 0) continue;
    if (p_hat[j] == 0) return std::numeric_limits<double>::infinity();
    sum += p[j] * std::log(p[j] / p_hat[j]);
  }
  return sum;
}

void add_output_error(MatrixView<const float> exact, MatrixView<const float> approximate, AttentionError& error) {
  require_size("add_output_error", "rows", approximate.rows(), exact.rows());
  require_size("add_output_error", "columns", approximate.cols(), exact.cols());
  for (std::size_t i = 0; i < exact.rows(); ++i) {
    const SquareSums sums = square_sums(exact.row(i), approximate.row(i));
    error.output_difference_square += sums.difference;
    error.output_square += sums.exact;
    if (sums.exact > 0) error.output_ratio.add(std::sqrt(sums.difference / sums.exact));
  }
}

AttentionComparison::AttentionComparison(std::vector<VisibleTokens> visible, double softmax_scale,
                                         std::size_t value_dim)
    : visible_(std::move(visible)),
      scale_(softmax_scale),
      queries_(visible_.size()),
      exact_output_(visible_.size(), value_dim),
      changed_output_(visible_.size(), value_dim) {}

double AttentionComparison::raise(Softmax& softmax, double largest, std::span<float> output) {
  if (softmax.started && largest <= softmax.largest) return 1;
  const double factor = softmax.started ? std::exp(softmax.largest - largest) : 0;
  softmax.largest = largest;
  softmax.started = true;
  softmax.sum *= factor;
  for (float& x : output) x *= static_cast<float>(factor);
  return factor;
}

void AttentionComparison::add_block(std::size_t first, MatrixView<const float> scores,
                                    MatrixView<const float> score_errors, MatrixView<const float> values,
                                    MatrixView<const float> values_hat) {
  add_block(first, scores, score_errors, values, values_hat, {}, {});
}

void AttentionComparison::add_block(std::size_t first, MatrixView<const float> scores,
                                    MatrixView<const float> score_errors, MatrixView<const float> values,
                                    MatrixView<const float> values_hat, MatrixView<const float> values_exact,
                                    std::span<const ExactTokens> exact) {
  const std::size_t n = values.rows();
  require_size("AttentionComparison", "queries", scores.rows(), queries_.size());
  require_size("AttentionComparison", "score columns", scores.cols(), n);
  require_size("AttentionComparison", "rows of score errors", score_errors.rows(), queries_.size());
  require_size("AttentionComparison", "columns of score errors", score_errors.cols(), n);
  require_size("AttentionComparison", "value columns", values.cols(), exact_output_.cols());
  require_size("AttentionComparison", "rows of changed values", values_hat.rows(), n);
  require_size("AttentionComparison", "columns of changed values", values_hat.cols(), exact_output_.cols());
  if (!exact.empty()) {
    require_size("AttentionComparison", "queries with exact tokens", exact.size(), queries_.size());
    require_size("AttentionComparison", "rows of exact values", values_exact.rows(), n);
    require_size("AttentionComparison", "columns of exact values", values_exact.cols(), exact_output_.cols());
  }

  Matrix<float> weights(queries_.size(), n);
  Matrix<float> weights_hat(queries_.size(), n);
  Matrix<float> weights_exact(exact.empty() ? 0 : queries_.size(), n);  // taken out of weights_hat
  for (std::size_t i = 0; i < queries_.size(); ++i) {
    const std::size_t begin = std::max(visible_[i].first, first);
    const std::size_t end = std::min(visible_[i].last + 1, first + n);
    if (begin >= end) continue;
    Query& query = queries_[i];
    const auto score = scores.row(i).subspan(begin - first, end - begin);
    const auto error = score_errors.row(i).subspan(begin - first, end - begin);

    double largest = -std::numeric_limits<double>::infinity();
    double largest_hat = largest;
    std::size_t top = begin;
    std::size_t top_hat = begin;
    for (std::size_t j = 0; j < score.size(); ++j) {
      const double s = scale_ * double{score[j]};
      const double e = scale_ * double{error[j]};
      if (s > largest) {
        largest = s;
        top = begin + j;
      }
      if (s + e > largest_hat) {
        largest_hat = s + e;
        top_hat = begin + j;
      }
      query.error_sum += e;
      query.error_square_sum += e * e;
    }
    query.tokens += score.size();
    if (!query.exact.started || largest > query.exact.largest) query.exact.top = top;
    if (!query.changed.started || largest_hat > query.changed.largest) query.changed.top = top_hat;
    query.weighted_error *= raise(query.exact, largest, exact_output_.row(i));
    raise(query.changed, largest_hat, changed_output_.row(i));

    const auto weight = weights.row(i).subspan(begin - first);
    const auto weight_hat = weights_hat.row(i).subspan(begin - first);
    for (std::size_t j = 0; j < score.size(); ++j) {
      const double s = scale_ * double{score[j]};
      const double e = scale_ * double{error[j]};
      const double w = std::exp(s - query.exact.largest);
      const double w_hat = std::exp(s + e - query.changed.largest);
      query.exact.sum += w;
      query.changed.sum += w_hat;
      query.weighted_error += w * e;
      weight[j] = static_cast<float>(w);
      const bool reads_exact = !exact.empty() && exact[i].contains(begin + j);
      (reads_exact ? weights_exact(i, begin - first + j) : weight_hat[j]) = static_cast<float>(w_hat);
    }
  }
  multiply(weights.view(), values, exact_output_.view(), true);
  multiply(weights_hat.view(), values_hat, changed_output_.view(), true);
  if (!exact.empty()) multiply(weights_exact.view(), values_exact, changed_output_.view(), true);
}

AttentionError AttentionComparison::result() const {
  AttentionError error;
  Matrix<float> exact = exact_output_;
  Matrix<float> changed = changed_output_;
  for (std::size_t i = 0; i < queries_.size(); ++i) {
    const Query& query = queries_[i];
    assert(query.tokens > 0);
    const auto tokens = static_cast<double>(query.tokens);
    error.score_bias.add(query.error_sum / tokens);
    error.score_square.add(query.error_square_sum / tokens);
    error.top1.add(query.exact.top == query.changed.top ? 1 : 0);
    // KL = sum_j p_j (s_j - s_hat_j) + ln sum exp(s_hat) - ln sum exp(s).
    error.kl.add((query.changed.largest - query.exact.largest) + std::log(query.changed.sum / query.exact.sum) -
                 query.weighted_error / query.exact.sum);
    for (float& x : exact.row(i)) x = static_cast<float>(x / query.exact.sum);
    for (float& x : changed.row(i)) x = static_cast<float>(x / query.changed.sum);
  }
  add_output_error(exact.view(), changed.view(), error);
  return error;
}

}  // namespace orthant::kv
