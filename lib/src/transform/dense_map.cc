#include "transform/dense_map.h"

#include <algorithm>

#include "transform/row_shapes.h"
#include "transform/wide_vector.h"

namespace orthant::transform {
namespace {

/// Rows that are copied, so that in and out may be the same memory, and turned before the next ones are.
constexpr std::size_t kBlockRows = 16;

/// Some rows of a block: in is dense, out has a stride.
struct Rows {
  const float* in;
  float* out;
  std::size_t stride;
};

/// kRows rows, kVectors * kWidth columns at a time from column j on; returns the first column left.
template <std::size_t kWidth, std::size_t kRows, std::size_t kVectors>
ORTHANT_ALWAYS_INLINE std::size_t columns(const float* t, std::size_t d, const Rows& rows, std::size_t j) {
  for (; j + kVectors * kWidth <= d; j += kVectors * kWidth) {
    Floats<kWidth> sum[kRows][kVectors] = {};
    for (std::size_t i = 0; i < d; ++i) {
      Floats<kWidth> factor[kVectors];
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) load(factor[v], t + i * d + j + v * kWidth);
      ORTHANT_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const float x = rows.in[r * d + i];
        ORTHANT_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] += factor[v] * x;
      }
    }
    ORTHANT_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      ORTHANT_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) store(rows.out + r * rows.stride + j + v * kWidth, sum[r][v]);
    }
  }
  return j;
}

template <std::size_t kWidth, std::size_t kRows>
ORTHANT_ALWAYS_INLINE void last_columns(const float* t, std::size_t d, const Rows& rows, std::size_t j) {
  for (std::size_t r = 0; r < kRows; ++r) {
    float sum[kWidth] = {};
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t k = 0; j + k < d; ++k) sum[k] += t[i * d + j + k] * rows.in[r * d + i];
    }
    std::copy_n(sum, d - j, rows.out + r * rows.stride + j);
  }
}

/// Four rows share each load of t; a single row takes more columns, to keep as many sums on the way.
template <std::size_t kWidth>
ORTHANT_ALWAYS_INLINE void turn(const float* t, std::size_t d, Rows rows, std::size_t count) {
  for (; count >= 4; count -= 4) {
    const std::size_t j = columns<kWidth, 4, 1>(t, d, rows, columns<kWidth, 4, 2>(t, d, rows, 0));
    last_columns<kWidth, 4>(t, d, rows, j);
    rows = {rows.in + 4 * d, rows.out + 4 * rows.stride, rows.stride};
  }
  for (; count > 0; --count) {
    const std::size_t j = columns<kWidth, 1, 1>(t, d, rows, columns<kWidth, 1, 8>(t, d, rows, 0));
    last_columns<kWidth, 1>(t, d, rows, j);
    rows = {rows.in + d, rows.out + rows.stride, rows.stride};
  }
}

using Turn = void (*)(const float* t, std::size_t d, Rows rows, std::size_t count);

void turn_plain(const float* t, std::size_t d, Rows rows, std::size_t count) {
  turn<kWidthPortable>(t, d, rows, count);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) void turn_avx2(const float* t, std::size_t d, Rows rows, std::size_t count) {
  turn<kWidthAvx2>(t, d, rows, count);
}
__attribute__((target("avx512f"))) void turn_avx512(const float* t, std::size_t d, Rows rows, std::size_t count) {
  turn<kWidthAvx512>(t, d, rows, count);
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
