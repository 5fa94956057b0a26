#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "orthant/transform/transform.h"

namespace orthant::transform {

/// One map after the other, keys by A = B_2 B_1, queries by A^-T = B_2^-T B_1^-T. The way from a matched map to a
/// coder: Composed(matched, rotation) codes R A k with one norm.
class Composed final : public Transform {
 public:
  /// Throws InvalidArgument unless both have one dimension.
  Composed(std::shared_ptr<const Transform> first, std::shared_ptr<const Transform> second);

  std::size_t dim() const override { return first_->dim(); }
  bool orthogonal() const override { return first_->orthogonal() && second_->orthogonal(); }
  /// "<second>,<first>": options of a method string.
  std::string describe() const override;
  std::string guarantee() const override { return second_->guarantee(); }
  std::size_t workspace_bytes(std::size_t rows) const override;
  void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const override;
  void apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const override;

 private:
  std::shared_ptr<const Transform> first_;
  std::shared_ptr<const Transform> second_;
};

/// Maps side by side: consecutive coordinates, each part by its own map (block-diagonal A). What segments need: a
/// rotation for each.
class SideBySide final : public Transform {
 public:
  /// Throws InvalidArgument when there is none.
  explicit SideBySide(std::vector<std::shared_ptr<const Transform>> parts);

  std::size_t dim() const override { return dim_; }
  bool orthogonal() const override;
  /// The parts' descriptions, joined by '+'.
  std::string describe() const override;
  std::string guarantee() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const override;
  void apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const override;

 private:
  std::vector<std::shared_ptr<const Transform>> parts_;
  std::size_t dim_ = 0;
};

}  // namespace orthant::transform
