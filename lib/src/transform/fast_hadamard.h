#pragma once

#include <cstddef>

namespace orthant::transform {

/// x <- H_n x / sqrt(n) in place, Sylvester order, n a power of two; n log2 n additions.
/// Instantiated for float and double.
template <class T>
void fast_hadamard(T* x, std::size_t n);

}  // namespace orthant::transform
