#include "orthant/quantizer/turbo_prod.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/describe.h"
#include "quantizer/norms.h"
#include "quantizer/sign_bits.h"

namespace orthant::quantizer {
namespace {

std::size_t header_bytes(int stage_bits, const TurboProdOptions& options) {
  const bool gamma = options.residual == ResidualNorm::kStored && stage_bits > 0;
  return (gamma ? 2 : 1) * scale_bytes(options.format);
}

std::size_t stage_bytes(std::size_t dim, int stage_bits) { return stage_bits > 0 ? packed_bytes(dim, stage_bits) : 0; }

}  // namespace

TurboProd::TurboProd(std::shared_ptr<const transform::Transform> rotation, codebook::Codebook book,
                     std::shared_ptr<const Sketch> sketch, TurboProdOptions options)
    : RotatedQuantizer(rotation, header_bytes(book.bits(), options),
                       stage_bytes(rotation->dim(), book.bits()) + packed_bytes(rotation->dim(), 1), options.format),
      book_(std::move(book)),
      table_(book_),
      sketch_(std::move(sketch)),
      options_(options),
      constant_gamma_(std::sqrt(static_cast<double>(dim()) * book_.distortion())) {
  if (table_.bits() > 7)
    throw_invalid_argument("TurboProd", "bits of the codebook", std::to_string(table_.bits()), "0 to 7");
  if (!std::cmp_equal(book_.dim(), dim())) {
    throw_invalid_argument("TurboProd", "dimension of the codebook", std::to_string(book_.dim()),
                           std::to_string(dim()) + ", the dimension of the rotated vector");
  }
  require_size("TurboProd", "dimension of the sketch", sketch_->dim(), dim());
  require_size("TurboProd", "rows of the sketch", sketch_->rows(), dim());
}

std::string TurboProd::describe() const {
  std::string text = "turbo-prod:" + std::to_string(bits());
  if (sketch_->kind() != SketchKind::kGaussian) text.append(",sketch=").append(name(sketch_->kind()));
  if (options_.residual == ResidualNorm::kConstant) text += ",gamma=constant";
  return text + common_options(options_.format, rotation());
}

std::size_t TurboProd::scratch_bytes() const {
  return Workspace::bytes_for<std::uint8_t>(dim()) + 2 * Workspace::bytes_for<float>(dim()) +
         sketch_->workspace_bytes();
}

TurboProd::Parts TurboProd::parts(std::span<const std::uint8_t> packed) const {
  const std::size_t scale = scale_bytes(options_.format);
  const std::size_t codes = stage_bytes(dim(), table_.bits());
  const double gamma = stores_gamma()      ? static_cast<double>(load_scale(options_.format, packed.data() + scale))
                       : table_.bits() > 0 ? constant_gamma_
                                           : 1;
  return {packed.subspan(metadata_bytes(), codes), packed.subspan(metadata_bytes() + codes), gamma};
}

void TurboProd::unpack(std::span<const std::uint8_t> packed, std::span<std::uint8_t> codes) const {
  if (table_.bits() > 0) {
    unpack_codes(packed, table_.bits(), codes);
  } else {
    std::ranges::fill(codes, std::uint8_t{0});
  }
}

void TurboProd::encode_direction(std::span<const float> y, double length, std::size_t row,
                                 std::span<std::uint8_t> packed, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  const std::span<float> residual = work.take<float>(dim());
  const std::span<float> projected = work.take<float>(dim());
  table_.encode(y, codes);
  table_.decode(codes, residual);
  for (std::size_t j = 0; j < dim(); ++j) residual[j] = y[j] - residual[j];
  sketch_->project(residual, projected, work);

  store_scale(options_.format, stored_scale(options_.format, length, row), packed.data());
  if (stores_gamma()) {
    store_scale(options_.format, static_cast<float>(norm(residual)), packed.data() + scale_bytes(options_.format));
  }
  const std::size_t stage = stage_bytes(dim(), table_.bits());
  if (stage > 0) pack_codes(codes, table_.bits(), packed.subspan(metadata_bytes(), stage));
  store_signs(projected, packed.subspan(metadata_bytes() + stage));
}

float TurboProd::decode_direction(std::span<const std::uint8_t> packed, std::span<float> y_hat, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  const std::span<float> signs = work.take<float>(dim());
  const std::span<float> back = work.take<float>(dim());
  const Parts part = parts(packed);
  unpack(part.codes, codes);
  table_.decode(codes, y_hat);
  load_signs(part.signs, signs);
  sketch_->project_back(signs, back, work);
  const double weight = part.gamma * sketch_->factor();
  for (std::size_t j = 0; j < dim(); ++j) {
    y_hat[j] = static_cast<float>(static_cast<double>(y_hat[j]) + weight * static_cast<double>(back[j]));
  }
  return load_scale(options_.format, packed.data());
}

void TurboProd::estimate_rows(std::span<const float> p, MatrixView<const std::uint8_t> packed,
                              std::span<float> estimates, Workspace& work) const {
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  const std::span<float> sketched = work.take<float>(dim());
  sketch_->project(p, sketched, work);
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const Parts part = parts(packed.row(i));
    unpack(part.codes, codes);
    const double correction = part.gamma == 0 ? 0 : part.gamma * sketch_->factor() * dot_signs(sketched, part.signs);
    const double length = load_scale(options_.format, packed.row(i).data());
    estimates[i] = static_cast<float>(length * (table_.dot(p, codes) + correction));
  }
}

}  // namespace orthant::quantizer
