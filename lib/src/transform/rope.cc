#include "orthant/transform/rope.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "orthant/core/error.h"

namespace orthant::transform {
namespace {

std::vector<double> geometric_frequencies(RopeLayout layout, std::size_t dim, double theta) {
  if (layout == RopeLayout::kNone) return {};
  if (!(theta > 0) || !std::isfinite(theta))
    throw_invalid_argument("Rope", "theta", std::to_string(theta), "a positive number");
  if (dim % 2 != 0) throw_invalid_argument("Rope", "dim", std::to_string(dim), "an even number");
  std::vector<double> frequencies(dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
  return frequencies;
}

}  // namespace

const char* name(RopeLayout layout) {
  return layout == RopeLayout::kHalf ? "half" : layout == RopeLayout::kInterleaved ? "interleaved" : "none";
}

Rope::Rope(RopeLayout layout, std::size_t dim, double theta)
    : Rope(layout, dim, geometric_frequencies(layout, dim, theta)) {}

Rope::Rope(RopeLayout layout, std::size_t dim, std::vector<double> frequencies)
    : layout_(layout), dim_(dim), frequencies_(std::move(frequencies)) {
  if (2 * frequencies_.size() > dim_)
    throw_invalid_argument("Rope", "frequencies", std::to_string(frequencies_.size()),
                           "at most dim / 2 = " + std::to_string(dim_ / 2));
  if (layout_ == RopeLayout::kNone && !frequencies_.empty())
    throw_invalid_argument("Rope", "frequencies", std::to_string(frequencies_.size()), "none without a layout");
  for (const double f : frequencies_)
    if (!std::isfinite(f)) throw_invalid_argument("Rope", "frequency", std::to_string(f), "a finite number");
}

template <class T>
void Rope::turn_rows(MatrixView<const T> x, double position, MatrixView<T> y) const {
  require_size("Rope::turn", "columns of x", x.cols(), dim_);
  require_size("Rope::turn", "columns of y", y.cols(), dim_);
  require_size("Rope::turn", "rows of y", y.rows(), x.rows());
  const std::size_t pairs = frequencies_.size();
  for (std::size_t i = 0; i < pairs; ++i) {
    const double angle = position * frequencies_[i];
    const T c = static_cast<T>(std::cos(angle));
    const T s = static_cast<T>(std::sin(angle));
    const auto [ja, jb] = pair(i);
    for (std::size_t row = 0; row < x.rows(); ++row) {
      const T a = x(row, ja);
      const T b = x(row, jb);
      y(row, ja) = a * c - b * s;
      y(row, jb) = a * s + b * c;
    }
  }
  if (x.data() == y.data()) return;
  for (std::size_t row = 0; row < x.rows(); ++row)
    for (std::size_t j = 2 * pairs; j < dim_; ++j) y(row, j) = x(row, j);
}

void Rope::turn(MatrixView<const float> x, double position, MatrixView<float> y) const { turn_rows(x, position, y); }

void Rope::turn(MatrixView<const double> x, double position, MatrixView<double> y) const { turn_rows(x, position, y); }

void Rope::phases(double position, std::span<float> phases) const {
  const std::size_t pairs = frequencies_.size();
  require_size("Rope::phases", "size of phases", phases.size(), 2 * pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    phases[i] = static_cast<float>(std::cos(position * frequencies_[i]));
    phases[pairs + i] = static_cast<float>(std::sin(position * frequencies_[i]));
  }
}

void Rope::turn(MatrixView<const float> x, std::span<const float> phases, MatrixView<float> y) const {
  const std::size_t pairs = frequencies_.size();
  require_size("Rope::turn", "columns of x", x.cols(), dim_);
  require_size("Rope::turn", "columns of y", y.cols(), dim_);
  require_size("Rope::turn", "rows of y", y.rows(), x.rows());
  require_size("Rope::turn", "size of phases", phases.size(), 2 * pairs);
  const float* const c = phases.data();
  const float* const s = c + pairs;
  // Pair i is (i step, i step + apart): contiguous runs in the half layout, which the compiler turns into vectors.
  const std::size_t step = layout_ == RopeLayout::kInterleaved ? 2 : 1;
  const std::size_t apart = layout_ == RopeLayout::kInterleaved ? 1 : pairs;
  for (std::size_t row = 0; row < x.rows(); ++row) {
    const float* const from = x.row(row).data();
    float* const to = y.row(row).data();
    for (std::size_t i = 0; i < pairs; ++i) {
      const float a = from[i * step];
      const float b = from[i * step + apart];
      to[i * step] = a * c[i] - b * s[i];
      to[i * step + apart] = a * s[i] + b * c[i];
    }
    if (from != to) std::copy(from + 2 * pairs, from + dim_, to + 2 * pairs);
  }
}

void Rope::add_turned(std::span<const float> x, double position, float factor, std::span<float> y) const {
  require_size("Rope::add_turned", "size of x", x.size(), dim_);
  require_size("Rope::add_turned", "size of y", y.size(), dim_);
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = position * frequencies_[i];
    const auto c = static_cast<float>(std::cos(angle));
    const auto s = static_cast<float>(std::sin(angle));
    const auto [a, b] = pair(i);
    y[a] += factor * (x[a] * c - x[b] * s);
    y[b] += factor * (x[a] * s + x[b] * c);
  }
  for (std::size_t j = 2 * frequencies_.size(); j < dim_; ++j) y[j] += factor * x[j];
}

void Rope::turn_moment(MatrixView<double> s, double position) const {
  require_size("Rope::turn_moment", "rows of s", s.rows(), dim_);
  turn_rows<double>(s, position, s);  // rows: S R^T
  const std::size_t pairs = frequencies_.size();
  for (std::size_t i = 0; i < pairs; ++i) {  // columns: R (S R^T)
    const double angle = position * frequencies_[i];
    const double c = std::cos(angle);
    const double sn = std::sin(angle);
    const auto [ja, jb] = pair(i);
    for (std::size_t j = 0; j < dim_; ++j) {
      const double a = s(ja, j);
      const double b = s(jb, j);
      s(ja, j) = a * c - b * sn;
      s(jb, j) = a * sn + b * c;
    }
  }
}

}  // namespace orthant::transform
