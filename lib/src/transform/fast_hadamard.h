#pragma once

#include <cstddef>

namespace orthant::transform {

/// x <- H_n x / sqrt(n) in place, Sylvester order, n a power of two; n log2 n additions.
template <class T>
void fast_hadamard(T* x, std::size_t n);
template <>
void fast_hadamard(double* x, std::size_t n);
template <>
void fast_hadamard(float* x, std::size_t n);

}  // namespace orthant::transform
