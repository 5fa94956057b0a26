#include "orthant/transform/fast_rotation.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "orthant/core/error.h"
#include "transform/fast_hadamard.h"
#include "transform/row_shapes.h"
#include "transform/wide_loops.h"

namespace orthant::transform {
namespace {

template <class T>
void apply_signs(std::span<T> x, const float* signs) {
  for (std::size_t j = 0; j < x.size(); ++j) x[j] *= static_cast<T>(signs[j]);
}

/// Its own inverse, as signs and Hadamard matrices are.
template <class T>
void apply_halves(std::span<T> x) {
  const T scale = static_cast<T>(1 / std::numbers::sqrt2);
  const std::size_t half = x.size() / 2;
  T* __restrict a = x.data();
  T* __restrict b = x.data() + (x.size() - half);
  for (std::size_t i = 0; i < half; ++i) {
    const T s = a[i];
    a[i] = (s + b[i]) * scale;
    b[i] = (s - b[i]) * scale;
  }
}

template <class T>
void turn(T& a, T& b, double cosine, double sine) {
  const T c = static_cast<T>(cosine);
  const T s = static_cast<T>(sine);
  const T turned = c * a - s * b;
  b = s * a + c * b;
  a = turned;
}

}  // namespace

FastRotation::FastRotation(std::size_t dim, std::string name, std::string guarantee)
    : dim_(dim), name_(std::move(name)), guarantee_(std::move(guarantee)) {
  require_dim("FastRotation", dim);
}

void FastRotation::add_signs(RngStream& rng) {
  const std::size_t first = signs_.size();
  signs_.resize(first + dim_);
  rng.fill_signs(std::span(signs_).subspan(first));
  steps_.push_back({Kind::kSigns, first, dim_});
}

void FastRotation::add_hadamard(std::size_t first, std::size_t size) {
  if (!std::has_single_bit(size) || size > dim_ || first > dim_ - size) {
    throw_invalid_argument(
        "FastRotation::add_hadamard", "window",
        "[" + std::to_string(first) + ", " + std::to_string(first) + " + " + std::to_string(size) + ")",
        "a power of two inside [0, " + std::to_string(dim_) + ")");
  }
  steps_.push_back({Kind::kHadamard, first, size});
}

void FastRotation::add_halves() { steps_.push_back({Kind::kHalves, 0, dim_}); }

void FastRotation::add_random_planes(RngStream& rng) {
  std::vector<std::uint32_t> order(dim_);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t j = dim_; j > 1; --j) std::swap(order[j - 1], order[rng.below(j)]);  // Fisher and Yates
  steps_.push_back({Kind::kPlanes, planes_.size(), dim_ / 2});
  for (std::size_t j = 0; j + 1 < dim_; j += 2) {
    const double angle = 2 * std::numbers::pi * rng.uniform();
    planes_.push_back({order[j], order[j + 1], std::cos(angle), std::sin(angle)});
  }
}

std::span<const float> FastRotation::single_round_signs() const {
  const bool single = steps_.size() == 2 && steps_[0].kind == Kind::kSigns && steps_[1].kind == Kind::kHadamard &&
                      steps_[1].count == dim_;
  return single ? std::span<const float>(signs_) : std::span<const float>();
}

template <class T>
void FastRotation::forward(std::span<T> x) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    switch (step.kind) {
      case Kind::kSigns:
        if constexpr (std::is_same_v<T, float>) {
          const bool whole =
              i + 1 < steps_.size() && steps_[i + 1].kind == Kind::kHadamard && steps_[i + 1].count == dim_;
          if (whole) {
            wide_loops().hadamard(x.data(), dim_, signs_.data() + step.first);
            ++i;
            break;
          }
        }
        apply_signs(x, signs_.data() + step.first);
        break;
      case Kind::kHadamard:
        fast_hadamard(x.data() + step.first, step.count);
        break;
      case Kind::kHalves:
        apply_halves(x);
        break;
      case Kind::kPlanes:
        for (const Plane& p : std::span(planes_).subspan(step.first, step.count))
          turn(x[p.i], x[p.k], p.cosine, p.sine);
        break;
    }
  }
}

template <class T>
void FastRotation::backward(std::span<T> x) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    switch (step->kind) {
      case Kind::kSigns:
        apply_signs(x, signs_.data() + step->first);
        break;
      case Kind::kHadamard:
        fast_hadamard(x.data() + step->first, step->count);
        break;
      case Kind::kHalves:
        apply_halves(x);
        break;
      case Kind::kPlanes:  // the pairs are disjoint: their order does not matter
        for (const Plane& p : std::span(planes_).subspan(step->first, step->count))
          turn(x[p.i], x[p.k], p.cosine, -p.sine);
        break;
    }
  }
}

void FastRotation::apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace&) const {
  require_row_shapes("FastRotation", dim_, x, y);
  copy_rows(x, y);
  for (std::size_t i = 0; i < y.rows(); ++i) forward(y.row(i));
}

void FastRotation::invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace&) const {
  require_row_shapes("FastRotation", dim_, y, x);
  copy_rows(y, x);
  for (std::size_t i = 0; i < x.rows(); ++i) backward(x.row(i));
}

void FastRotation::rotate(std::span<double> x) const {
  require_size("FastRotation::rotate", "size of x", x.size(), dim_);
  forward(x);
}

void FastRotation::rotate_back(std::span<double> x) const {
  require_size("FastRotation::rotate_back", "size of x", x.size(), dim_);
  backward(x);
}

}  // namespace orthant::transform
