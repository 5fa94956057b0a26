#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "orthant/kv/matched_keys.h"
#include "orthant/quantizer/concatenated.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/method.h"
#include "orthant/quantizer/streaming_quantizer.h"
#include "orthant/quantizer/vector_quantizer.h"
#include "orthant/transform/segments.h"

namespace orthant::kv {

/// Reads them from a method. centre=auto is a constant mean when there is a calibration, none otherwise.
MatchedKeyOptions matched_key_options(const quantizer::Method& method);
/// True when the method needs a calibration: it matches, centres or cuts segments.
bool needs_calibration(const quantizer::Method& method);
/// The method without them: what codes one framed, centred and mapped key.
quantizer::Method plain_method(const quantizer::Method& method);

/// What codes each segment of a mapped key, null where a segment has no bits; one part for one segment. Throws
/// InvalidArgument for several segments of a method that has no width to divide.
std::vector<quantizer::Concatenated::Part> segment_coders(const quantizer::Method& method, const MatchedHead& head,
                                                          std::size_t segments,
                                                          const quantizer::QuantizerContext& context);

/// The quantizer of framed keys: mean, map, and the method's codes; with segments, a quantizer for each, in no more
/// bytes than the method takes without. Throws InvalidArgument for segments of a method that has no width to divide.
std::unique_ptr<quantizer::VectorQuantizer> matched_quantizer(const quantizer::Method& method, const MatchedHead& head,
                                                              const quantizer::QuantizerContext& context);

/// What one head's mean, map and segments take in the cache. Learnt from the very tokens they code (calibration=self)
/// they are part of it: d floats of mean, d of a diagonal map or d^2 of a full one; of segments, an end and a width
/// each and, unless the map is full, the order of the channels in 16 bits each. From a calibration file they are
/// constants of the model, as its weights are: 0.
std::size_t learnt_bytes(const quantizer::Method& method, std::size_t dim);

/// The cache of one head under the method, learnt_bytes counted: framed keys through matched_quantizer, the first
/// sink=S and the last residual=R tokens exact. first_position: of token 0.
std::unique_ptr<quantizer::StreamingQuantizer> matched_stream(const quantizer::Method& method, const MatchedHead& head,
                                                              const quantizer::QuantizerContext& context,
                                                              std::size_t first_position);

/// The segments that matched_quantizer uses: of a method that takes `bytes` a vector, metadata_bytes of them no codes.
std::vector<transform::Segment> head_segments(const MatchedHead& head, std::size_t segments, std::size_t bytes,
                                              std::size_t metadata_bytes);

}  // namespace orthant::kv
