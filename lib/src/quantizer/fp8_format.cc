#include "orthant/quantizer/fp8_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/core/error.h"
#include "quantizer/little_endian.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

constexpr std::size_t kScaleBytes = 4;

std::size_t prefix_bytes(ScaleScope scope) { return scope == ScaleScope::kToken ? kScaleBytes : 0; }

}  // namespace

float fp8_scale(float largest_magnitude, Fp8Type type) {
  if (largest_magnitude == 0) return 1;
  // The division underflows for subnormal data; the smallest scale then keeps x / scale within the format's range.
  return std::max(largest_magnitude / fp8_max(type), std::numeric_limits<float>::denorm_min());
}

Fp8Format::Fp8Format(Fp8Type type, std::size_t dim, ScaleScope scope, float scale, bool saturate)
    : RowCodec(dim, dim + prefix_bytes(scope)), type_(type), scope_(scope), scale_(1), saturate_(saturate) {
  if (scope == ScaleScope::kNone || scope == ScaleScope::kToken) return;
  if (!(scale > 0) || !std::isfinite(scale)) {
    throw_invalid_argument("fp8", "scale", std::to_string(scale), "a positive finite number");
  }
  scale_ = scale;
}

std::string Fp8Format::describe() const {
  std::string text = type_ == Fp8Type::kE4M3 ? "fp8:e4m3" : type_ == Fp8Type::kE5M2 ? "fp8:e5m2" : "fp8:e4m3fnuz";
  if (scope_ == ScaleScope::kTensor) text += ",scale=tensor";
  if (scope_ == ScaleScope::kHead) text += ",scale=head";
  if (scope_ == ScaleScope::kToken) text += ",scale=token";
  if (!saturate_) text += ",saturate=0";
  return text;
}

void Fp8Format::encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& /*work*/) const {
  const std::size_t prefix = prefix_bytes(scope_);
  float scale = scale_;
  if (scope_ == ScaleScope::kToken) {
    scale = fp8_scale(largest_magnitude(x), type_);
    store_float(packed.data(), scale);
  }
  for (std::size_t j = 0; j < x.size(); ++j) packed[prefix + j] = float_to_fp8(x[j] / scale, type_, saturate_);
}

void Fp8Format::decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& /*work*/) const {
  const std::size_t prefix = prefix_bytes(scope_);
  const float scale = scope_ == ScaleScope::kToken ? load_float(packed.data()) : scale_;
  for (std::size_t j = 0; j < x_hat.size(); ++j) x_hat[j] = scale * fp8_to_float(packed[prefix + j], type_);
}

}  // namespace orthant::quantizer
