#pragma once

#include <cstddef>

namespace orthant::transform {

/// The inner loops of scoring that run once for each tile and query, for the widest vectors this CPU has. Every element
/// is computed by the same operations in the same order at every width: the same bits on every machine.
struct WideLoops {
  /// x <- H_n S x / sqrt(n) in place, n a power of two, S = diag(signs) or the identity for a null pointer.
  void (*hadamard)(float* x, std::size_t n, const float* signs);
  /// Pairs (i, i + pairs) turned by phases and scaled, out and q not overlapping:
  ///   out_i = scale_i (q_i c_i - q_{i+pairs} s_i),   out_{i+pairs} = scale_{i+pairs} (q_i s_i + q_{i+pairs} c_i)
  /// Returns sum_j out_j weight_j in 32 chains: error (pairs / 16 + 5) 2^-24 sum_j |out_j weight_j|.
  float (*turn_and_scale)(const float* q, std::size_t pairs, const float* cosines, const float* sines,
                          const float* scale, const float* weight, float* out);
  /// sum_j a_j b_j in 32 chains: error (n / 32 + 5) 2^-24 sum_j |a_j b_j|.
  float (*dot)(const float* a, const float* b, std::size_t n);
  /// x_j = value.
  void (*fill)(float* x, std::size_t n, float value);
};

/// Chosen at the first call.
const WideLoops& wide_loops();

}  // namespace orthant::transform
