#include "orthant/quantizer/centred.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {
namespace {

// Chosen: rows that are centred and coded together; the copy stays in the first-level cache up to d = 256.
constexpr std::size_t kBlockRows = 32;

// A turned and centred key carries a few roundings of 2^-24 |x| a coordinate; 2^-20 |x| is safely above them.
constexpr double kRounding = 0x1p-20;

}  // namespace

Centred::Centred(std::vector<float> mean, std::unique_ptr<VectorQuantizer> inner)
    : mean_(std::move(mean)), inner_(std::move(inner)) {
  require_size("Centred", "size of the mean", mean_.size(), inner_->dim());
  check_finite(mean_, 0);
}

std::string Centred::describe() const { return inner_->describe() + ",centre=mean"; }

std::size_t Centred::workspace_bytes(std::size_t rows) const {
  return Workspace::bytes_for<float>(kBlockRows * dim()) + inner_->workspace_bytes(std::max(rows, kBlockRows));
}

void Centred::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  for (std::size_t i = 0; i < x.rows(); ++i) check_finite(x.row(i), i);
  const Workspace::Scope scope(work);
  const MatrixView<float> block(work.take<float>(kBlockRows * dim()).data(), kBlockRows, dim());
  for (std::size_t first = 0; first < x.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, x.rows() - first);
    const MatrixView<float> y = block.middle_rows(0, count);
    for (std::size_t i = 0; i < count; ++i) {
      double size = 0;
      double rest = 0;
      for (std::size_t j = 0; j < dim(); ++j) {
        y(i, j) = x(first + i, j) - mean_[j];
        size += static_cast<double>(x(first + i, j)) * static_cast<double>(x(first + i, j));
        rest += static_cast<double>(y(i, j)) * static_cast<double>(y(i, j));
      }
      if (rest <= kRounding * kRounding * size) std::ranges::fill(y.row(i), 0.0F);
    }
    inner_->encode(y, packed.middle_rows(first, count), work);
  }
}

void Centred::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  inner_->decode(packed, x_hat, work);
  for (std::size_t i = 0; i < x_hat.rows(); ++i)
    for (std::size_t j = 0; j < dim(); ++j) x_hat(i, j) += mean_[j];
}

void Centred::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed, std::span<float> estimates,
                       Workspace& work) const {
  inner_->estimate(query, packed, estimates, work);
  double constant = 0;
  for (std::size_t j = 0; j < mean_.size(); ++j)
    constant += static_cast<double>(query[j]) * static_cast<double>(mean_[j]);
  for (float& estimate : estimates) estimate = static_cast<float>(static_cast<double>(estimate) + constant);
}

}  // namespace orthant::quantizer
