#pragma once

#include "orthant/quantizer/row_codec.h"

namespace orthant::quantizer {

enum class FloatType { kF32, kF16, kBf16 };

/// Each coordinate as a number of its own: IEEE binary32 (exact), binary16 or bfloat16, little-endian, rounded to
/// nearest, ties to even. Signed zeros and subnormals are kept.
/// A coordinate that would round to infinity (from 65520 in binary16) throws InvalidArgument, as NaN and infinity do.
class FloatFormat final : public RowCodec {
 public:
  FloatFormat(FloatType type, std::size_t dim);
  std::string describe() const override;
  /// Throws InvalidArgument, naming `row`, for what encode would refuse in x (d).
  void check(std::span<const float> x, std::size_t row) const { check_row(x, row); }

 protected:
  void check_row(std::span<const float> x, std::size_t row) const override;
  void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const override;
  void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const override;

 private:
  FloatType type_;
};

}  // namespace orthant::quantizer
