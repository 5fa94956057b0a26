#pragma once

#include "orthant/core/matrix_view.h"

namespace orthant::bench {

/// scores = Q K^T in float32 by BLAS, sgemv for one query: keys (n, d), queries (h, d), scores (h, n).
void blas_scores(MatrixView<const float> keys, MatrixView<const float> queries, MatrixView<float> scores);

}  // namespace orthant::bench
