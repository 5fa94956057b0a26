#include "transform/fast_hadamard.h"

#include <cmath>

namespace orthant::transform {
namespace {

/// One radix-4 pass: butterflies of distance h and 2h at once, so that memory is walked half as often.
template <class T>
void radix4(T* x, std::size_t n, std::size_t h) {
  for (std::size_t block = 0; block < n; block += 4 * h) {
    T* __restrict a = x + block;
    T* __restrict b = a + h;
    T* __restrict c = b + h;
    T* __restrict e = c + h;
    for (std::size_t j = 0; j < h; ++j) {
      const T s = a[j] + b[j];
      const T t = a[j] - b[j];
      const T u = c[j] + e[j];
      const T v = c[j] - e[j];
      a[j] = s + u;
      b[j] = t + v;
      c[j] = s - u;
      e[j] = t - v;
    }
  }
}

template <class T>
void radix2(T* x, std::size_t n, std::size_t h) {
  for (std::size_t block = 0; block < n; block += 2 * h) {
    T* __restrict a = x + block;
    T* __restrict b = a + h;
    for (std::size_t j = 0; j < h; ++j) {
      const T s = a[j];
      a[j] = s + b[j];
      b[j] = s - b[j];
    }
  }
}

}  // namespace

template <class T>
void fast_hadamard(T* x, std::size_t n) {
  std::size_t h = 1;
  for (; 4 * h <= n; h *= 4) radix4(x, n, h);
  if (h < n) radix2(x, n, h);
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(n)));
  for (std::size_t j = 0; j < n; ++j) x[j] *= scale;
}

template void fast_hadamard(float* x, std::size_t n);
template void fast_hadamard(double* x, std::size_t n);

}  // namespace orthant::transform
