#include "orthant/quantizer/turbo_mse.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/describe.h"
#include "quantizer/norms.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

/// Rows rotated together: enough for the matrix product to run at speed, few enough to stay in the cache.
constexpr std::size_t kBlockRows = 64;

}  // namespace

TurboMse::TurboMse(std::shared_ptr<const transform::Transform> rotation, codebook::Codebook book,
                   TurboMseOptions options)
    : rotation_(std::move(rotation)),
      book_(std::move(book)),
      table_(book_),
      options_(options),
      code_bytes_(bits() == 0 ? 0 : packed_bytes(rotation_->dim(), bits())) {
  if (!std::cmp_equal(book_.dim(), dim())) {
    throw_invalid_argument("TurboMse", "dimension of the codebook", std::to_string(book_.dim()),
                           std::to_string(dim()) + ", the dimension of the rotated vector");
  }
}

std::string TurboMse::describe() const {
  const ScaleRule rule = options_.rule;
  std::string text = (rule == ScaleRule::kRaw ? "turbo-mse:" : "eden:") + std::to_string(bits());
  if (rule == ScaleRule::kMatched || rule == ScaleRule::kMse) text.append(",scale=").append(name(rule));
  return text + common_options(options_.format, *rotation_);
}

std::size_t TurboMse::workspace_bytes(std::size_t rows) const {
  const std::size_t block = std::clamp<std::size_t>(rows, 1, kBlockRows);
  return Workspace::bytes_for<float>(block * dim()) + Workspace::bytes_for<std::uint8_t>(block * dim()) +
         Workspace::bytes_for<float>(std::max(block, dim())) + rotation_->workspace_bytes(block);
}

void TurboMse::check_rows(MatrixView<const float> x) const {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double length = norm(x.row(i));
    if (!std::isfinite(length)) check_finite(x.row(i), i);
    if (rotation_->orthogonal()) stored_scale(options_.format, length, i);
  }
}

void TurboMse::encode_block(MatrixView<const float> x, std::size_t first_row, MatrixView<std::uint8_t> codes,
                            std::span<float> scales, Workspace& work) const {
  const Workspace::Scope scope(work);
  const MatrixView<float> y(work.take<float>(x.rows() * dim()).data(), x.rows(), dim());
  for (std::size_t i = 0; i < x.rows(); ++i) divide(x.row(i), norm(x.row(i)), y.row(i));
  rotation_->apply_keys(y, y, work);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    double length = norm(x.row(i));
    if (length == 0) {
      std::ranges::fill(codes.row(i), std::uint8_t{0});
      scales[i] = 0;
      continue;
    }
    if (!rotation_->orthogonal()) {
      const double stretch = norm(y.row(i));
      divide(y.row(i), stretch, y.row(i));
      length *= stretch;
    }
    table_.encode(y.row(i), codes.row(i));
    if (options_.rule != ScaleRule::kRaw) {
      double c_square = 0;
      for (const std::uint8_t code : codes.row(i)) {
        const double c = table_.centroids()[code];
        c_square += c * c;
      }
      length *= scale_factor(options_.rule, table_.dot(y.row(i), codes.row(i)), c_square);
    }
    scales[i] = stored_scale(options_.format, length, first_row + i);
  }
}

void TurboMse::encode_codes(MatrixView<const float> x, MatrixView<std::uint8_t> codes, std::span<float> scales,
                            Workspace& work) const {
  require_size("encode_codes", "columns of x", x.cols(), dim());
  require_size("encode_codes", "columns of codes", codes.cols(), dim());
  require_size("encode_codes", "rows of codes", codes.rows(), x.rows());
  require_size("encode_codes", "size of scales", scales.size(), x.rows());
  check_rows(x);
  for (std::size_t first = 0; first < x.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, x.rows() - first);
    encode_block(x.middle_rows(first, count), first, codes.middle_rows(first, count), scales.subspan(first, count),
                 work);
  }
}

void TurboMse::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  check_rows(x);
  const Workspace::Scope scope(work);
  const std::size_t block = std::min(x.rows(), kBlockRows);
  const MatrixView<std::uint8_t> codes(work.take<std::uint8_t>(block * dim()).data(), block, dim());
  const std::span<float> scales = work.take<float>(block);
  for (std::size_t first = 0; first < x.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, x.rows() - first);
    encode_block(x.middle_rows(first, count), first, codes.middle_rows(0, count), scales.first(count), work);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::uint8_t> out = packed.row(first + i);
      store_scale(options_.format, scales[i], out.data());
      if (bits() > 0) pack_codes(codes.row(i), bits(), out.subspan(scale_bytes(options_.format)));
    }
  }
}

void TurboMse::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  check_decode_shapes(*this, packed, x_hat);
  const Workspace::Scope scope(work);
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  std::ranges::fill(codes, std::uint8_t{0});
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    if (bits() > 0) unpack_codes(packed.row(i).subspan(scale_bytes(options_.format)), bits(), codes);
    table_.decode(codes, x_hat.row(i));
  }
  for (std::size_t first = 0; first < packed.rows(); first += kBlockRows) {
    const MatrixView<float> rows = x_hat.middle_rows(first, std::min(kBlockRows, packed.rows() - first));
    rotation_->invert_keys(rows, rows, work);
  }
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    const float scale = load_scale(options_.format, packed.row(i).data());
    for (float& v : x_hat.row(i)) v *= scale;
  }
}

void TurboMse::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                        Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const Workspace::Scope scope(work);
  const std::span<float> p = work.take<float>(dim());
  const std::span<std::uint8_t> codes = work.take<std::uint8_t>(dim());
  std::ranges::fill(codes, std::uint8_t{0});
  rotation_->apply_queries({query.data(), 1, dim()}, {p.data(), 1, dim()}, work);
  for (std::size_t i = 0; i < packed.rows(); ++i) {
    if (bits() > 0) unpack_codes(packed.row(i).subspan(scale_bytes(options_.format)), bits(), codes);
    const double scale = load_scale(options_.format, packed.row(i).data());
    estimates[i] = static_cast<float>(scale * table_.dot(p, codes));
  }
}

}  // namespace orthant::quantizer
