#include "orthant/transform/haar.h"

#include <cblas.h>

#include <Eigen/Dense>
#include <algorithm>
#include <mutex>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "transform/row_shapes.h"

namespace orthant::transform {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows that go to sgemm together. Always this many, the last block padded with zeros: one shape, one kernel, so a row
/// is rounded in the same way whatever stands beside it. 16 is where a wider block stops being faster at d = 128.
constexpr std::size_t kBlockRows = 16;

void use_one_blas_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

/// out = in R^T for transpose = true (keys), in R otherwise (inverse).
void multiply(MatrixView<const float> in, MatrixView<float> out, const Matrix<float>& r, CBLAS_TRANSPOSE transpose,
              Workspace& work) {
  const std::size_t d = r.rows();
  const Workspace::Scope scope(work);
  const MatrixView<float> from(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  const MatrixView<float> to(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  const auto n = static_cast<blasint>(d);
  for (std::size_t first = 0; first < in.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, in.rows() - first);
    copy_rows(in.middle_rows(first, count), from.middle_rows(0, count));
    std::fill(from.data() + count * d, from.data() + kBlockRows * d, 0.0F);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, static_cast<blasint>(kBlockRows), n, n, 1.0F, from.data(), n,
                r.data(), n, 0.0F, to.data(), n);
    copy_rows(to.middle_rows(0, count), out.middle_rows(first, count));
  }
}

}  // namespace

Haar::Haar(std::size_t dim, std::uint64_t seed, std::uint64_t index) {
  require_dim("Haar", dim);
  constexpr std::size_t kLargest = 1U << 15;  // sgemm's 32-bit indices, with room; 12 GB of matrix
  if (dim > kLargest) {
    throw_invalid_argument("Haar", "dimension", std::to_string(dim), "at most 32768; use hadamard:3 beyond");
  }
  use_one_blas_thread();
  exact_ = Matrix<double>(dim, dim);
  RngStream rng(seed, Domain::kRotation, index);
  rng.fill_normal(std::span(exact_.data(), dim * dim));

  const auto n = static_cast<Eigen::Index>(dim);
  Eigen::Map<RowMajor> r(exact_.data(), n, n);
  Eigen::HouseholderQR<Eigen::MatrixXd> qr(r);
  const Eigen::VectorXd diagonal = qr.matrixQR().diagonal();
  r = qr.householderQ() * Eigen::MatrixXd::Identity(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    if (diagonal(j) < 0) r.col(j) = -r.col(j);
  }

  rounded_ = Matrix<float>(dim, dim);
  std::transform(exact_.data(), exact_.data() + dim * dim, rounded_.data(),
                 [](double value) { return static_cast<float>(value); });
}

std::string Haar::guarantee() const {
  return "for every fixed unit x, R x is uniform on the sphere: each coordinate follows the law the codebook is made "
         "for";
}

std::size_t Haar::workspace_bytes(std::size_t) const { return 2 * Workspace::bytes_for<float>(kBlockRows * dim()); }

void Haar::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const {
  require_row_shapes("Haar", dim(), x, y);
  multiply(x, y, rounded_, CblasTrans, work);
}

void Haar::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const {
  require_row_shapes("Haar", dim(), y, x);
  multiply(y, x, rounded_, CblasNoTrans, work);
}

void Haar::rotate(std::span<double> x) const {
  require_size("Haar::rotate", "size of x", x.size(), dim());
  const auto n = static_cast<Eigen::Index>(dim());
  Eigen::Map<Eigen::VectorXd> v(x.data(), n);
  v = Eigen::Map<const RowMajor>(exact_.data(), n, n) * v.eval();
}

void Haar::rotate_back(std::span<double> x) const {
  require_size("Haar::rotate_back", "size of x", x.size(), dim());
  const auto n = static_cast<Eigen::Index>(dim());
  Eigen::Map<Eigen::VectorXd> v(x.data(), n);
  v = Eigen::Map<const RowMajor>(exact_.data(), n, n).transpose() * v.eval();
}

}  // namespace orthant::transform
