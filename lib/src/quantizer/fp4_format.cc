#include "orthant/quantizer/fp4_format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/fp4.h"
#include "quantizer/little_endian.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kGlobalBytes = 4;
constexpr int kScaleBias = 127;

/// Bytes of a row of blocks, each a scale byte and nibbles.
std::size_t block_row_bytes(std::string_view name, std::size_t dim, std::size_t block) {
  if (dim % block != 0) {
    throw_invalid_argument(name, "dimension", std::to_string(dim),
                           "a multiple of " + std::to_string(block) + ", the block size");
  }
  return dim / block * (1 + block / 2);
}

std::size_t prefix_bytes(ScaleScope scope) { return scope == ScaleScope::kToken ? kGlobalBytes : 0; }

/// out[j] = codes of x[2j] and x[2j + 1] over the scale; a scale of zero codes zeros.
void encode_nibbles(std::span<const float> x, float scale, std::uint8_t* out) {
  const auto code = [scale](float v) { return scale == 0 ? std::uint8_t{0} : float_to_e2m1(v / scale); };
  for (std::size_t j = 0; j < x.size(); j += 2) {
    out[j / 2] = static_cast<std::uint8_t>(code(x[j]) | code(x[j + 1]) << 4);
  }
}

void decode_nibbles(const std::uint8_t* in, float scale, std::span<float> x_hat) {
  for (std::size_t j = 0; j < x_hat.size(); j += 2) {
    x_hat[j] = scale * e2m1_to_float(in[j / 2] & 15);
    x_hat[j + 1] = scale * e2m1_to_float(in[j / 2] >> 4);
  }
}

}  // namespace

float nvfp4_global_scale(float largest_magnitude) {
  if (largest_magnitude == 0) return 1;
  return std::max(largest_magnitude / (kE2M1Max * fp8_max(Fp8Type::kE4M3)), std::numeric_limits<float>::denorm_min());
}

Nvfp4Format::Nvfp4Format(std::size_t dim, ScaleScope scope, float global)
    : RowCodec(dim, prefix_bytes(scope) + block_row_bytes("nvfp4", dim, kBlock)), scope_(scope), global_(1) {
  if (scope == ScaleScope::kNone || scope == ScaleScope::kToken) return;
  if (!(global > 0) || !std::isfinite(global)) {
    throw_invalid_argument("nvfp4", "scale", std::to_string(global), "a positive finite number");
  }
  global_ = global;
}

std::string Nvfp4Format::describe() const {
  switch (scope_) {
    case ScaleScope::kNone:
      return "nvfp4,scale=none";
    case ScaleScope::kTensor:
      return "nvfp4";
    case ScaleScope::kHead:
      return "nvfp4,scale=head";
    case ScaleScope::kToken:
      return "nvfp4,scale=token";
  }
  return {};
}

void Nvfp4Format::encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& /*work*/) const {
  std::uint8_t* out = packed.data();
  float global = global_;
  if (scope_ == ScaleScope::kToken) {
    global = nvfp4_global_scale(largest_magnitude(x));
    store_float(out, global);
    out += kGlobalBytes;
  }
  for (std::size_t first = 0; first < x.size(); first += kBlock, out += 1 + kBlock / 2) {
    const std::span<const float> block = x.subspan(first, kBlock);
    out[0] = float_to_fp8(largest_magnitude(block) / kE2M1Max / global, Fp8Type::kE4M3, /*saturate=*/true);
    encode_nibbles(block, fp8_to_float(out[0], Fp8Type::kE4M3) * global, out + 1);
  }
}

void Nvfp4Format::decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& /*work*/) const {
  const std::uint8_t* in = packed.data() + prefix_bytes(scope_);
  const float global = scope_ == ScaleScope::kToken ? load_float(packed.data()) : global_;
  for (std::size_t first = 0; first < x_hat.size(); first += kBlock, in += 1 + kBlock / 2) {
    decode_nibbles(in + 1, fp8_to_float(in[0], Fp8Type::kE4M3) * global, x_hat.subspan(first, kBlock));
  }
}

Mxfp4Format::Mxfp4Format(std::size_t dim) : RowCodec(dim, block_row_bytes("mxfp4", dim, kBlock)) {}

void Mxfp4Format::encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& /*work*/) const {
  std::uint8_t* out = packed.data();
  for (std::size_t first = 0; first < x.size(); first += kBlock, out += 1 + kBlock / 2) {
    const std::span<const float> block = x.subspan(first, kBlock);
    const float peak = largest_magnitude(block);
    const int exponent = peak == 0 ? -kScaleBias : std::max(std::ilogb(peak) - 2, -kScaleBias);
    out[0] = static_cast<std::uint8_t>(exponent + kScaleBias);
    encode_nibbles(block, std::ldexp(1.0F, exponent), out + 1);
  }
}

void Mxfp4Format::decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& /*work*/) const {
  const std::uint8_t* in = packed.data();
  for (std::size_t first = 0; first < x_hat.size(); first += kBlock, in += 1 + kBlock / 2) {
    decode_nibbles(in + 1, std::ldexp(1.0F, in[0] - kScaleBias), x_hat.subspan(first, kBlock));
  }
}

}  // namespace orthant::quantizer
