#pragma once

#include <cstddef>
#include <string>

#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::transform {

/// An invertible linear map on R^d, applied to vectors before they are coded.
///   keys:     y = A x            queries:  p = A^-T q            so that <q, x> = <p, y> for every pair.
/// For an orthogonal A both sides are the same map. Immutable: calls may run concurrently, each thread with its own
/// Workspace of at least workspace_bytes(rows) bytes. No call allocates. Rows of input and output may be the same
/// memory; otherwise they must not overlap. Shape mismatches throw InvalidArgument before anything is written.
class Transform {
 public:
  virtual ~Transform() = default;

  virtual std::size_t dim() const = 0;
  /// True when A^T A = I up to rounding: norms are kept, and keys and queries take the same map.
  virtual bool orthogonal() const = 0;
  /// The method-string part that makes this map again, e.g. "haar" or "hadamard:3".
  virtual std::string describe() const = 0;
  /// In one sentence, what is known of the law of the coordinates of A x for a fixed unit x.
  virtual std::string guarantee() const = 0;
  virtual std::size_t workspace_bytes(std::size_t rows) const = 0;

  /// x: (n, d) -> y: (n, d), y_i = A x_i.
  virtual void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const = 0;
  /// y: (n, d) -> x: (n, d), x_i = A^-1 y_i.
  virtual void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const = 0;
  /// q: (n, d) -> p: (n, d), p_i = A^-T q_i.
  virtual void apply_queries(MatrixView<const float> q, MatrixView<float> p, Workspace& work) const = 0;
};

}  // namespace orthant::transform
