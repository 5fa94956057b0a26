#include "orthant/quantizer/ggml_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "orthant/core/error.h"
#include "quantizer/little_endian.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kBlock = GgmlFormat::kBlock;
constexpr std::size_t kHalfBlock = kBlock / 2;

// Published levels of iq4_nl: fitted by its author to the density of model weights.
constexpr std::array<float, 16> kIq4Levels = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

std::size_t block_bytes(GgmlType type) {
  switch (type) {
    case GgmlType::kQ8_0:
      return 34;
    case GgmlType::kQ5_1:
      return 24;
    case GgmlType::kQ5_0:
      return 22;
    case GgmlType::kQ4_1:
      return 20;
    case GgmlType::kQ4_0:
      return 18;
    case GgmlType::kIq4Nl:
      return 18;
  }
  return 0;
}

std::size_t row_bytes(GgmlType type, std::size_t dim) {
  if (dim % kBlock != 0) {
    throw_invalid_argument("ggml format", "dimension", std::to_string(dim), "a multiple of 32, the block size");
  }
  return dim / kBlock * block_bytes(type);
}

/// 1 / d, and 0 where the reference leaves the codes undefined: d = 0, and d so small that 1 / d overflows.
float inverse(float d) {
  const float id = d != 0.0F ? 1.0F / d : 0.0F;
  return std::isfinite(id) ? id : 0.0F;
}

/// The signed value of largest magnitude, the first one when there are several.
float extreme(const float* x) {
  float found = 0;
  for (std::size_t j = 0; j < kBlock; ++j) {
    if (std::fabs(x[j]) > std::fabs(found)) found = x[j];
  }
  return found;
}

/// Scale (unrounded) and minimum of a block; the minimum is 0 in the formats without one.
struct Affine {
  float scale;
  float minimum;
};

Affine symmetric_scale(const float* x, float steps) { return {extreme(x) / -steps, 0.0F}; }

Affine range_scale(const float* x, float steps) {
  const auto [low, high] = std::minmax_element(x, x + kBlock);
  return {(*high - *low) / steps, *low};
}

/// The nearest level; the upper one at equal distance.
std::uint8_t nearest_iq4_level(float x) {
  const auto above = std::upper_bound(kIq4Levels.begin(), kIq4Levels.end(), x);
  if (above == kIq4Levels.begin()) return 0;
  if (above == kIq4Levels.end()) return 15;
  const auto code = static_cast<std::uint8_t>(above - kIq4Levels.begin());
  return x - *(above - 1) < *above - x ? static_cast<std::uint8_t>(code - 1) : code;
}

using BlockCodes = std::array<std::uint8_t, kBlock>;

constexpr float kIq4Smallest = 1e-15F;  // blocks below it are coded as zero, as the reference does

void iq4_codes(const float* x, BlockCodes& codes) {
  const float peak = extreme(x);
  codes.fill(0);
  if (std::fabs(peak) < kIq4Smallest) return;
  const float id = 1.0F / (peak / kIq4Levels[0]);
  for (std::size_t j = 0; j < kBlock; ++j) codes[j] = nearest_iq4_level(id * x[j]);
}

Affine iq4_scale(const float* x) {
  if (std::fabs(extreme(x)) < kIq4Smallest) return {0.0F, 0.0F};
  BlockCodes codes;
  iq4_codes(x, codes);
  float cross = 0;
  float square = 0;
  for (std::size_t j = 0; j < kBlock; ++j) {
    const float weight = x[j] * x[j];
    const float level = kIq4Levels[codes[j]];
    cross += weight * level * x[j];
    square += weight * level * level;
  }
  return {cross / square, 0.0F};
}

Affine block_scale(GgmlType type, const float* x) {
  switch (type) {
    case GgmlType::kQ8_0:
      return {std::fabs(extreme(x)) / 127.0F, 0.0F};
    case GgmlType::kQ5_1:
      return range_scale(x, 31.0F);
    case GgmlType::kQ5_0:
      return symmetric_scale(x, 16.0F);
    case GgmlType::kQ4_1:
      return range_scale(x, 15.0F);
    case GgmlType::kQ4_0:
      return symmetric_scale(x, 8.0F);
    case GgmlType::kIq4Nl:
      return iq4_scale(x);
  }
  return {};
}

/// code = min(top, floor((x - minimum) / scale + shift)); the argument of floor is never negative.
void grid_codes(const float* x, Affine affine, float shift, int top, BlockCodes& codes) {
  const float id = inverse(affine.scale);
  for (std::size_t j = 0; j < kBlock; ++j) {
    const int code = static_cast<int>((x[j] - affine.minimum) * id + shift);
    codes[j] = static_cast<std::uint8_t>(std::min(top, code));
  }
}

void store_nibbles(const BlockCodes& codes, std::uint8_t* out) {
  for (std::size_t j = 0; j < kHalfBlock; ++j) {
    out[j] = static_cast<std::uint8_t>((codes[j] & 0x0F) | (codes[j + kHalfBlock] & 0x0F) << 4);
  }
}

void load_nibbles(const std::uint8_t* in, BlockCodes& codes) {
  for (std::size_t j = 0; j < kHalfBlock; ++j) {
    codes[j] = in[j] & 0x0F;
    codes[j + kHalfBlock] = in[j] >> 4;
  }
}

void store_fifth_bits(const BlockCodes& codes, std::uint8_t* out) {
  std::uint32_t word = 0;
  for (std::size_t j = 0; j < kBlock; ++j) word |= std::uint32_t{codes[j]} >> 4 << j;
  store_u32(out, word);
}

void add_fifth_bits(const std::uint8_t* in, BlockCodes& codes) {
  const std::uint32_t word = load_u32(in);
  for (std::size_t j = 0; j < kBlock; ++j) codes[j] = static_cast<std::uint8_t>(codes[j] | (word >> j & 1U) << 4);
}

void encode_q8_0(const float* x, float scale, std::uint8_t* out) {
  const float id = inverse(scale);
  for (std::size_t j = 0; j < kBlock; ++j) {
    out[j] = static_cast<std::uint8_t>(static_cast<std::int8_t>(std::round(x[j] * id)));
  }
}

void encode_block(GgmlType type, const float* x, std::uint8_t* out) {
  const Affine affine = block_scale(type, x);
  store_half(out, affine.scale);
  BlockCodes codes;
  switch (type) {
    case GgmlType::kQ8_0:
      encode_q8_0(x, affine.scale, out + 2);
      return;
    case GgmlType::kQ4_0:
      grid_codes(x, affine, 8.5F, 15, codes);
      store_nibbles(codes, out + 2);
      return;
    case GgmlType::kQ4_1:
      store_half(out + 2, affine.minimum);
      grid_codes(x, affine, 0.5F, 15, codes);
      store_nibbles(codes, out + 4);
      return;
    case GgmlType::kQ5_0:
      grid_codes(x, affine, 16.5F, 31, codes);
      store_fifth_bits(codes, out + 2);
      store_nibbles(codes, out + 6);
      return;
    case GgmlType::kQ5_1:
      store_half(out + 2, affine.minimum);
      grid_codes(x, affine, 0.5F, 31, codes);
      store_fifth_bits(codes, out + 4);
      store_nibbles(codes, out + 8);
      return;
    case GgmlType::kIq4Nl:
      iq4_codes(x, codes);
      store_nibbles(codes, out + 2);
      return;
  }
}

void decode_block(GgmlType type, const std::uint8_t* in, float* x_hat) {
  const float scale = load_half(in);
  BlockCodes codes;
  switch (type) {
    case GgmlType::kQ8_0:
      for (std::size_t j = 0; j < kBlock; ++j) {
        x_hat[j] = scale * static_cast<float>(static_cast<std::int8_t>(in[2 + j]));
      }
      return;
    case GgmlType::kQ4_0:
      load_nibbles(in + 2, codes);
      for (std::size_t j = 0; j < kBlock; ++j) x_hat[j] = static_cast<float>(codes[j] - 8) * scale;
      return;
    case GgmlType::kQ5_0:
      load_nibbles(in + 6, codes);
      add_fifth_bits(in + 2, codes);
      for (std::size_t j = 0; j < kBlock; ++j) x_hat[j] = static_cast<float>(codes[j] - 16) * scale;
      return;
    case GgmlType::kQ4_1:
    case GgmlType::kQ5_1: {
      const bool five = type == GgmlType::kQ5_1;
      load_nibbles(in + (five ? 8 : 4), codes);
      if (five) add_fifth_bits(in + 4, codes);
      const float minimum = load_half(in + 2);
      for (std::size_t j = 0; j < kBlock; ++j) x_hat[j] = static_cast<float>(codes[j]) * scale + minimum;
      return;
    }
    case GgmlType::kIq4Nl:
      load_nibbles(in + 2, codes);
      for (std::size_t j = 0; j < kBlock; ++j) x_hat[j] = scale * kIq4Levels[codes[j]];
      return;
  }
}

bool fits_half(float x) { return std::fabs(x) < 65520.0F; }  // false for NaN

}  // namespace

GgmlFormat::GgmlFormat(GgmlType type, std::size_t dim) : RowCodec(dim, row_bytes(type, dim)), type_(type) {}

std::string GgmlFormat::describe() const {
  switch (type_) {
    case GgmlType::kQ8_0:
      return "q8_0";
    case GgmlType::kQ5_1:
      return "q5_1";
    case GgmlType::kQ5_0:
      return "q5_0";
    case GgmlType::kQ4_1:
      return "q4_1";
    case GgmlType::kQ4_0:
      return "q4_0";
    case GgmlType::kIq4Nl:
      return "iq4_nl";
  }
  return {};
}

int GgmlFormat::bits() const {
  switch (type_) {
    case GgmlType::kQ8_0:
      return 8;
    case GgmlType::kQ5_1:
    case GgmlType::kQ5_0:
      return 5;
    case GgmlType::kQ4_1:
    case GgmlType::kQ4_0:
    case GgmlType::kIq4Nl:
      return 4;
  }
  return 0;
}

void GgmlFormat::check_row(std::span<const float> x, std::size_t row) const {
  check_finite(x, row);
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const Affine affine = block_scale(type_, x.data() + first);
    if (fits_half(affine.scale) && fits_half(affine.minimum)) continue;
    const std::span<const float> block = x.subspan(first, kBlock);
    const auto peak =
        std::max_element(block.begin(), block.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    refuse_value(row, first + static_cast<std::size_t>(peak - block.begin()), *peak,
                 "values whose scale and minimum fit binary16 (" + describe() + ")");
  }
}

void GgmlFormat::encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& /*work*/) const {
  const std::size_t bytes = block_bytes(type_);
  for (std::size_t b = 0; b < x.size() / kBlock; ++b) {
    encode_block(type_, x.data() + b * kBlock, packed.data() + b * bytes);
  }
}

void GgmlFormat::decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& /*work*/) const {
  const std::size_t bytes = block_bytes(type_);
  for (std::size_t b = 0; b < x_hat.size() / kBlock; ++b) {
    decode_block(type_, packed.data() + b * bytes, x_hat.data() + b * kBlock);
  }
}

}  // namespace orthant::quantizer
