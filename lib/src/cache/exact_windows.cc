#include "orthant/cache/exact_windows.h"

#include <algorithm>
#include <cassert>

namespace orthant::cache {

ExactWindows::ExactWindows(std::size_t dim, std::size_t first, std::size_t last)
    : dim_(dim), first_(first), last_(last), last_rows_(last * dim) {
  first_rows_.reserve(first * dim);
}

std::span<const float> ExactWindows::row(std::size_t row) const {
  if (row < first_) return {first_rows_.data() + row * dim_, dim_};
  assert(last_ > 0);
  return {last_rows_.data() + row % last_ * dim_, dim_};
}

void ExactWindows::append(std::size_t number, MatrixView<const float> rows) {
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::span<const float> from = rows.row(i);
    if (number + i < first_) first_rows_.insert(first_rows_.end(), from.begin(), from.end());
    if (last_ > 0) std::ranges::copy(from, last_rows_.data() + (number + i) % last_ * dim_);
  }
}

}  // namespace orthant::cache
