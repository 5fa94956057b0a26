#include "quantizer/sign_bits.h"

#include <algorithm>
#include <cassert>

namespace orthant::quantizer {
namespace {

bool positive(std::span<const std::uint8_t> bits, std::size_t j) { return (bits[j / 8] >> j % 8 & 1) != 0; }

}  // namespace

void store_signs(std::span<const float> v, std::span<std::uint8_t> bits) {
  assert(bits.size() == (v.size() + 7) / 8);
  std::ranges::fill(bits, std::uint8_t{0});
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (v[j] >= 0) bits[j / 8] = static_cast<std::uint8_t>(bits[j / 8] | 1U << j % 8);
  }
}

void load_signs(std::span<const std::uint8_t> bits, std::span<float> v) {
  for (std::size_t j = 0; j < v.size(); ++j) v[j] = positive(bits, j) ? 1.0F : -1.0F;
}

double dot_signs(std::span<const float> v, std::span<const std::uint8_t> bits) {
  // Eight sums, one for each bit of a byte: a fixed order, and none waits for another.
  double sums[8] = {};
  std::size_t j = 0;
  for (; j + 8 <= v.size(); j += 8) {
    const unsigned byte = bits[j / 8];
    for (std::size_t i = 0; i < 8; ++i) {
      const double value = v[j + i];
      sums[i] += (byte >> i & 1) != 0 ? value : -value;
    }
  }
  for (; j < v.size(); ++j) sums[j % 8] += positive(bits, j) ? static_cast<double>(v[j]) : -static_cast<double>(v[j]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace orthant::quantizer
