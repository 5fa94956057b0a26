#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "orthant/core/matrix_view.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/method.h"
#include "orthant/quantizer/streaming_quantizer.h"
#include "orthant/transform/rope.h"

namespace orthant::quantizer {

enum class CacheSide { kKeys, kValues };

/// What the cache of one head may need to know beside its method string.
struct StreamContext {
  QuantizerContext vectors;
  /// How keys were turned by their positions; needed by bias=..., align=... and kvquant with rope=pre.
  std::optional<transform::Rope> rope;
  std::size_t first_position = 0;  ///< of token 0
  /// The constant in every key before the rotary embedding, (d); needed by bias=before and bias=after.
  std::span<const float> key_bias;
  /// Vectors of this head as cached, row i at position first_position + i; needed by kvquant. Views are read during
  /// the call only.
  MatrixView<const float> calibration;
};

/// The cache of one head that a method names, keys or values:
///   any method of single vectors    coded as they arrive; sink=S and residual=R keep the first S and last R exact
///     bias=before, after            keys less the bias: before the rotary embedding, or R_t b after it (same grid,
///                                   other basis); the bias comes back when a key is read
///     align=pre, N                  keys turned back altogether, or to the start of their tile of N positions
///   uniform:B,axis=channel,group=G  groups of G tokens of one channel; exact until the group is full
///   kivi:B                          keys: channels in groups of G, R flushed at a time; values: tokens, last R exact
///   quanto:B,prompt=P               groups of one token's channels: the first P tokens at once, then R at a time
///   qjl:M,outliers=C                C channels of each group of tokens by a sketch of their own, R flushed at a time
///   kvquant:B                       keys: calibrated channels before the rotary embedding; values: tokens
/// Exact tokens take the format exact=f16, bf16 or f32. A scale made from the largest magnitude of keys as cached is
/// made for sqrt(2) times it (and the bias) where keys are turned before they are coded.
/// Throws InvalidArgument as make_quantizer does, for a residual that KIVI's group does not divide, for what the
/// context lacks, and for options that belong to keys on values.
std::unique_ptr<StreamingQuantizer> make_streaming(const Method& method, CacheSide side, std::size_t dim,
                                                   const StreamContext& context = {});

}  // namespace orthant::quantizer
