#include "orthant/cache/row_encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cache/append_checks.h"
#include "kernels/code_search.h"
#include "kernels/kernel_table.h"
#include "orthant/core/error.h"
#include "orthant/transform/haar.h"

namespace orthant::cache {
namespace {

// Beyond, a matrix leaves the second-level cache, where OpenBLAS is better at it.
constexpr std::size_t kLargestMatrix = 512;
// Squares in this range neither overflow nor lose bits to underflow, whatever the d <= 2^15 summands.
constexpr float kSmallestSquare = 0x1p-80F;
constexpr float kLargestSquare = 0x1p100F;
// Rows of such a square surely have a scale below 65520: the norm times a factor that is near one, and below 1000.
constexpr float kSureSquare = 64 * 64;

/// <c, y> and |c|^2.
std::pair<double, double> code_moments(std::span<const float> y, float factor, std::span<const std::uint8_t> codes,
                                       std::span<const float> centroids) {
  float dots[16] = {};
  float squares[16] = {};
  for (std::size_t j = 0; j < codes.size(); ++j) {
    const float c = centroids[codes[j]];
    dots[j % 16] += c * (factor * y[j]);
    squares[j % 16] += c * c;
  }
  double dot = 0;
  double square = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    dot += double{dots[i]};
    square += double{squares[i]};
  }
  return {dot, square};
}

}  // namespace

RowEncoder::RowEncoder(std::shared_ptr<const quantizer::TurboMse> quantizer, const std::string& target)
    : quantizer_(std::move(quantizer)),
      table_(target.empty() ? &kernels::chosen_table() : &kernels::table_named(target)) {
  if (quantizer_->bits() < 1) throw_invalid_argument("RowEncoder", "bits", "0", "1 to 8");
  search_ = std::make_shared<kernels::CodeSearch>(
      kernels::make_code_search(quantizer_->table().thresholds(), quantizer_->bits()));
  const transform::Transform& rotation = quantizer_->rotation();
  const std::size_t d = quantizer_->dim();
  if (dynamic_cast<const transform::Haar*>(&rotation) == nullptr || d > kLargestMatrix) return;
  Matrix<float> units(d, d);
  Matrix<float> images(d, d);
  for (std::size_t i = 0; i < d; ++i) units(i, i) = 1;
  Workspace work(rotation.workspace_bytes(d));
  rotation.apply_keys(units.view(), images.view(), work);
  matrix_.resize(kernels::PanelMatrix::size(d));
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) matrix_[kernels::PanelMatrix::place(d, i, j)] = images(i, j);
  }
}

RowFormat RowEncoder::format() const {
  const std::span<const float> centroids = quantizer_->table().centroids();
  return RowFormat::codebook(quantizer_->dim(), quantizer_->bits(), {centroids.begin(), centroids.end()});
}

std::size_t RowEncoder::workspace_bytes() const {
  const std::size_t d = quantizer_->dim();
  return Workspace::bytes_for<std::uint8_t>(kBlock * d) + Workspace::bytes_for<float>(kBlock * d) +
         Workspace::bytes_for<float>(kBlock) +
         std::max(quantizer_->rotation().workspace_bytes(kBlock), quantizer_->workspace_bytes(1));
}

void RowEncoder::rotate(const MatrixView<const float>& x, const MatrixView<float>& y, Workspace& work) const {
  if (!matrix_.empty()) {
    const std::size_t d = quantizer_->dim();
    table_->multiply_rows({matrix_.data(), d}, x.data(), x.stride(), x.rows(), y.data(), y.stride());
  } else {
    quantizer_->rotation().apply_keys(x, y, work);
  }
}

void RowEncoder::encode(const MatrixView<const float>& x, const MatrixView<std::uint8_t>& codes,
                        const MatrixView<float>& scales, const MatrixView<float>& y, Workspace& work) const {
  constexpr const char* kWhere = "RowEncoder::encode";
  const std::size_t d = quantizer_->dim();
  require_size(kWhere, "columns of x", x.cols(), d);
  require_size(kWhere, "columns of codes", codes.cols(), d);
  require_size(kWhere, "columns of y", y.cols(), d);
  require_size(kWhere, "columns of scales", scales.cols(), 1);
  require_size(kWhere, "rows of codes", codes.rows(), x.rows());
  require_size(kWhere, "rows of scales", scales.rows(), x.rows());
  require_size(kWhere, "rows of y", y.rows(), x.rows());
  const kernels::KernelTable& table = *table_;
  const quantizer::CodeTable& code_table = quantizer_->table();
  rotate(x, y, work);
  const bool orthogonal = quantizer_->rotation().orthogonal();
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const float square = table.sum_of_squares(orthogonal ? x.row(i).data() : y.row(i).data(), d);
    if (!(square >= kSmallestSquare && square <= kLargestSquare)) {  // so is that of a row with a NaN or an infinity
      if (!std::isfinite(square)) require_finite_row(kWhere, "value", x, i);
      quantizer_->encode_codes(x.middle_rows(i, 1), codes.middle_rows(i, 1), scales.row(i), work);
      continue;
    }
    const float norm = std::sqrt(square);
    const float factor = 1 / norm;
    table.find_codes(*search_, y.row(i).data(), d, factor, codes.row(i).data());
    double length = double{norm};
    if (quantizer_->options().rule != quantizer::ScaleRule::kRaw) {
      const auto [dot, c_square] = code_moments(y.row(i), factor, codes.row(i), code_table.centroids());
      length *= quantizer::scale_factor(quantizer_->options().rule, dot, c_square);
    }
    scales(i, 0) = quantizer::stored_scale(quantizer::ScaleFormat::kHalf, length, i);
  }
}

void RowEncoder::require_storable(const MatrixView<const float>& x, Workspace& work) const {
  const std::size_t d = quantizer_->dim();
  const bool orthogonal = quantizer_->rotation().orthogonal();
  const Workspace::Scope scope(work);
  const MatrixView<std::uint8_t> codes(work.take<std::uint8_t>(d).data(), 1, d);
  const MatrixView<float> y(work.take<float>(d).data(), 1, d);
  const MatrixView<float> scales(work.take<float>(1).data(), 1, 1);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const float square = table_->sum_of_squares(x.row(i).data(), d);
    if (orthogonal && square <= kSureSquare) continue;
    if (!std::isfinite(square)) require_finite_row("RowEncoder::append", "value", x, i);
    encode(x.middle_rows(i, 1), codes, scales, y, work);
  }
}

template <class Cache>
void RowEncoder::append_blocks(const MatrixView<const float>& x, Cache& cache, Workspace& work) const {
  const std::size_t d = quantizer_->dim();
  require_size("RowEncoder::append", "dim of the cache", cache.dim(), d);
  if (x.rows() > kBlock) require_storable(x, work);
  const bool windows = cache.options().first_exact + cache.options().last_exact > 0;
  for (std::size_t first = 0; first < x.rows(); first += kBlock) {
    const std::size_t n = std::min(kBlock, x.rows() - first);
    const Workspace::Scope scope(work);
    const MatrixView<std::uint8_t> codes(work.take<std::uint8_t>(n * d).data(), n, d);
    const MatrixView<float> y(work.take<float>(n * d).data(), n, d);
    const MatrixView<float> scales(work.take<float>(n).data(), n, 1);
    encode(x.middle_rows(first, n), codes, scales, y, work);
    cache.append(codes, scales, {}, windows ? MatrixView<const float>(y) : MatrixView<const float>());
  }
}

void RowEncoder::append(const MatrixView<const float>& x, KeyCache& cache, Workspace& work) const {
  append_blocks(x, cache, work);
}

void RowEncoder::append(const MatrixView<const float>& x, ValueCache& cache, Workspace& work) const {
  append_blocks(x, cache, work);
}

}  // namespace orthant::cache
