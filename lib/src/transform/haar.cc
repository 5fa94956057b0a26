#include "orthant/transform/haar.h"

#include <Eigen/Dense>
#include <algorithm>
#include <string>

#include "orthant/core/error.h"
#include "transform/dense_map.h"
#include "transform/row_shapes.h"

namespace orthant::transform {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

Haar::Haar(std::size_t dim, std::uint64_t seed, std::uint64_t index)
    : Haar(dim, RngStream(seed, Domain::kRotation, index)) {}

Haar::Haar(std::size_t dim, RngStream rng) {
  require_dim("Haar", dim);
  constexpr std::size_t kLargest = 1U << 15;  // chosen: 16 GB of matrices
  if (dim > kLargest) {
    throw_invalid_argument("Haar", "dimension", std::to_string(dim), "at most 32768; use hadamard:3 beyond");
  }
  exact_ = Matrix<double>(dim, dim);
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
  transposed_ = transposed(rounded_);
}

std::string Haar::guarantee() const {
  return "for every fixed unit x, R x is uniform on the sphere: each coordinate follows the law the codebook is made "
         "for";
}

std::size_t Haar::workspace_bytes(std::size_t) const { return dense_workspace_bytes(dim()); }

void Haar::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const {
  require_row_shapes("Haar", dim(), x, y);
  apply_dense(transposed_, x, y, work);
}

void Haar::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const {
  require_row_shapes("Haar", dim(), y, x);
  apply_dense(rounded_, y, x, work);
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
