#pragma once

#include "orthant/core/packed_codes.h"
#include "orthant/quantizer/row_codec.h"

namespace orthant::quantizer {

enum class GgmlType { kQ8_0, kQ5_1, kQ5_0, kQ4_1, kQ4_0, kIq4Nl };

/// The block formats of ggml's cache types, byte for byte as its reference code writes them: blocks of 32 coordinates,
/// each with a binary16 scale D and, in the _1 types, a binary16 minimum M. In float arithmetic, D rounded only when
/// it is stored (codes are found with the unrounded scale d):
///   q8_0   34 bytes  d = max |x| / 127             code = round(x / d), halves away from zero      x_hat = D code
///   q4_0   18 bytes  d = x* / -8, x* the signed    code = min(15, floor(x / d + 8.5))              x_hat = D (code -
///   8) q5_0   22 bytes  d = x* / -16  value of        code = min(31, floor(x / d + 16.5))             x_hat = D (code
///   - 16)
///                    largest magnitude (the first of equals): it is met, up to the rounding of D
///   q4_1   20 bytes  d = (max - min) / 15          code = floor((x - min) / d + 0.5)               x_hat = D code + M
///   q5_1   24 bytes  d = (max - min) / 31          as q4_1
///   iq4_nl 18 bytes  code = nearest of 16 fixed levels v to -127 x / x*; then, weights x^2, the best scale for them:
///                    d = sum x^2 v x / sum x^2 v^2                                                 x_hat = D v_code
/// Nibbles: coordinate j < 16 of a block in the low half of byte j, j + 16 in the high half; fifth bits in a 32-bit
/// word. A scale below 2^-25 is stored as zero: the block then decodes to zeros (q8_0, q4_0, q5_0, iq4_nl) or to M.
/// Values whose scale or minimum overflows binary16 throw InvalidArgument, and so does a dim that 32 does not divide.
class GgmlFormat final : public RowCodec {
 public:
  static constexpr std::size_t kBlock = 32;

  GgmlFormat(GgmlType type, std::size_t dim);
  std::string describe() const override;
  std::size_t metadata_bytes() const override { return bytes_per_vector() - packed_bytes(dim(), bits()); }

 protected:
  void check_row(std::span<const float> x, std::size_t row) const override;
  void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const override;
  void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const override;

 private:
  int bits() const;
  GgmlType type_;
};

}  // namespace orthant::quantizer
