#include "transform/fast_hadamard.h"

#include <cmath>

#include "transform/wide_loops.h"

namespace orthant::transform {
namespace {

/// One radix-4 pass: butterflies of distance h and 2h at once, so that memory is walked half as often.
void radix4(double* x, std::size_t n, std::size_t h) {
  for (std::size_t block = 0; block < n; block += 4 * h) {
    double* __restrict a = x + block;
    double* __restrict b = a + h;
    double* __restrict c = b + h;
    double* __restrict e = c + h;
    for (std::size_t j = 0; j < h; ++j) {
      const double s = a[j] + b[j];
      const double t = a[j] - b[j];
      const double u = c[j] + e[j];
      const double v = c[j] - e[j];
      a[j] = s + u;
      b[j] = t + v;
      c[j] = s - u;
      e[j] = t - v;
    }
  }
}

void radix2(double* x, std::size_t n, std::size_t h) {
  for (std::size_t block = 0; block < n; block += 2 * h) {
    double* __restrict a = x + block;
    double* __restrict b = a + h;
    for (std::size_t j = 0; j < h; ++j) {
      const double s = a[j];
      a[j] = s + b[j];
      b[j] = s - b[j];
    }
  }
}

}  // namespace

template <>
void fast_hadamard(double* x, std::size_t n) {
  std::size_t h = 1;
  for (; 4 * h <= n; h *= 4) radix4(x, n, h);
  if (h < n) radix2(x, n, h);
  const double scale = 1 / std::sqrt(static_cast<double>(n));
  for (std::size_t j = 0; j < n; ++j) x[j] *= scale;
}

template <>
void fast_hadamard(float* x, std::size_t n) {
  wide_loops().hadamard(x, n, nullptr);
}

}  // namespace orthant::transform
