#pragma once

#include <cstddef>

namespace orthant::transform {

/// Row r: phases at phases + 2 pairs r, cosines before sines; out + r out_stride; sums[r sum_stride].
struct TurnedRows {
  std::size_t count;
  const float* phases;
  float* out;
  std::size_t out_stride;
  float* sums;
  std::size_t sum_stride;
};

/// The inner loops of scoring that run once for each tile and query, for the widest vectors this CPU has. Every element
/// is computed by the same operations in the same order at every width: the same bits on every machine.
struct WideLoops {
  /// x <- H_n S x / sqrt(n) in place, n a power of two, S = diag(signs) or the identity for a null pointer.
  void (*hadamard)(float* x, std::size_t n, const float* signs);
  /// x_r <- H_n x_r in place for rows at x + r stride, n a power of two.
  void (*butterflies)(float* x, std::size_t n, std::size_t rows, std::size_t stride);
  /// A query q turned back to the starts of several tiles and scaled, and its products with a mean m:
  ///   f_i = q_i c_i - q_{i+pairs} s_i,   f_{i+pairs} = q_i s_i + q_{i+pairs} c_i,   out_j = scale_j f_j
  ///   sum = sum_j f_j m_j = sum_i c_i (q_i m_i + q_{i+pairs} m_{i+pairs}) + s_i (q_i m_{i+pairs} - q_{i+pairs} m_i)
  /// in 16 chains: error (pairs / 8 + 8) 2^-24 |q| |m|. q, scale and mean: 2 pairs floats; out does not overlap them.
  void (*turn_and_scale)(const float* q, std::size_t pairs, const float* scale, const float* mean,
                         const TurnedRows& rows);
  /// sum_j a_j b_j in 32 chains: error (n / 32 + 5) 2^-24 sum_j |a_j b_j|.
  float (*dot)(const float* a, const float* b, std::size_t n);
};

/// Chosen at the first call.
const WideLoops& wide_loops();

}  // namespace orthant::transform
