#pragma once

#include "orthant/quantizer/fp8_format.h"
#include "orthant/quantizer/row_codec.h"

namespace orthant::quantizer {

/// NVFP4: E2M1 codes in blocks of 16, each block with an E4M3 scale, over one float scale g.
///   g = max |x| of the scope / (6 * 448)      s = e4m3(max |x| of the block / 6 / g)      code = e2m1(x / (s g))
///   x_hat = s g code;   a block with s = 0 is zero.   Packed block: s, then 8 bytes of codes, low nibble first.
/// Scopes as for FP8: kToken stores g before the blocks of each row; kTensor and kHead take it as given; kNone: g = 1.
/// With a given g, blocks above 6 * 448 * g saturate.
class Nvfp4Format final : public RowCodec {
 public:
  static constexpr std::size_t kBlock = 16;

  /// Throws InvalidArgument unless 16 divides dim and a given g is positive and finite.
  Nvfp4Format(std::size_t dim, ScaleScope scope, float global);
  std::string describe() const override;
  std::size_t metadata_bytes() const override { return bytes_per_vector() - dim() / 2; }

 protected:
  void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const override;
  void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const override;

 private:
  ScaleScope scope_;
  float global_;
};

/// max |x| / (6 * 448), never zero; 1 when the data is all zero.
float nvfp4_global_scale(float largest_magnitude);

/// MXFP4 (OCP Microscaling 1.0): E2M1 codes in blocks of 32 with a power-of-two scale E8M0.
///   e = floor(log2 max |x|) - 2, at least -127      code = e2m1(x / 2^e), magnitudes above 6 saturate      x_hat = 2^e
///   code
/// Packed block: e + 127 (0 for a block of zeros), then 16 bytes of codes, low nibble first.
class Mxfp4Format final : public RowCodec {
 public:
  static constexpr std::size_t kBlock = 32;

  /// Throws InvalidArgument unless 32 divides dim.
  explicit Mxfp4Format(std::size_t dim);
  std::string describe() const override { return "mxfp4"; }
  std::size_t metadata_bytes() const override { return bytes_per_vector() - dim() / 2; }

 protected:
  void encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& work) const override;
  void decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& work) const override;
};

}  // namespace orthant::quantizer
