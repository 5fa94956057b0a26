#include "orthant/quantizer/make_streaming.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/quantizer/kvquant.h"
#include "orthant/quantizer/qjl_groups.h"
#include "orthant/quantizer/row_blocks.h"
#include "orthant/quantizer/uniform_channels.h"
#include "orthant/quantizer/uniform_rows.h"
#include "quantizer/method_values.h"

namespace orthant::quantizer {
namespace {

using transform::Alignment;
using transform::KeyFrame;

const transform::Rope& rope_of(const Method& method, std::string_view option, const StreamContext& context) {
  if (!context.rope) {
    refuse_method(method, option, "no rotary embedding", "how keys were turned by their positions");
  }
  return *context.rope;
}

/// The frame that bias=... or align=... asks for, if any.
std::optional<KeyFrame> frame_of(const Method& method, CacheSide side, std::size_t dim, const StreamContext& context) {
  const std::string& bias = method.text("bias");
  const std::string& align = method.text("align");
  if (bias == "none" && align == "none") return {};
  if (side == CacheSide::kValues) refuse_method(method, "bias or align", "values", "keys");
  if (align != "none") {
    if (bias != "none") refuse_method(method, "bias and align", "both", "one of them");
    const std::size_t tile = align == "pre" ? Alignment::kBeforeRope : size_value(method, "align");
    return KeyFrame(rope_of(method, "align", context), Alignment{tile});
  }
  if (context.key_bias.size() != dim) {
    refuse_method(method, "bias", std::to_string(context.key_bias.size()) + " values of the key bias",
                  std::to_string(dim));
  }
  const Alignment alignment{bias == "before" ? Alignment::kBeforeRope : Alignment::kNone};
  return KeyFrame(rope_of(method, "bias", context), alignment, {context.key_bias.begin(), context.key_bias.end()});
}

/// A bias that the frame takes off.
std::size_t frame_bytes(const std::optional<KeyFrame>& frame) {
  return frame && frame->rotating() ? sizeof(float) * frame->rope().dim() : 0;
}

/// What the rows of a frame may reach, from the largest magnitude of keys as cached: turning a pair of channels can put
/// the length of both into one, sqrt(2) times either, after a bias has been taken off or before.
QuantizerContext framed(const Method& method, QuantizerContext vectors, std::span<const float> key_bias) {
  if (!vectors.largest_magnitude) return vectors;
  float bias = 0;
  if (method.text("bias") != "none") {
    for (const float b : key_bias) bias = std::max(bias, std::abs(b));
  }
  vectors.largest_magnitude = std::numbers::sqrt2_v<float> * (*vectors.largest_magnitude + bias);
  return vectors;
}

/// What a head's rows share: a given scale, the places of split's channels.
std::size_t shared_bytes(const Method& method) {
  if (method.has("channels")) return sizeof(std::uint16_t) * size_value(method, "channels");
  if (!method.has("scale")) return 0;
  return method.text("scale") == "tensor" || method.text("scale") == "head" ? sizeof(float) : 0;
}

/// Refuses maps and calibrations before codes of whole groups of tokens.
void require_bare_tokens(const Method& method, std::string_view expected) {
  for (const auto& [name, neutral] : {std::pair{"rotation", "none"},
                                      {"match", "none"},
                                      {"segments", "1"},
                                      {"centre", "auto"},
                                      {"calibration", "none"}}) {
    if (method.text(name) != neutral && method.text(name) != "none")
      refuse_method(method, name, method.text(name), expected);
  }
}

std::unique_ptr<StreamingQuantizer> make_rows(const Method& method, CacheSide side, std::size_t dim,
                                              const StreamContext& context) {
  const bool channels = method.has("axis") && method.text("axis") == "channel";
  std::optional<KeyFrame> frame = frame_of(method, side, dim, context);
  std::unique_ptr<BlockCodec> codec;
  if (channels) {
    require_bare_tokens(method, "axis=token");
    codec = std::make_unique<UniformChannels>(grid_of(method), size_value(method, "group"), dim);
  } else {
    const Method vectors =
        method.with("sink", "0").with("residual", "0").with("bias", "none").with("align", "none").with("exact", "f16");
    const QuantizerContext given = frame ? framed(method, context.vectors, context.key_bias) : context.vectors;
    codec = std::make_unique<RowBlocks>(make_quantizer(vectors, dim, given), shared_bytes(method));
  }
  const FlushSchedule schedule{size_value(method, "sink"), size_value(method, "residual"), codec->tokens_per_block(),
                               /*before_read=*/true};
  const std::size_t bias = frame_bytes(frame);
  return std::make_unique<StreamingQuantizer>(method.to_string(), std::move(codec), schedule,
                                              float_value(method, "exact"), std::move(frame), context.first_position,
                                              bias);
}

/// Keys with outlier channels, flushed as the released code does: residual=R, all R once they are together.
std::unique_ptr<StreamingQuantizer> make_qjl_groups(const Method& method, CacheSide side, std::size_t dim,
                                                    const StreamContext& context) {
  require_bare_tokens(method, "outliers=0");
  const std::size_t group = size_value(method, "outlier_group");
  const std::size_t residual = size_value(method, "residual");
  if (residual % group != 0) {
    refuse_method(method, "residual", std::to_string(residual),
                  "a multiple of outlier_group, " + std::to_string(group));
  }
  auto codec = std::make_unique<QjlGroups>(sketch_of(method, dim, size_value(method, "rows"), context.vectors),
                                           sketch_of(method, dim, size_value(method, "outlier_rows"), context.vectors),
                                           size_value(method, "outliers"), group, scale_format(method));
  const FlushSchedule schedule{size_value(method, "sink"), 0, std::max(residual, group), /*before_read=*/true};
  std::optional<KeyFrame> frame = frame_of(method, side, dim, context);
  const std::size_t bias = frame_bytes(frame);
  return std::make_unique<StreamingQuantizer>(method.to_string(), std::move(codec), schedule,
                                              float_value(method, "exact"), std::move(frame), context.first_position,
                                              bias);
}

std::unique_ptr<StreamingQuantizer> make_kivi(const Method& method, CacheSide side, std::size_t dim) {
  const std::size_t group = size_value(method, "group");
  const std::size_t residual = size_value(method, "residual");
  if (residual % group != 0) {
    refuse_method(method, "residual", std::to_string(residual), "a multiple of the group, " + std::to_string(group));
  }
  std::unique_ptr<BlockCodec> codec;
  FlushSchedule schedule{0, 0, residual, /*before_read=*/false};
  if (side == CacheSide::kKeys) {
    codec = std::make_unique<UniformChannels>(grid_of(method), group, dim);
  } else {
    codec = std::make_unique<RowBlocks>(std::make_unique<UniformRows>(grid_of(method), group, dim));
    schedule = {0, residual, 1, /*before_read=*/false};
  }
  return std::make_unique<StreamingQuantizer>(method.to_string(), std::move(codec), schedule,
                                              float_value(method, "exact"));
}

/// QuantizedCache with quanto, axis 0: contiguous groups of one token. The cache repacks everything at each flush,
/// which gives old tokens the codes they had, unless their minimum is so large that its rounding is felt beside the
/// step.
std::unique_ptr<StreamingQuantizer> make_quanto(const Method& method, std::size_t dim) {
  const FlushSchedule schedule{0, 0, size_value(method, "residual"), /*before_read=*/false,
                               size_value(method, "prompt")};
  auto rows = std::make_unique<UniformRows>(grid_of(method), size_value(method, "group"), dim);
  return std::make_unique<StreamingQuantizer>(method.to_string(), std::make_unique<RowBlocks>(std::move(rows)),
                                              schedule, float_value(method, "exact"));
}

std::unique_ptr<StreamingQuantizer> make_kvquant(const Method& method, CacheSide side, std::size_t dim,
                                                 const StreamContext& context) {
  const std::size_t sinks = size_value(method, "sink");
  MatrixView<const float> calibration = context.calibration;
  if (calibration.rows() <= sinks || calibration.cols() != dim) {
    refuse_method(method, "calibration",
                  std::to_string(calibration.rows()) + " vectors of " + std::to_string(calibration.cols()),
                  "more than " + std::to_string(sinks) + " vectors of " + std::to_string(dim));
  }
  calibration = calibration.middle_rows(sinks, calibration.rows() - sinks);  // sinks are outliers of another kind
  const KvquantOptions options{static_cast<int>(method.integer("bits")), method.real("outliers"),
                               flag_value(method, "qnorm"), method.text("levels") == "nf"};
  const FlushSchedule schedule{sinks, 0, 1, /*before_read=*/true};
  const auto finish = [&](std::unique_ptr<BlockCodec> codec, std::optional<KeyFrame> frame) {
    return std::make_unique<StreamingQuantizer>(method.to_string(), std::move(codec), schedule,
                                                float_value(method, "exact"), std::move(frame), context.first_position);
  };
  if (side == CacheSide::kValues) {
    return finish(std::make_unique<KvquantValues>(fit_kvquant_value_levels(calibration, {}, options), options.bits,
                                                  options.outlier_fraction, dim),
                  {});
  }
  if (method.text("rope") == "post") {
    return finish(std::make_unique<KvquantKeys>(fit_kvquant_keys(calibration, {}, options), options.bits), {});
  }
  const KeyFrame frame(rope_of(method, "rope=pre", context), Alignment{Alignment::kBeforeRope});
  Matrix<float> framed(calibration.rows(), dim);
  frame.enter(calibration, context.first_position + sinks, framed.view());
  return finish(std::make_unique<KvquantKeys>(fit_kvquant_keys(framed.view(), {}, options), options.bits), frame);
}

}  // namespace

std::unique_ptr<StreamingQuantizer> make_streaming(const Method& method, CacheSide side, std::size_t dim,
                                                   const StreamContext& context) {
  if (method.family() == "kivi") return make_kivi(method, side, dim);
  if (method.family() == "quanto") return make_quanto(method, dim);
  if (method.family() == "kvquant") return make_kvquant(method, side, dim, context);
  if (method.family() == "qjl" && size_value(method, "outliers") > 0) {
    return make_qjl_groups(method, side, dim, context);
  }
  return make_rows(method, side, dim, context);
}

}  // namespace orthant::quantizer
