#include "transform/dense_map.h"

#include <cblas.h>

#include <algorithm>
#include <mutex>

#include "transform/row_shapes.h"

namespace orthant::transform {
namespace {

/// Rows that go to sgemm together. Always this many, the last block padded with zeros: one shape, one kernel, so a row
/// is rounded in the same way whatever stands beside it. 16 is where a wider block stops being faster at d = 128.
constexpr std::size_t kBlockRows = 16;

}  // namespace

void use_one_blas_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

std::size_t dense_workspace_bytes(std::size_t dim) { return 2 * Workspace::bytes_for<float>(kBlockRows * dim); }

void apply_dense(const Matrix<float>& m, DenseSide side, MatrixView<const float> in, MatrixView<float> out,
                 Workspace& work) {
  const std::size_t d = m.rows();
  const Workspace::Scope scope(work);
  const MatrixView<float> from(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  const MatrixView<float> to(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  const auto n = static_cast<blasint>(d);
  const CBLAS_TRANSPOSE transpose = side == DenseSide::kMatrix ? CblasTrans : CblasNoTrans;  // rows are vectors
  for (std::size_t first = 0; first < in.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, in.rows() - first);
    copy_rows(in.middle_rows(first, count), from.middle_rows(0, count));
    std::fill(from.data() + count * d, from.data() + kBlockRows * d, 0.0F);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, static_cast<blasint>(kBlockRows), n, n, 1.0F, from.data(), n,
                m.data(), n, 0.0F, to.data(), n);
    copy_rows(to.middle_rows(0, count), out.middle_rows(first, count));
  }
}

}  // namespace orthant::transform
