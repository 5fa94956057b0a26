#pragma once

#include "orthant/core/fp8.h"
#include "orthant/quantizer/row_codec.h"

namespace orthant::quantizer {

/// Where the scale of an FP8 or NVFP4 row comes from.
enum class ScaleScope : std::uint8_t {
  kNone,    ///< 1
  kTensor,  ///< given: one for all heads of a tensor, known before the first vector
  kHead,    ///< given: one for each head
  kToken,   ///< stored as a float in each row: max |x| of the row / largest value of the format
};

/// Eight-bit floats:  code = fp8(x / scale),  x_hat = scale * code  (vLLM, TensorRT-LLM, SGLang caches).
/// A given scale belongs to the quantizer, not to its rows: count its 4 bytes once where the quantizer is kept.
/// Without saturation a value beyond the range decodes to infinity or NaN, as a plain cast does. Zero rows are exact.
class Fp8Format final : public RowCodec {
 public:
  /// scale: used for kTensor and kHead; throws InvalidArgument unless it is positive and finite.
  Fp8Format(Fp8Type type, std::size_t dim, ScaleScope scope, float scale, bool saturate);
  std::string describe() const override;
  std::size_t metadata_bytes() const override { return bytes_per_vector() - dim(); }

 protected:
  void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const override;
  void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const override;

 private:
  Fp8Type type_;
  ScaleScope scope_;
  float scale_;
  bool saturate_;
};

/// max |x| / largest value of the format, never zero; 1 when the data is all zero. The scale for kTensor and kHead.
float fp8_scale(float largest_magnitude, Fp8Type type);

}  // namespace orthant::quantizer
