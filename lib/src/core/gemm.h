#pragma once

#include "orthant/core/matrix_view.h"

namespace orthant {

/// Single-precision matrix products through OpenBLAS, each on the calling thread: parallel loops are the caller's.
/// Same bytes for any number of threads; between processor types the sums may round differently
/// (|error| <= inner dimension * 2^-24 * sum of |products|, to first order).
/// Shapes are the caller's promise (asserted); sizes below 2^31; outputs overlap no input.

/// c = a b^T + (accumulate ? c : 0):  a (m, k), b (n, k), c (m, n).
void multiply_transposed(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c,
                         bool accumulate = false);
/// c = a b + (accumulate ? c : 0):  a (m, k), b (k, n), c (m, n).
void multiply(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, bool accumulate = false);

}  // namespace orthant
