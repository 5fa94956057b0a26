#include "orthant/quantizer/transformed_quantizer.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {

TransformedQuantizer::TransformedQuantizer(std::shared_ptr<const transform::Transform> map,
                                           std::unique_ptr<VectorQuantizer> inner)
    : map_(std::move(map)), inner_(std::move(inner)) {
  require_size("TransformedQuantizer", "dimension of the map", map_->dim(), inner_->dim());
}

std::string TransformedQuantizer::describe() const { return inner_->describe() + ",rotation=" + map_->describe(); }

std::size_t TransformedQuantizer::workspace_bytes(std::size_t rows) const {
  const std::size_t most = std::max<std::size_t>(rows, 1);  // the query is one more vector to map
  return Workspace::bytes_for<float>(most * dim()) +
         std::max(map_->workspace_bytes(most), inner_->workspace_bytes(most));
}

void TransformedQuantizer::encode(MatrixView<const float> x, MatrixView<std::uint8_t> packed, Workspace& work) const {
  check_encode_shapes(*this, x, packed);
  for (std::size_t i = 0; i < x.rows(); ++i) check_finite(x.row(i), i);
  const Workspace::Scope scope(work);
  const MatrixView<float> y(work.take<float>(x.rows() * dim()).data(), x.rows(), dim());
  map_->apply_keys(x, y, work);
  inner_->encode(y, packed, work);
}

void TransformedQuantizer::decode(MatrixView<const std::uint8_t> packed, MatrixView<float> x_hat,
                                  Workspace& work) const {
  inner_->decode(packed, x_hat, work);
  map_->invert_keys(x_hat, x_hat, work);
}

void TransformedQuantizer::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed,
                                    std::span<float> estimates, Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const Workspace::Scope scope(work);
  const std::span<float> p = work.take<float>(dim());
  map_->apply_queries({query.data(), 1, dim()}, {p.data(), 1, dim()}, work);
  inner_->estimate(p, packed, estimates, work);
}

}  // namespace orthant::quantizer
