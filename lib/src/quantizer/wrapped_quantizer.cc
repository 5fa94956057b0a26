#include "orthant/quantizer/wrapped_quantizer.h"

#include <algorithm>
#include <utility>

#include "quantizer/row_checks.h"

namespace orthant::quantizer {

WrappedQuantizer::WrappedQuantizer(std::unique_ptr<VectorQuantizer> inner) : inner_(std::move(inner)) {}

std::size_t WrappedQuantizer::workspace_bytes(std::size_t rows) const {
  const std::size_t most = std::max<std::size_t>(rows, 1);  // a query is one more vector to change
  return Workspace::bytes_for<float>(most * dim()) + std::max(change_bytes(most), inner_->workspace_bytes(most));
}

void WrappedQuantizer::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  for (std::size_t i = 0; i < x.rows(); ++i) check_finite(x.row(i), i);
  const Workspace::Scope scope(work);
  const MatrixView<float> y(work.take<float>(x.rows() * dim()).data(), x.rows(), dim());
  enter(x, y, work);
  inner_->encode(y, packed, work);
}

void WrappedQuantizer::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat, Workspace& work) const {
  inner_->decode(packed, x_hat, work);
  leave(x_hat, work);
}

}  // namespace orthant::quantizer
