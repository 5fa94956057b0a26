#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orthant/transform/matching.h"
#include "orthant/transform/transform.h"

namespace orthant::transform {

/// The calibrated map of matching.h as a Transform: keys by A, queries by A^-T, coordinates in order of falling
/// importance or as the map has them. Diagonal maps cost one product a coordinate, full ones d.
/// Applied in single precision: the relative error of a score is about d * 2^-24 * cond(A), and cond(A) is at most
/// sqrt(1 + 49 d) (112 at d = 256) for moments shrunk by 2 %.
class MatchedTransform final : public Transform {
 public:
  /// Throws InvalidArgument unless forward and inverse are finite (d, d), d = importance.size() >= 1. That they are
  /// each other's inverse is the caller's promise (matching_map keeps it).
  explicit MatchedTransform(const MatchingMap& map);

  /// 1 / A_jj when the map scales channels and leaves them in their order (in_channel_order), else empty.
  std::span<const float> query_scales() const;

  std::size_t dim() const override { return dim_; }
  /// False but for Match::kNone, which only sorts.
  bool orthogonal() const override { return match_ == Match::kNone; }
  /// "match=none", "match=diag" or "match=full".
  std::string describe() const override;
  std::string guarantee() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const override;
  void apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const override;

 private:
  Match match_;
  std::size_t dim_;
  std::vector<std::size_t> channel_;  // diagonal: y_i = scale_i x_{channel_i}
  std::vector<float> scale_;
  std::vector<float> inverse_scale_;
  bool in_order_ = false;             // channel_i = i
  Matrix<float> forward_transposed_;  // full
  Matrix<float> inverse_;
  Matrix<float> inverse_transposed_;
};

}  // namespace orthant::transform
