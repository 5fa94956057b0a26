#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "orthant/transform/rotation.h"

namespace orthant::transform {

/// The map that leaves every vector as it is ("none").
class Identity final : public Rotation {
 public:
  /// Throws InvalidArgument for dim = 0.
  explicit Identity(std::size_t dim);

  std::size_t dim() const override { return dim_; }
  std::string describe() const override { return "none"; }
  std::string guarantee() const override;
  std::size_t workspace_bytes(std::size_t) const override { return 0; }
  void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const override;
  void rotate(std::span<double> x) const override;
  void rotate_back(std::span<double> x) const override;

 private:
  std::size_t dim_;
};

}  // namespace orthant::transform
