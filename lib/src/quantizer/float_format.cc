#include "orthant/quantizer/float_format.h"

#include <cmath>

#include "quantizer/little_endian.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

std::size_t bytes_of(FloatType type) { return type == FloatType::kF32 ? 4 : 2; }

}  // namespace

FloatFormat::FloatFormat(FloatType type, std::size_t dim) : RowCodec(dim, dim * bytes_of(type)), type_(type) {}

std::string FloatFormat::describe() const {
  switch (type_) {
    case FloatType::kF32:
      return "f32";
    case FloatType::kF16:
      return "f16";
    case FloatType::kBf16:
      return "bf16";
  }
  return {};
}

void FloatFormat::check_row(std::span<const float> x, std::size_t row) const {
  check_finite(x, row);
  if (type_ == FloatType::kF32) return;
  // Halfway between the largest finite number and the next power of two: the tie goes to infinity.
  const float limit = type_ == FloatType::kF16 ? 65520.0F : 0x1.FFp127F;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (std::fabs(x[j]) < limit) continue;
    refuse_value(row, j, x[j],
                 "a number within the range of " + describe() + "; a wider format is " +
                     (type_ == FloatType::kF16 ? "bf16 or f32" : "f32"));
  }
}

void FloatFormat::encode_row(std::span<const float> x, std::span<std::uint8_t> packed, Workspace& /*work*/) const {
  std::uint8_t* out = packed.data();
  switch (type_) {
    case FloatType::kF32:
      for (std::size_t j = 0; j < x.size(); ++j) store_float(out + 4 * j, x[j]);
      break;
    case FloatType::kF16:
      for (std::size_t j = 0; j < x.size(); ++j) store_half(out + 2 * j, x[j]);
      break;
    case FloatType::kBf16:
      for (std::size_t j = 0; j < x.size(); ++j) store_u16(out + 2 * j, float_to_bfloat16(x[j]));
      break;
  }
}

void FloatFormat::decode_row(std::span<const std::uint8_t> packed, std::span<float> x_hat, Workspace& /*work*/) const {
  const std::uint8_t* in = packed.data();
  switch (type_) {
    case FloatType::kF32:
      for (std::size_t j = 0; j < x_hat.size(); ++j) x_hat[j] = load_float(in + 4 * j);
      break;
    case FloatType::kF16:
      for (std::size_t j = 0; j < x_hat.size(); ++j) x_hat[j] = load_half(in + 2 * j);
      break;
    case FloatType::kBf16:
      for (std::size_t j = 0; j < x_hat.size(); ++j) x_hat[j] = bfloat16_to_float(load_u16(in + 2 * j));
      break;
  }
}

}  // namespace orthant::quantizer
