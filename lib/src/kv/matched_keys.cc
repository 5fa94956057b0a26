#include "orthant/kv/matched_keys.h"

#include <numeric>
#include <string>
#include <utility>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "orthant/core/printable.h"
#include "orthant/transform/score_error.h"
#include "orthant/transform/segments.h"

namespace orthant::kv {
namespace {

using transform::Centre;
using transform::Segment;

double trace(const Matrix<double>& m) {
  double sum = 0;
  for (std::size_t i = 0; i < m.rows(); ++i) sum += m(i, i);
  return sum;
}

}  // namespace

MatchedHead match_head(const Calibration& calibration, const CalibratedLayer& layer, std::size_t head,
                       const MatchedKeyOptions& options, const KeyContext& context) {
  if (head >= layer.heads.size())
    throw_invalid_input("calibration of " + calibration.model, "KV head of layer " + std::to_string(layer.index),
                        std::to_string(head), "below " + std::to_string(layer.heads.size()));
  const HeadMoments& moments = layer.heads[head];
  const transform::Rope rope = calibration.rope(layer);
  std::vector<float> rotating;
  if (options.centre == Centre::kRotating) rotating.assign(moments.keys.mean().begin(), moments.keys.mean().end());
  MatchedHead result{transform::KeyFrame(rope, options.alignment, std::move(rotating)),
                     transform::frame_moments(moments.keys, moments.queries, rope, options.alignment, options.centre,
                                              context.tokens, context.distances),
                     {},
                     trace(moments.keys.second_moment())};
  try {
    const Matrix<double> keys = transform::shrunk(result.moments.key_covariance.view(), calibration.shrinkage);
    const Matrix<double> queries = transform::shrunk(result.moments.query_moment.view(), calibration.shrinkage);
    result.map = transform::matching_map(options.match, keys.view(), queries.view());
  } catch (const InvalidArgument& error) {
    throw InvalidInput(printable("calibration of " + calibration.model + ": the moments of layer " +
                                 std::to_string(layer.index) + ", KV head " + std::to_string(head) +
                                 " have no inverse (" + error.what() +
                                 "): more tokens or a larger shrinkage are needed"));
  }
  return result;
}

ErrorForecast forecast(const MatchedHead& head, int bits, std::size_t segments, std::span<const double> distortion) {
  const transform::FrameMoments& m = head.moments;
  const std::size_t d = m.mean.size();
  const double relative = distortion[static_cast<std::size_t>(bits)] / static_cast<double>(d);
  // Direction by direction: sums over all give the unsegmented error, sums over the parts the segmented one.
  const auto [keys, queries] = transform::mapped_moments(head.map, m.key_covariance.view(), m.query_moment.view());
  const auto sum = [](std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); };
  ErrorForecast result;
  result.plain = relative * head.key_energy * trace(m.query_moment);
  result.matched = relative * sum(keys) * sum(queries);
  const std::size_t norm_bytes = 2;
  const std::size_t bytes = packed_bytes(d, bits) + norm_bytes;
  for (const Segment& s : transform::best_segments(head.map.importance, distortion,
                                                   {.most = segments, .bytes = bytes, .norm_bytes = norm_bytes}))
    result.segmented += distortion[static_cast<std::size_t>(s.bits)] / static_cast<double>(s.count) *
                        sum(std::span(keys).subspan(s.first, s.count)) *
                        sum(std::span(queries).subspan(s.first, s.count));
  return result;
}

double gaussian_forecast(const transform::FrameMoments& moments, int bits) {
  const std::vector<double> spectrum =
      transform::joint_spectrum(moments.key_covariance.view(), moments.query_moment.view());
  return transform::gaussian_benchmark(spectrum, static_cast<double>(bits) * static_cast<double>(spectrum.size()))
      .error;
}

std::vector<double> sphere_distortions(std::size_t dim) {
  std::vector<double> distortions;
  for (int bits = 0; bits <= 8; ++bits)
    distortions.push_back(static_cast<double>(dim) *
                          codebook::sphere_codebook(static_cast<std::int64_t>(dim), bits).distortion());
  return distortions;
}

}  // namespace orthant::kv
