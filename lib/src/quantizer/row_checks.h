#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "orthant/core/matrix_view.h"
#include "orthant/quantizer/vector_quantizer.h"

namespace orthant::quantizer {

/// Shapes of VectorQuantizer::encode, decode and estimate; InvalidArgument on a mismatch.
void check_encode_shapes(const VectorQuantizer& quantizer, MatrixView<const float> x, MatrixView<std::uint8_t> packed);
void check_decode_shapes(const VectorQuantizer& quantizer, MatrixView<const std::uint8_t> packed,
                         MatrixView<float> x_hat);
void check_estimate_shapes(const VectorQuantizer& quantizer, std::span<const float> query,
                           MatrixView<const std::uint8_t> packed, std::span<float> estimates);

/// Throws InvalidArgument "encode: row R, column C, got V, expected <expected>".
[[noreturn]] void refuse_value(std::size_t row, std::size_t column, float value, std::string_view expected);
/// Refuses the first coordinate that is NaN or infinite.
void check_finite(std::span<const float> x, std::size_t row);

/// max |x|; 0 for an empty run.
float largest_magnitude(std::span<const float> x);

}  // namespace orthant::quantizer
