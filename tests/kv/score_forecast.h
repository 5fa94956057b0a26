#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "orthant/bounds/mse_moments.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/moments.h"
#include "orthant/core/parallel_for.h"
#include "orthant/kv/calibration.h"
#include "orthant/kv/evaluate.h"
#include "orthant/kv/matched_quantizer.h"
#include "orthant/quantizer/policy.h"
#include "orthant/transform/score_error.h"

namespace orthant::kv {

/// E (score error)^2 of one layer, predicted from its second moments and measured under random rotations.
struct ForecastCheck {
  double predicted = 0;
  Moments measured;  ///< one value for each rotation

  double ratio() const { return measured.mean() / predicted; }
  double ratio_error() const { return measured.standard_error() / predicted; }
};

/// The error law of turbo-mse under Haar rotations, exact at every d.
inline transform::ErrorLaw turbo_law(std::size_t d, int bits) {
  const codebook::Codebook book = codebook::sphere_codebook(static_cast<std::int64_t>(d), bits);
  const bounds::MseMoments m =
      bounds::mse_moments(static_cast<std::int64_t>(d), {book.centroids().begin(), book.centroids().end()});
  return {m.residual_on_key, m.perpendicular_variance};
}

/// Moments of one head's keys and queries as cached, in place of averages over turned positions.
inline transform::FrameMoments moments_as_cached(const Dump& dump, std::size_t layer, std::size_t head,
                                                 std::size_t skipped, std::vector<double> mean) {
  const DumpLayer& shape = dump.layers()[layer];
  transform::SecondMoments keys(shape.head_dim), queries(shape.head_dim);
  Matrix<float> rows = dump.read(layer, DumpTensor::kKeys, head);
  const MatrixView<float> coded = rows.view().middle_rows(skipped, dump.tokens() - skipped);
  for (std::size_t i = 0; i < coded.rows(); ++i)
    for (std::size_t j = 0; j < coded.cols(); ++j) coded(i, j) -= static_cast<float>(mean[j]);
  keys.add(coded);
  for (std::size_t g = 0; g < shape.group_size(); ++g)
    queries.add(dump.read(layer, DumpTensor::kQueries, head * shape.group_size() + g).view());
  return {std::move(mean), keys.second_moment(), queries.second_moment()};
}

/// (law.across tr(M Sigma_k) tr(M^-1 Sigma_q) + (law.along - law.across) tr(Sigma_k Sigma_q)).
inline double predicted_error(const transform::ErrorLaw& law, const transform::MatchingMap& map,
                              const transform::FrameMoments& m) {
  const auto [keys, queries] = transform::mapped_moments(map, m.key_covariance.view(), m.query_moment.view());
  const auto sum = [](const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); };
  double both = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < keys.size(); ++j) both += m.key_covariance(i, j) * m.query_moment(i, j);
  return law.across * sum(keys) * sum(queries) + (law.along - law.across) * both;
}

/// Tokens that a query sees over those of them that are coded, averaged over queries: the first `exact` are not.
inline double seen_over_coded(const Dump& dump, const DumpLayer& shape, std::size_t exact) {
  double sum = 0;
  for (std::size_t q = 0; q < shape.query_tokens; ++q) {
    const std::size_t end = dump.tokens() - shape.query_tokens + q + 1;
    const std::size_t first = shape.window && end > *shape.window ? end - *shape.window : 0;
    sum += static_cast<double>(end - first) / static_cast<double>(end - std::max(first, exact));
  }
  return sum / static_cast<double>(shape.query_tokens);
}

/// options: the text behind "turbo-mse:BITS". The tokens that calibration skips are left out of both sides: the cache
/// keeps them exact. Keys coded as cached are predicted from their moments as cached, others from the
/// calibration alone.
inline ForecastCheck check_forecast(const Dump& dump, const Calibration& calibration, std::size_t layer, int bits,
                                    const std::string& options, std::uint64_t rotations) {
  const DumpLayer& shape = dump.layers()[layer];
  const std::size_t skipped = calibration.skipped;
  const quantizer::Method method =
      *quantizer::parse_policy("K=turbo-mse:" + std::to_string(bits) + options + ",sink=" + std::to_string(skipped))
           .keys;
  const std::size_t context = dump.first_position() + dump.tokens();
  const transform::ErrorLaw law = turbo_law(shape.head_dim, bits);
  const double scale = dump.softmax_scale() * dump.softmax_scale() / static_cast<double>(shape.kv_heads);
  ForecastCheck check;
  std::vector<MatchedHead> heads;
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    heads.push_back(match_head(calibration, calibration.layer(shape.index), h, matched_key_options(method),
                               {context, std::min(context, shape.window.value_or(context))}));
    const MatchedHead& head = heads.back();
    check.predicted += scale * predicted_error(law, head.map,
                                               head.frame.alignment().tile == transform::Alignment::kNone
                                                   ? moments_as_cached(dump, layer, h, skipped, head.moments.mean)
                                                   : head.moments);
  }
  std::vector<double> squares(rotations);
  parallel_for(rotations, 2, [&](std::size_t r) {
    quantizer::QuantizerContext vectors;
    vectors.seed = r + 1;
    CodingError error;
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      const auto stream = matched_stream(method, heads[h], vectors, dump.first_position());
      error.merge(evaluate_head(dump, layer, h, stream.get(), nullptr));
    }
    squares[r] = seen_over_coded(dump, shape, skipped) * error.attention.score_square.mean();
  });
  for (const double square : squares) check.measured.add(square);
  return check;
}

}  // namespace orthant::kv
