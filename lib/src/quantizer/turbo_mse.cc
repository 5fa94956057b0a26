#include "orthant/quantizer/turbo_mse.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/describe.h"

namespace orthant::quantizer {

TurboMse::TurboMse(std::shared_ptr<const transform::Transform> rotation, codebook::Codebook book,
                   TurboMseOptions options)
    : RotatedQuantizer(rotation, scale_bytes(options.format),
                       book.bits() == 0 ? 0 : packed_bytes(rotation->dim(), book.bits()), options.format),
      book_(std::move(book)),
      table_(book_),
      options_(options) {
  if (!std::cmp_equal(book_.dim(), dim())) {
    throw_invalid_argument("TurboMse", "dimension of the codebook", std::to_string(book_.dim()),
                           std::to_string(dim()) + ", the dimension of the rotated vector");
  }
}

std::string TurboMse::describe() const {
  const ScaleRule rule = options_.rule;
  std::string text = (rule == ScaleRule::kRaw ? "turbo-mse:" : "eden:") + std::to_string(bits());
  if (rule == ScaleRule::kMatched || rule == ScaleRule::kMse) text.append(",scale=").append(name(rule));
  return text + common_options(options_.format, rotation());
}

std::size_t TurboMse::scratch_bytes() const { return Workspace::bytes_for<std::uint8_t>(dim()); }

float TurboMse::code_direction(std::span<const float> y, double length, std::size_t row,
                               std::span<std::uint8_t> codes) const {
  table_.encode(y, codes);
  if (options_.rule != ScaleRule::kRaw) {
    length *= scale_factor(options_.rule, table_.dot(y, codes), table_.square(codes));
  }
  return stored_scale(options_.format, length, row);
}

void TurboMse::encode_codes(MatrixView<const float> x, MatrixView<std::uint8_t> codes, std::span<float> scales,
                            Workspace& work) const {
  require_size("encode_codes", "columns of x", x.cols(), dim());
  require_size("encode_codes", "columns of codes", codes.cols(), dim());
  require_size("encode_codes", "rows of codes", codes.rows(), x.rows());
  require_size("encode_codes", "size of scales", scales.size(), x.rows());
  check_rows(x);
  for_each_direction(x, work, [&](std::span<const float> y, double length, std::size_t i) {
    if (length == 0) {
      std::ranges::fill(codes.row(i), std::uint8_t{0});
      scales[i] = 0;
    } else {
      scales[i] = code_direction(y, length, i, codes.row(i));
    }
  });
}

void TurboMse::encode_direction(std::span<const float> y, double length, std::size_t row,
                                std::span<std::uint8_t> packed, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  store_scale(options_.format, code_direction(y, length, row, codes), packed.data());
  if (bits() > 0) pack_codes(codes, bits(), packed.subspan(scale_bytes(options_.format)));
}

void TurboMse::unpack(std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const {
  if (bits() > 0) {
    unpack_codes(packed.subspan(scale_bytes(options_.format)), bits(), codes);
  } else {
    std::ranges::fill(codes, std::uint8_t{0});
  }
}

float TurboMse::decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  unpack(packed, codes);
  table_.decode(codes, y_hat);
  return load_scale(options_.format, packed.data());
}

void TurboMse::estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed,
                             std::span<float> estimates, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    unpack(packed.row(i), codes);
    const double scale = load_scale(options_.format, packed.row(i).data());
    estimates[i] = static_cast<float>(scale * table_.dot(p, codes));
  }
}

}  // namespace orthant::quantizer
