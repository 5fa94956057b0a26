#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "orthant/quantizer/meta_type.h"

namespace orthant::quantizer {

/// Equal steps over the values of one group: the arithmetic that per-token groups, per-channel groups and KIVI share.
///   affine      top = 2^b - 1   m = min rounded down, s = (max - m) / top rounded up, both to the metadata format
///               code = round((x - m) / s)                           x_hat = m + s code
///   symmetric   top = 2^(b-1) - 1   s = max |x| / top rounded up
///               code = round(x / s) + 2^(b-1)                       x_hat = s (code - 2^(b-1))
/// The quotient is rounded to float, then to an integer, ties to even; x_hat is rounded once to float. The grid covers
/// the group whatever the metadata format, so |x_hat - x| <= s / 2 + top eps s / 2 + ulp(x_hat) / 2, eps = 2^-23
/// (published code rounds m and s to nearest and clips what falls outside).
/// A group of equal values that the metadata can hold has step 0, code 0 and comes back exactly.
class UniformGrid {
 public:
  /// Throws InvalidArgument unless 1 <= bits <= 8, and 2 <= bits when symmetric.
  UniformGrid(int bits, bool symmetric, MetaType meta);

  int bits() const { return bits_; }
  bool symmetric() const { return symmetric_; }
  MetaType meta() const { return meta_; }
  /// Bytes of one group's metadata: a step, and a minimum unless symmetric.
  std::size_t metadata_bytes() const { return meta_bytes(meta_) * (symmetric_ ? 1 : 2); }

  struct Group {
    float minimum = 0;
    float step = 0;
  };
  /// Group for values between low and high. Its members are infinite when the metadata format cannot hold them.
  Group fit(float low, float high) const;
  static bool finite(const Group& group);

  std::uint8_t code(const Group& group, float x) const;
  float value(const Group& group, std::uint8_t code) const;

  /// metadata_bytes() bytes: the step, then the minimum; little-endian.
  void store(const Group& group, std::uint8_t* out) const;
  Group load(const std::uint8_t* in) const;

 private:
  int bits_;
  bool symmetric_;
  MetaType meta_;
  int top_;
  int zero_;  // the code of x_hat = minimum
};

}  // namespace orthant::quantizer
