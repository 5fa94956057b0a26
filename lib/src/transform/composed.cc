#include "orthant/transform/composed.h"

#include <algorithm>
#include <utility>

#include "orthant/core/error.h"
#include "transform/row_shapes.h"

namespace orthant::transform {

Composed::Composed(std::shared_ptr<const Transform> first, std::shared_ptr<const Transform> second)
    : first_(std::move(first)), second_(std::move(second)) {
  require_size("Composed", "dimension of the second map", second_->dim(), first_->dim());
}

std::string Composed::describe() const { return second_->describe() + "," + first_->describe(); }

std::size_t Composed::workspace_bytes(std::size_t rows) const {
  return std::max(first_->workspace_bytes(rows), second_->workspace_bytes(rows));
}

void Composed::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const {
  first_->apply_keys(x, y, work);
  second_->apply_keys(y, y, work);
}

void Composed::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const {
  second_->invert_keys(y, x, work);
  first_->invert_keys(x, x, work);
}

void Composed::apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const {
  first_->apply_queries(q, p, work);
  second_->apply_queries(p, p, work);
}

SideBySide::SideBySide(std::vector<std::shared_ptr<const Transform>> parts) : parts_(std::move(parts)) {
  for (const auto& part : parts_) dim_ += part->dim();
  require_dim("SideBySide", dim_);
}

bool SideBySide::orthogonal() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->orthogonal(); });
}

std::string SideBySide::describe() const {
  std::string text;
  for (const auto& part : parts_) text += (text.empty() ? "" : "+") + part->describe();
  return text;
}

std::string SideBySide::guarantee() const { return "of each part by itself: " + parts_.front()->guarantee(); }

std::size_t SideBySide::workspace_bytes(std::size_t rows) const {
  std::size_t most = 0;
  for (const auto& part : parts_) most = std::max(most, part->workspace_bytes(rows));
  return most;
}

void SideBySide::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const {
  require_row_shapes("SideBySide::apply_keys", dim_, x, y);
  std::size_t first = 0;
  for (const auto& part : parts_) {
    part->apply_keys(x.middle_cols(first, part->dim()), y.middle_cols(first, part->dim()), work);
    first += part->dim();
  }
}

void SideBySide::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const {
  require_row_shapes("SideBySide::invert_keys", dim_, y, x);
  std::size_t first = 0;
  for (const auto& part : parts_) {
    part->invert_keys(y.middle_cols(first, part->dim()), x.middle_cols(first, part->dim()), work);
    first += part->dim();
  }
}

void SideBySide::apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const {
  require_row_shapes("SideBySide::apply_queries", dim_, q, p);
  std::size_t first = 0;
  for (const auto& part : parts_) {
    part->apply_queries(q.middle_cols(first, part->dim()), p.middle_cols(first, part->dim()), work);
    first += part->dim();
  }
}

}  // namespace orthant::transform
