#include "orthant/transform/turned_moments.h"

#include <cmath>
#include <complex>
#include <vector>

#include "orthant/core/error.h"

namespace orthant::transform {
namespace {

using Complex = std::complex<double>;

/// E exp(i phi u), u uniform on {0, ..., n - 1}.
Complex dirichlet(double phi, std::uint64_t n) {
  const double half = phi / 2;
  const auto count = static_cast<double>(n);
  const double denominator = std::sin(half);
  // At multiples of 2 pi the ratio is 0/0; its limit is cos(n half) / cos(half).
  const double ratio = std::abs(denominator) < 1e-12 ? std::cos(count * half) / std::cos(half)
                                                     : std::sin(count * half) / (count * denominator);
  return std::polar(1.0, half * (count - 1)) * ratio;
}

Complex expected_turn(double phi, std::span<const std::uint64_t> spans) {
  Complex product = 1;
  for (const std::uint64_t n : spans) product *= dirichlet(phi, n);
  return product;
}

void require_spans(std::span<const std::uint64_t> spans) {
  for (const std::uint64_t n : spans)
    if (n == 0) throw_invalid_argument("average_turned", "span", "0", "at least 1");
}

/// z <- E[exp(i f t)] z for the pairs of one vector.
void turn_vector(const Rope& rope, std::span<const Complex> factors, std::span<double> x) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto [a, b] = rope.pair(i);
    const Complex z = Complex(x[a], x[b]) * factors[i];
    x[a] = z.real();
    x[b] = z.imag();
  }
}

std::vector<Complex> expected_turns(const Rope& rope, std::span<const std::uint64_t> spans) {
  std::vector<Complex> factors;
  for (const double f : rope.frequencies()) factors.push_back(expected_turn(f, spans));
  return factors;
}

}  // namespace

void average_turned_mean(const Rope& rope, std::span<const std::uint64_t> spans, std::span<double> mean) {
  require_size("average_turned_mean", "dim", mean.size(), rope.dim());
  require_spans(spans);
  turn_vector(rope, expected_turns(rope, spans), mean);
}

void average_turned_moment(const Rope& rope, std::span<const std::uint64_t> spans, MatrixView<double> s) {
  require_size("average_turned_moment", "rows", s.rows(), rope.dim());
  require_size("average_turned_moment", "columns", s.cols(), rope.dim());
  require_spans(spans);
  const std::span<const double> f = rope.frequencies();
  for (std::size_t i = 0; i < f.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const auto [a, b] = rope.pair(i);
      const auto [c, e] = rope.pair(j);
      const Complex difference = expected_turn(f[i] - f[j], spans);
      const Complex sum = expected_turn(f[i] + f[j], spans);
      // E z_i conj(z_j) and E z_i z_j, and back.
      const Complex h = Complex(s(a, c) + s(b, e), s(b, c) - s(a, e)) * difference;
      const Complex p = Complex(s(a, c) - s(b, e), s(b, c) + s(a, e)) * sum;
      s(a, c) = s(c, a) = (h.real() + p.real()) / 2;
      s(b, e) = s(e, b) = (h.real() - p.real()) / 2;
      s(b, c) = s(c, b) = (p.imag() + h.imag()) / 2;
      if (i != j) s(a, e) = s(e, a) = (p.imag() - h.imag()) / 2;
    }
  // Products with coordinates that do not turn: E z_i x_j.
  const std::vector<Complex> factors = expected_turns(rope, spans);
  std::vector<double> column(rope.dim());
  for (std::size_t j = 2 * f.size(); j < rope.dim(); ++j) {
    for (std::size_t i = 0; i < rope.dim(); ++i) column[i] = s(i, j);
    turn_vector(rope, factors, column);
    for (std::size_t i = 0; i < 2 * f.size(); ++i) s(i, j) = s(j, i) = column[i];
  }
}

}  // namespace orthant::transform
