#include "quantizer/row_checks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "orthant/core/error.h"

namespace orthant::quantizer {

void check_encode_shapes(const VectorQuantizer& quantizer, MatrixView<const float> x, MatrixView<std::uint8_t> packed) {
  require_size("encode", "columns of x", x.cols(), quantizer.dim());
  require_size("encode", "columns of packed", packed.cols(), quantizer.bytes_per_vector());
  require_size("encode", "rows of packed", packed.rows(), x.rows());
}

void check_decode_shapes(const VectorQuantizer& quantizer, MatrixView<const std::uint8_t> packed,
                         MatrixView<float> x_hat) {
  require_size("decode", "columns of packed", packed.cols(), quantizer.bytes_per_vector());
  require_size("decode", "columns of x_hat", x_hat.cols(), quantizer.dim());
  require_size("decode", "rows of x_hat", x_hat.rows(), packed.rows());
}

void check_estimate_shapes(const VectorQuantizer& quantizer, std::span<const float> query,
                           MatrixView<const std::uint8_t> packed, std::span<float> estimates) {
  require_size("estimate", "size of query", query.size(), quantizer.dim());
  require_size("estimate", "columns of packed", packed.cols(), quantizer.bytes_per_vector());
  require_size("estimate", "size of estimates", estimates.size(), packed.rows());
}

void refuse_value(std::size_t row, std::size_t column, float value, std::string_view expected) {
  throw_invalid_argument("encode", "row " + std::to_string(row) + ", column " + std::to_string(column),
                         std::to_string(value), expected);
}

void check_finite(std::span<const float> x, std::size_t row) {
  const auto bad = std::find_if(x.begin(), x.end(), [](float v) { return !std::isfinite(v); });
  if (bad != x.end()) refuse_value(row, static_cast<std::size_t>(bad - x.begin()), *bad, "a finite number");
}

float largest_magnitude(std::span<const float> x) {
  float peak = 0;
  for (const float v : x) peak = std::max(peak, std::fabs(v));
  return peak;
}

}  // namespace orthant::quantizer
