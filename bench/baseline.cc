#include "baseline.h"

#include <cblas.h>

namespace orthant::bench {

void blas_scores(MatrixView<const float> keys, MatrixView<const float> queries, MatrixView<float> scores) {
  const auto n = static_cast<int>(keys.rows());
  const auto d = static_cast<int>(keys.cols());
  const auto stride = static_cast<int>(keys.stride());
  if (queries.rows() == 1) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, d, 1, keys.data(), stride, queries.data(), 1, 0, scores.data(), 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(queries.rows()), n, d, 1, queries.data(),
              static_cast<int>(queries.stride()), keys.data(), stride, 0, scores.data(),
              static_cast<int>(scores.stride()));
}

}  // namespace orthant::bench
