#include "orthant/kv/matched_quantizer.h"

#include <cstdint>
#include <string>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/quantizer/centred.h"
#include "orthant/quantizer/row_blocks.h"
#include "orthant/quantizer/transformed_quantizer.h"
#include "orthant/transform/matched_transform.h"
#include "quantizer/method_values.h"

namespace orthant::kv {
namespace {

using quantizer::Method;
using quantizer::QuantizerContext;
using quantizer::VectorQuantizer;
using transform::Centre;
using transform::Match;
using transform::Segment;

/// The segment's end in 16 bits, its width in 8.
constexpr std::size_t kBytesPerSegment = 3;

}  // namespace

std::vector<quantizer::Concatenated::Part> segment_coders(const Method& method, const MatchedHead& head,
                                                          std::size_t segments, const QuantizerContext& context) {
  const std::size_t d = head.map.importance.size();
  if (segments > 1 && !method.has("bits"))
    throw_invalid_argument("method \"" + method.to_string() + '"', "segments", std::to_string(segments),
                           "1: the method has no width to divide");
  std::shared_ptr<const VectorQuantizer> whole = quantizer::make_quantizer(method, d, context);
  if (segments == 1) return {{d, std::move(whole)}};
  std::vector<quantizer::Concatenated::Part> parts;
  QuantizerContext own = context;
  for (const Segment& s : head_segments(head, segments, whole->bytes_per_vector(), whole->metadata_bytes())) {
    std::shared_ptr<const VectorQuantizer> part;
    if (s.bits > 0) part = quantizer::make_quantizer(method.with("bits", std::to_string(s.bits)), s.count, own);
    parts.push_back({s.count, std::move(part)});
    ++own.index;
  }
  return parts;
}

std::size_t learnt_bytes(const Method& method, std::size_t dim) {
  if (method.text("calibration") != "self") return 0;
  const MatchedKeyOptions options = matched_key_options(method);
  std::size_t bytes = 0;
  if (options.centre != Centre::kNone) bytes += sizeof(float) * dim;
  if (options.match == Match::kDiagonal) bytes += sizeof(float) * dim;
  if (options.match == Match::kFull) bytes += sizeof(float) * dim * dim;
  if (options.segments > 1) bytes += kBytesPerSegment * options.segments;
  if (options.segments > 1 && options.match != Match::kFull) bytes += sizeof(std::uint16_t) * dim;
  return bytes;
}

MatchedKeyOptions matched_key_options(const Method& method) {
  MatchedKeyOptions options;
  const std::string& match = method.text("match");
  const std::string& centre = method.text("centre");
  const std::string& align = method.text("align");
  options.match = match == "diag" ? Match::kDiagonal : match == "full" ? Match::kFull : Match::kNone;
  options.centre = centre == "rotating"                                                             ? Centre::kRotating
                   : centre == "mean" || (centre == "auto" && method.text("calibration") != "none") ? Centre::kMean
                                                                                                    : Centre::kNone;
  if (align == "pre")
    options.alignment.tile = transform::Alignment::kBeforeRope;
  else if (align != "none")
    options.alignment.tile = static_cast<std::size_t>(method.integer("align"));
  options.segments = static_cast<std::size_t>(method.integer("segments"));
  return options;
}

bool needs_calibration(const Method& method) {
  if (!method.has("match")) return false;
  const MatchedKeyOptions options = matched_key_options(method);
  return options.match != Match::kNone || options.centre != Centre::kNone || options.segments > 1;
}

Method plain_method(const Method& method) {
  if (!method.has("match")) return method;
  return method.with("match", "none")
      .with("centre", "auto")
      .with("align", "none")
      .with("segments", "1")
      .with("calibration", "none")
      .with("sink", "0")
      .with("residual", "0")
      .with("exact", "f16");
}

std::unique_ptr<VectorQuantizer> matched_quantizer(const Method& method, const MatchedHead& head,
                                                   const QuantizerContext& context) {
  const Method plain = plain_method(method);
  const MatchedKeyOptions options = matched_key_options(method);
  std::unique_ptr<VectorQuantizer> result =
      options.segments > 1
          ? std::make_unique<quantizer::Concatenated>(segment_coders(plain, head, options.segments, context))
          : quantizer::make_quantizer(plain, head.map.importance.size(), context);
  if (options.match != Match::kNone || options.segments > 1)
    result = std::make_unique<quantizer::TransformedQuantizer>(std::make_shared<transform::MatchedTransform>(head.map),
                                                               std::move(result));
  if (options.centre == Centre::kMean) {
    std::vector<float> mean(head.moments.mean.begin(), head.moments.mean.end());
    result = std::make_unique<quantizer::Centred>(std::move(mean), std::move(result));
  }
  return result;
}

std::unique_ptr<quantizer::StreamingQuantizer> matched_stream(const Method& method, const MatchedHead& head,
                                                              const QuantizerContext& context,
                                                              std::size_t first_position) {
  const quantizer::FlushSchedule schedule{quantizer::size_value(method, "sink"),
                                          quantizer::size_value(method, "residual"), 1, /*before_read=*/true};
  return std::make_unique<quantizer::StreamingQuantizer>(
      method.to_string(), std::make_unique<quantizer::RowBlocks>(matched_quantizer(method, head, context)), schedule,
      quantizer::float_value(method, "exact"), head.frame, first_position,
      learnt_bytes(method, head.map.importance.size()));
}

std::vector<Segment> head_segments(const MatchedHead& head, std::size_t segments, std::size_t bytes,
                                   std::size_t metadata_bytes) {
  return transform::best_segments(head.map.importance, sphere_distortions(head.map.importance.size()),
                                  {.most = segments, .bytes = bytes, .norm_bytes = metadata_bytes});
}

}  // namespace orthant::kv
