#pragma once

#include <cstddef>
#include <string>

#include "orthant/core/matrix_view.h"

namespace orthant::apps {

/// Rows of a user's tensor, scaled to unit length.
struct KeyRows {
  std::string path;  ///< without the tensor's name
  Matrix<float> rows;
  std::size_t left_out = 0;  ///< rows of zeros
};

/// "FILE.npy" or "FILE.safetensors:TENSOR", two axes or more, the last one the coordinates. Throws InvalidInput, naming
/// file and tensor, for anything else, a coordinate that is not finite, and when no row is left.
KeyRows read_key_rows(const std::string& text);

}  // namespace orthant::apps
