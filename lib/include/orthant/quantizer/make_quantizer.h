#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "orthant/quantizer/method.h"
#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// What a quantizer may need to know beside its method string.
struct QuantizerContext {
  std::uint64_t seed = 1;
  /// Distinguishes the random maps of heads and layers that share a seed.
  std::uint64_t index = 0;
  /// max |x| over the tensor (scale=tensor) or the head (scale=head), from calibration or from the data itself.
  std::optional<float> largest_magnitude = std::nullopt;
  /// For split: the channels that get more bits, from calibration or from the data (loudest_channels).
  std::vector<std::size_t> outlier_channels = {};
};

/// True when every option of the method concerns single vectors: what make_quantizer can make. Other methods code runs
/// of tokens or need positions, and are made by make_streaming.
bool codes_single_vectors(const Method& method);

/// The quantizer of single vectors that the method names; describe() of the result parses to the same method.
/// Throws InvalidArgument for a method of runs of tokens or with options that need more than single vectors (kivi,
/// kvquant, uniform with axis=channel, sink, residual, bias, match, ...), for a dimension the format cannot take, and
/// when the context lacks what the method needs.
std::unique_ptr<VectorQuantizer> make_quantizer(const Method& method, std::size_t dim,
                                                const QuantizerContext& context = {});

}  // namespace orthant::quantizer
