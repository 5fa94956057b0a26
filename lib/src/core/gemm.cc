#include "core/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <mutex>

namespace orthant {
namespace {

/// OpenBLAS starts a pool of its own on first use: it must stay idle, or sums depend on the number of processors.
void keep_blas_on_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

blasint stride_of(MatrixView<const float> m) { return static_cast<blasint>(std::max<std::size_t>(m.stride(), 1)); }

void multiply_any(MatrixView<const float> a, MatrixView<const float> b, CBLAS_TRANSPOSE transpose, MatrixView<float> c,
                  bool accumulate) {
  if (c.rows() == 0 || c.cols() == 0) return;
  keep_blas_on_one_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, static_cast<blasint>(c.rows()), static_cast<blasint>(c.cols()),
              static_cast<blasint>(a.cols()), 1.0F, a.data(), stride_of(a), b.data(), stride_of(b),
              accumulate ? 1.0F : 0.0F, c.data(), stride_of(c));
}

}  // namespace

void multiply_transposed(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, bool accumulate) {
  assert(a.rows() == c.rows() && b.rows() == c.cols() && a.cols() == b.cols());
  multiply_any(a, b, CblasTrans, c, accumulate);
}

void multiply(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, bool accumulate) {
  assert(a.rows() == c.rows() && b.cols() == c.cols() && a.cols() == b.rows());
  multiply_any(a, b, CblasNoTrans, c, accumulate);
}

}  // namespace orthant
