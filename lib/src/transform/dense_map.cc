#include "transform/dense_map.h"

#include <algorithm>
#include <cstring>

#include "transform/row_shapes.h"

namespace orthant::transform {
namespace {

/// Rows that are copied, so that in and out may be the same memory, and turned before the next ones are.
constexpr std::size_t kBlockRows = 16;

using Lanes = float __attribute__((vector_size(64)));
constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(float);

/// Some rows of a block: in is dense, out has a stride.
struct Rows {
  const float* in;
  float* out;
  std::size_t stride;
};

/// kRows rows, kVectors * kLanes columns at a time from column j on; returns the first column left.
template <std::size_t kRows, std::size_t kVectors>
[[gnu::always_inline]] inline std::size_t columns(const float* t, std::size_t d, const Rows& rows, std::size_t j) {
  for (; j + kVectors * kLanes <= d; j += kVectors * kLanes) {
    Lanes sum[kRows][kVectors] = {};
    for (std::size_t i = 0; i < d; ++i) {
      Lanes factor[kVectors];
      std::memcpy(factor, t + i * d + j, sizeof factor);
      for (std::size_t r = 0; r < kRows; ++r) {
        const float x = rows.in[r * d + i];
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] += factor[v] * x;
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) std::memcpy(rows.out + r * rows.stride + j, sum[r], sizeof sum[r]);
  }
  return j;
}

template <std::size_t kRows>
[[gnu::always_inline]] inline void last_columns(const float* t, std::size_t d, const Rows& rows, std::size_t j) {
  for (std::size_t r = 0; r < kRows; ++r) {
    float sum[kLanes] = {};
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t k = 0; j + k < d; ++k) sum[k] += t[i * d + j + k] * rows.in[r * d + i];
    }
    std::copy_n(sum, d - j, rows.out + r * rows.stride + j);
  }
}

/// Four rows share each load of t; a single row takes more columns, to keep as many sums on the way.
[[gnu::always_inline]] inline void turn(const float* t, std::size_t d, Rows rows, std::size_t count) {
  for (; count >= 4; count -= 4) {
    const std::size_t j = columns<4, 1>(t, d, rows, columns<4, 2>(t, d, rows, 0));
    last_columns<4>(t, d, rows, j);
    rows = {rows.in + 4 * d, rows.out + 4 * rows.stride, rows.stride};
  }
  for (; count > 0; --count) {
    const std::size_t j = columns<1, 1>(t, d, rows, columns<1, 8>(t, d, rows, 0));
    last_columns<1>(t, d, rows, j);
    rows = {rows.in + d, rows.out + rows.stride, rows.stride};
  }
}

using Turn = void (*)(const float* t, std::size_t d, Rows rows, std::size_t count);

void turn_plain(const float* t, std::size_t d, Rows rows, std::size_t count) { turn(t, d, rows, count); }

#ifdef __x86_64__
__attribute__((target("avx2"))) void turn_avx2(const float* t, std::size_t d, Rows rows, std::size_t count) {
  turn(t, d, rows, count);
}
__attribute__((target("avx512f"))) void turn_avx512(const float* t, std::size_t d, Rows rows, std::size_t count) {
  turn(t, d, rows, count);
}
Turn choose_turn() {
  return __builtin_cpu_supports("avx512f") ? turn_avx512 : __builtin_cpu_supports("avx2") ? turn_avx2 : turn_plain;
}
#else
Turn choose_turn() { return turn_plain; }
#endif

}  // namespace

std::size_t dense_workspace_bytes(std::size_t dim) { return Workspace::bytes_for<float>(kBlockRows * dim); }

Matrix<float> transposed(const Matrix<float>& m) {
  Matrix<float> t(m.cols(), m.rows());
  for (std::size_t i = 0; i < m.rows(); ++i) {
    for (std::size_t j = 0; j < m.cols(); ++j) t(j, i) = m(i, j);
  }
  return t;
}

void apply_dense(const Matrix<float>& t, MatrixView<const float> in, MatrixView<float> out, Workspace& work) {
  static const Turn kTurn = choose_turn();
  const std::size_t d = t.rows();
  const Workspace::Scope scope(work);
  const MatrixView<float> from(work.take<float>(kBlockRows * d).data(), kBlockRows, d);
  for (std::size_t first = 0; first < in.rows(); first += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, in.rows() - first);
    copy_rows(in.middle_rows(first, count), from.middle_rows(0, count));
    kTurn(t.data(), d, {from.data(), out.row(first).data(), out.stride()}, count);
  }
}

}  // namespace orthant::transform
