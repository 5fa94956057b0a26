#include "orthant/kv/matched_key_coder.h"

#include <string>
#include <utility>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/kv/matched_quantizer.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/matched_transform.h"

namespace orthant::kv {
namespace {

using quantizer::Method;
using quantizer::QuantizerContext;
using quantizer::TurboMse;
using transform::Match;
using Segment = cache::MatchedKeyCoder::Segment;

std::vector<Segment> segments_of(const Method& method, const MatchedHead& head, std::size_t most,
                                 const QuantizerContext& context) {
  std::vector<Segment> segments;
  for (const quantizer::Concatenated::Part& part : segment_coders(method, head, most, context)) {
    const auto coder = std::dynamic_pointer_cast<const TurboMse>(part.quantizer);
    if (part.quantizer && !coder)
      throw_invalid_argument("matched_key_coder", "method", method.to_string(), "turbo-mse or eden");
    segments.push_back({part.dim, coder});
  }
  return segments;
}

/// In the channels' own order where nothing needs another; null for the identity.
std::shared_ptr<const transform::Transform> map_of(const MatchedHead& head, const MatchedKeyOptions& options) {
  if (options.segments > 1 || options.match == Match::kFull)
    return std::make_shared<transform::MatchedTransform>(head.map);
  if (options.match == Match::kNone) return nullptr;
  return std::make_shared<transform::MatchedTransform>(transform::in_channel_order(head.map));
}

}  // namespace

std::shared_ptr<const cache::MatchedKeyCoder> matched_key_coder(const Method& method, const MatchedHead& head,
                                                                const QuantizerContext& context) {
  const MatchedKeyOptions options = matched_key_options(method);
  std::vector<float> mean(head.map.importance.size());
  if (options.centre == transform::Centre::kMean) mean.assign(head.moments.mean.begin(), head.moments.mean.end());
  return std::make_shared<cache::MatchedKeyCoder>(head.frame, std::move(mean), map_of(head, options),
                                                  segments_of(plain_method(method), head, options.segments, context));
}

}  // namespace orthant::kv
