#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"

namespace orthant::cache {

/// The first rows of a cache and the most recent ones, also kept as they came, in float32: attention sinks and the
/// local window. The recent ones live in a ring.
class ExactWindows {
 public:
  ExactWindows(std::size_t dim, std::size_t first, std::size_t last);

  bool any() const { return first_ + last_ > 0; }
  std::size_t first() const { return first_; }
  std::size_t bytes() const { return (first_rows_.size() + last_rows_.size()) * sizeof(float); }
  /// First row of the recent window of a cache of `size` rows.
  std::size_t last_begin(std::size_t size) const { return size > last_ ? size - last_ : 0; }
  bool holds(std::size_t row, std::size_t size) const { return row < first_ || row >= last_begin(size); }
  /// A row that is held.
  std::span<const float> row(std::size_t row) const;

  /// Rows number, number + 1, ... of the cache.
  void append(std::size_t number, MatrixView<const float> rows);

 private:
  std::size_t dim_;
  std::size_t first_;
  std::size_t last_;
  std::vector<float> first_rows_;
  std::vector<float> last_rows_;
};

}  // namespace orthant::cache
