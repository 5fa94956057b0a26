#include "orthant/quantizer/transformed_quantizer.h"

#include <utility>

#include "orthant/core/error.h"
#include "quantizer/row_checks.h"

namespace orthant::quantizer {

TransformedQuantizer::TransformedQuantizer(std::shared_ptr<const transform::Transform> map,
                                           std::unique_ptr<VectorQuantizer> inner)
    : WrappedQuantizer(std::move(inner)), map_(std::move(map)) {
  require_size("TransformedQuantizer", "dimension of the map", map_->dim(), dim());
}

std::string TransformedQuantizer::describe() const { return inner().describe() + ",rotation=" + map_->describe(); }

void TransformedQuantizer::enter(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const {
  map_->apply_keys(x, y, work);
}

void TransformedQuantizer::leave(MatrixView<float> x_hat, Workspace& work) const {
  map_->invert_keys(x_hat, x_hat, work);
}

void TransformedQuantizer::estimate(std::span<const float> query, MatrixView<const std::uint8_t> packed,
                                    std::span<float> estimates, Workspace& work) const {
  check_estimate_shapes(*this, query, packed, estimates);
  const Workspace::Scope scope(work);
  const std::span<float> p = work.take<float>(dim());
  map_->apply_queries({query.data(), 1, dim()}, {p.data(), 1, dim()}, work);
  inner().estimate(p, packed, estimates, work);
}

}  // namespace orthant::quantizer
