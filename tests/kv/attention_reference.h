#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/kv/metrics.h"

namespace orthant::kv {

/// The definitions, word by word, in double: what the streaming form must reproduce.
struct Reference {
  double bias = 0, square = 0, kl = 0, top1 = 0, ratio = 0, difference = 0, exact = 0;
};

inline Reference reference(MatrixView<const float> scores, MatrixView<const float> errors,
                           MatrixView<const float> values, MatrixView<const float> values_hat,
                           std::span<const VisibleTokens> visible, double scale) {
  Reference mean;
  const auto n = static_cast<double>(scores.rows());
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const std::size_t first = visible[i].first;
    const std::size_t count = visible[i].last - first + 1;
    std::vector<double> s(count), s_hat(count), p(count), p_hat(count);
    for (std::size_t j = 0; j < count; ++j) {
      s[j] = scale * double{scores(i, first + j)};
      s_hat[j] = s[j] + scale * double{errors(i, first + j)};
      mean.bias += (s_hat[j] - s[j]) / static_cast<double>(count) / n;
      mean.square += (s_hat[j] - s[j]) * (s_hat[j] - s[j]) / static_cast<double>(count) / n;
    }
    const auto softmax = [](const std::vector<double>& x, std::vector<double>& out) {
      const double largest = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const double v : x) sum += std::exp(v - largest);
      for (std::size_t j = 0; j < x.size(); ++j) out[j] = std::exp(x[j] - largest) / sum;
      return std::max_element(x.begin(), x.end()) - x.begin();
    };
    if (softmax(s, p) == softmax(s_hat, p_hat)) mean.top1 += 1 / n;
    mean.kl += kl_divergence(p, p_hat) / n;
    double difference = 0, exact = 0;
    for (std::size_t c = 0; c < values.cols(); ++c) {
      double o = 0, o_hat = 0;
      for (std::size_t j = 0; j < count; ++j) {
        o += p[j] * double{values(first + j, c)};
        o_hat += p_hat[j] * double{values_hat(first + j, c)};
      }
      difference += (o - o_hat) * (o - o_hat);
      exact += o * o;
    }
    mean.ratio += std::sqrt(difference / exact) / n;
    mean.difference += difference;
    mean.exact += exact;
  }
  return mean;
}

}  // namespace orthant::kv
