#include "orthant/quantizer/rotated_quantizer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "quantizer/norms.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {

RotatedQuantizer::RotatedQuantizer(std::shared_ptr<const transform::Transform> rotation, std::size_t header_bytes,
                                   std::size_t code_bytes, ScaleFormat format)
    : rotation_(std::move(rotation)), header_bytes_(header_bytes), code_bytes_(code_bytes), format_(format) {}

std::size_t RotatedQuantizer::workspace_bytes(std::size_t rows) const {
  const std::size_t block = std::clamp<std::size_t>(rows, 1, kBlockRows);
  return Workspace::bytes_for<float>(block * dim()) + Workspace::bytes_for<double>(block) +
         std::max(rotation_->workspace_bytes(block), scratch_bytes());
}

void RotatedQuantizer::check_rows(MatrixView<const float> x) const {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double length = norm(x.row(i));
    if (!std::isfinite(length)) check_finite(x.row(i), i);
    if (rotation_->orthogonal()) stored_scale(format_, length, i);
  }
}

void RotatedQuantizer::directions(MatrixView<const float> x, MatrixView<float> y, std::span<double> lengths,
                                  Workspace& work) const {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    lengths[i] = norm(x.row(i));
    divide(x.row(i), lengths[i], y.row(i));
  }
  rotation_->apply_keys(y, y, work);
  if (rotation_->orthogonal()) return;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const double stretch = norm(y.row(i));
    divide(y.row(i), stretch, y.row(i));
    lengths[i] *= stretch;
  }
}

void RotatedQuantizer::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  check_rows(x);
  for_each_direction(x, work, [&](std::span<const float> y, double length, std::size_t i) {
    if (length == 0) {
      std::ranges::fill(packed.row(i), std::uint8_t{0});
      return;
    }
    const Workspace::Scope scope(work);
    encode_direction(y, length, i, packed.row(i), work);
  });
}

void RotatedQuantizer::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  check_decode_shapes(*this, packed, x_hat);
  const Workspace::Scope scope(work);
  const std::size_t block = std::min(packed.rows(), kBlockRows);
  const std::span<float> factors = work.take<float>(block);
  for (std::size_t first = 0; first < packed.rows(); first += block) {
    const MatrixView<float> rows = x_hat.middle_rows(first, std::min(block, packed.rows() - first));
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const Workspace::Scope row_scope(work);
      factors[i] = decode_direction(packed.row(first + i), rows.row(i), work);
    }
    rotation_->invert_keys(rows, rows, work);
    // After the inverse map: directions are of order 1, whatever the length.
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      for (float& v : rows.row(i)) v *= factors[i];
    }
  }
}

void RotatedQuantizer::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed,
                                std::span<float> estimates, Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const Workspace::Scope scope(work);
  const std::span<float> p = work.take<float>(dim());
  rotation_->apply_queries({query.data(), 1, dim()}, {p.data(), 1, dim()}, work);
  estimate_rows(p, packed, estimates, work);
}

}  // namespace orthant::quantizer
