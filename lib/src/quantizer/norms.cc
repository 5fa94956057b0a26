#include "quantizer/norms.h"

#include <cassert>
#include <cmath>

namespace orthant::quantizer {

double dot(std::span<const float> a, std::span<const float> b) {
  assert(a.size() == b.size());
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t j = 0;
  for (; j + kSums <= a.size(); j += kSums) {
    for (std::size_t i = 0; i < kSums; ++i) sums[i] += static_cast<double>(a[j + i]) * static_cast<double>(b[j + i]);
  }
  for (; j < a.size(); ++j) sums[0] += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double norm(std::span<const float> x) { return std::sqrt(dot(x, x)); }

void divide(std::span<const float> x, double length, std::span<float> u) {
  assert(x.size() == u.size());
  // At worst 1 / 1.4e-45: far inside the range of double.
  const double inverse = length == 0 ? 0 : 1 / length;
  for (std::size_t j = 0; j < x.size(); ++j) u[j] = static_cast<float>(static_cast<double>(x[j]) * inverse);
}

}  // namespace orthant::quantizer
