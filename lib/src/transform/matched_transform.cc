#include "orthant/transform/matched_transform.h"

#include <algorithm>
#include <cmath>

#include "orthant/core/error.h"
#include "transform/dense_map.h"
#include "transform/row_shapes.h"

namespace orthant::transform {
namespace {

void require_map(const Matrix<double>& m, std::size_t d, const char* what) {
  require_size("MatchedTransform", std::string("rows of ") + what, m.rows(), d);
  require_size("MatchedTransform", std::string("columns of ") + what, m.cols(), d);
  for (std::size_t i = 0; i < d * d; ++i)
    if (!std::isfinite(static_cast<float>(m.data()[i])))
      throw_invalid_argument("MatchedTransform", what, std::to_string(m.data()[i]), "finite numbers");
}

Matrix<float> rounded(const Matrix<double>& m) {
  Matrix<float> out(m.rows(), m.cols());
  std::transform(m.data(), m.data() + m.rows() * m.cols(), out.data(), [](double v) { return static_cast<float>(v); });
  return out;
}

/// y_j = factor_j x_j, in place or not.
void scale_rows(std::span<const float> factors, MatrixView<const float> x, MatrixView<float> y) {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const float* const from = x.row(r).data();
    float* const to = y.row(r).data();
    for (std::size_t j = 0; j < factors.size(); ++j) to[j] = factors[j] * from[j];
  }
}

}  // namespace

MatchedTransform::MatchedTransform(const MatchingMap& map) : match_(map.match), dim_(map.importance.size()) {
  require_dim("MatchedTransform", dim_);
  require_map(map.forward, dim_, "the map");
  require_map(map.inverse, dim_, "the inverse map");
  if (match_ == Match::kFull) {
    inverse_ = rounded(map.inverse);
    inverse_transposed_ = transposed(inverse_);
    forward_transposed_ = transposed(rounded(map.forward));
    return;
  }
  for (std::size_t i = 0; i < dim_; ++i) {
    const auto row = map.forward.row(i);
    const auto channel =
        static_cast<std::size_t>(std::ranges::find_if(row, [](double v) { return v != 0; }) - row.begin());
    if (channel == dim_) throw_invalid_argument("MatchedTransform", "row " + std::to_string(i), "zeros", "a scale");
    channel_.push_back(channel);
    scale_.push_back(static_cast<float>(map.forward(i, channel)));
    inverse_scale_.push_back(static_cast<float>(map.inverse(channel, i)));
  }
  in_order_ = std::ranges::is_sorted(channel_);
}

std::span<const float> MatchedTransform::query_scales() const {
  return in_order_ ? std::span<const float>(inverse_scale_) : std::span<const float>();
}

std::string MatchedTransform::describe() const {
  switch (match_) {
    case Match::kDiagonal:
      return "match=diag";
    case Match::kFull:
      return "match=full";
    case Match::kNone:
      break;
  }
  return "match=none";
}

std::string MatchedTransform::guarantee() const {
  return "none for a fixed x: the map is fitted to second moments of keys and queries; a rotation follows it";
}

std::size_t MatchedTransform::workspace_bytes(std::size_t) const {
  return match_ == Match::kFull ? dense_workspace_bytes(dim_) : Workspace::bytes_for<float>(dim_);
}

void MatchedTransform::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const {
  require_row_shapes("MatchedTransform::apply_keys", dim_, x, y);
  if (match_ == Match::kFull) return apply_dense(forward_transposed_, x, y, work);
  if (in_order_) return scale_rows(scale_, x, y);
  const Workspace::Scope scope(work);
  const std::span<float> row = work.take<float>(dim_);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    for (std::size_t i = 0; i < dim_; ++i) row[i] = scale_[i] * x(r, channel_[i]);
    std::ranges::copy(row, y.row(r).begin());
  }
}

void MatchedTransform::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const {
  require_row_shapes("MatchedTransform::invert_keys", dim_, y, x);
  if (match_ == Match::kFull) return apply_dense(inverse_transposed_, y, x, work);
  if (in_order_) return scale_rows(inverse_scale_, y, x);
  const Workspace::Scope scope(work);
  const std::span<float> row = work.take<float>(dim_);
  for (std::size_t r = 0; r < y.rows(); ++r) {
    for (std::size_t i = 0; i < dim_; ++i) row[channel_[i]] = inverse_scale_[i] * y(r, i);
    std::ranges::copy(row, x.row(r).begin());
  }
}

void MatchedTransform::apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const {
  require_row_shapes("MatchedTransform::apply_queries", dim_, q, p);
  if (match_ == Match::kFull) return apply_dense(inverse_, q, p, work);
  if (in_order_) return scale_rows(inverse_scale_, q, p);
  const Workspace::Scope scope(work);
  const std::span<float> row = work.take<float>(dim_);
  for (std::size_t r = 0; r < q.rows(); ++r) {
    for (std::size_t i = 0; i < dim_; ++i) row[i] = inverse_scale_[i] * q(r, channel_[i]);
    std::ranges::copy(row, p.row(r).begin());
  }
}

}  // namespace orthant::transform
