#include "orthant/validation/test_vectors.h"

#include <bit>
#include <cmath>
#include <string>

#include "orthant/core/error.h"

namespace orthant::validation {

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return sum;
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double gap = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    sum += gap * gap;
  }
  return sum;
}

HardVectors hard_vectors(std::size_t d) {
  if (d < 8) throw_invalid_argument("hard_vectors", "d", std::to_string(d), "8 or more");
  HardVectors hard{{"one-hot", "two-hot", "constant", "Hadamard row", "offset and noise", "low rank"}, {}};
  hard.rows = Matrix<float>(hard.names.size(), d);
  RngStream noise(1, claim_domain("hard vectors"), 0);
  for (std::size_t i = 0; i < hard.names.size(); ++i) {
    std::vector<double> x(d);
    for (std::size_t j = 0; j < d; ++j) {
      const double t = static_cast<double>(j);
      const double values[] = {j == 0 ? 1.0 : 0.0,
                               j < 2 ? 1.0 : 0.0,
                               1.0,
                               std::popcount(j & 5U) % 2 == 0 ? 1.0 : -1.0,
                               1 + 0.1 * noise.normal(),
                               std::cos(0.05 * t) + 0.5 * std::cos(0.31 * t + 1)};
      x[j] = values[i];
    }
    double square = 0;
    for (const double v : x) square += v * v;
    for (std::size_t j = 0; j < d; ++j) hard.rows(i, j) = static_cast<float>(x[j] / std::sqrt(square));
  }
  return hard;
}

void correlated_query(std::span<const float> x, double rho, RngStream& rng, std::span<float> query) {
  require_size("correlated_query", "query", query.size(), x.size());
  if (x.size() < 2 || !(std::abs(rho) <= 1)) {
    throw InvalidArgument("correlated_query: expected d >= 2 and |rho| <= 1");
  }
  std::vector<double> y(x.size());
  double square = 0;
  do {
    double along = 0;
    double norm = 0;
    for (std::size_t j = 0; j < y.size(); ++j) {
      y[j] = rng.normal();
      along += y[j] * static_cast<double>(x[j]);
      norm += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
    square = 0;
    for (std::size_t j = 0; j < y.size(); ++j) {
      y[j] -= along / norm * static_cast<double>(x[j]);
      square += y[j] * y[j];
    }
  } while (square == 0);
  const double across = std::sqrt((1 - rho) * (1 + rho) / square);
  for (std::size_t j = 0; j < y.size(); ++j) {
    query[j] = static_cast<float>(rho * static_cast<double>(x[j]) + across * y[j]);
  }
}

}  // namespace orthant::validation
