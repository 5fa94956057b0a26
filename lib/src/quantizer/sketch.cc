#include "orthant/quantizer/sketch.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/fast_rotation.h"
#include "orthant/transform/haar.h"
#include "transform/dense_map.h"

namespace orthant::quantizer {
namespace {

/// sqrt(pi/2) E|sqrt(d) u_1| for a uniform point u of S^{d-1}.
double orthogonal_beta(std::size_t dim) {
  const double d = static_cast<double>(dim);
  return std::sqrt(d / 2) * boost::math::tgamma_delta_ratio(d / 2, 0.5);
}

}  // namespace

Sketch::Sketch(SketchKind kind, std::size_t dim, std::size_t rows, std::uint64_t seed, std::uint64_t index)
    : kind_(kind), dim_(dim), rows_(rows) {
  if (dim == 0) throw_invalid_argument("Sketch", "dimension", "0", "1 or more");
  if (rows == 0) throw_invalid_argument("Sketch", "rows", "0", "1 or more");
  for (std::size_t first = 0; first < rows; first += dim) {
    RngStream rng(seed, Domain::kSketch, index + (std::uint64_t{first / dim} << 48));
    switch (kind) {
      case SketchKind::kGaussian:
        gaussian_.emplace_back(dim, dim);
        rng.fill_normal(std::span(gaussian_.back().data(), dim * dim));
        gaussian_transposed_.push_back(transform::transposed(gaussian_.back()));
        break;
      case SketchKind::kOrthogonal:
        rotations_.push_back(std::make_shared<const transform::Haar>(dim, rng));
        break;
      case SketchKind::kHadamard:
        rotations_.push_back(
            std::make_shared<const transform::FastRotation>(transform::randomized_hadamard(dim, 3, rng)));
        break;
    }
  }
  if (kind != SketchKind::kGaussian) beta_ = orthogonal_beta(dim);
  factor_ = std::sqrt(std::numbers::pi / 2) / (static_cast<double>(rows) * beta_);
}

std::size_t Sketch::workspace_bytes() const {
  return Workspace::bytes_for<float>(dim_) +
         (gaussian_.empty() ? rotations_[0]->workspace_bytes(1) : transform::dense_workspace_bytes(dim_));
}

void Sketch::apply_block(std::size_t block, bool transposed, MatrixView<float> row, Workspace& work) const {
  if (!gaussian_.empty()) {
    transform::apply_dense((transposed ? gaussian_ : gaussian_transposed_)[block], row, row, work);
    return;
  }
  if (transposed) {
    rotations_[block]->invert_keys(row, row, work);
  } else {
    rotations_[block]->apply_keys(row, row, work);
  }
  const auto length = static_cast<float>(std::sqrt(static_cast<double>(dim_)));
  for (float& v : row.row(0)) v *= length;
}

void Sketch::project(std::span<const float> x, std::span<float> s, Workspace& work) const {
  require_size("Sketch::project", "size of x", x.size(), dim_);
  require_size("Sketch::project", "size of s", s.size(), rows_);
  const Workspace::Scope scope(work);
  const std::span<float> row = work.take<float>(dim_);
  for (std::size_t first = 0; first < rows_; first += dim_) {
    std::ranges::copy(x, row.begin());
    apply_block(first / dim_, false, {row.data(), 1, dim_}, work);
    std::copy_n(row.begin(), std::min(dim_, rows_ - first), s.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

void Sketch::project_back(std::span<const float> s, std::span<float> x, Workspace& work) const {
  require_size("Sketch::project_back", "size of s", s.size(), rows_);
  require_size("Sketch::project_back", "size of x", x.size(), dim_);
  const Workspace::Scope scope(work);
  const std::span<float> row = work.take<float>(dim_);
  std::ranges::fill(x, 0.0F);
  for (std::size_t first = 0; first < rows_; first += dim_) {
    const std::size_t count = std::min(dim_, rows_ - first);
    std::ranges::copy(s.subspan(first, count), row.begin());
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(count), row.end(), 0.0F);
    apply_block(first / dim_, true, {row.data(), 1, dim_}, work);
    for (std::size_t j = 0; j < dim_; ++j) x[j] += row[j];
  }
}

const char* name(SketchKind kind) {
  constexpr std::array kNames = {"gaussian", "orthogonal", "hadamard"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace orthant::quantizer
