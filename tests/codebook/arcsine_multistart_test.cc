// For d = 2 (the arcsine law, log-convex) no theorem says that the optimal quantizer is the only stationary one. The
// evidence behind the certificates of these codebooks: searches from random starts, with moments in closed form that
// share nothing with the library's quadrature, all end in the published table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/rng.h"

namespace orthant::codebook {
namespace {

using Levels = std::vector<double>;

/// One cell of f(x) = 1 / (pi sqrt(1 - x^2)), in the angle x = sin(theta), where f(x) dx = d(theta) / pi:
///   P = (beta - alpha) / pi,  E[X | cell] = (cos alpha - cos beta) / (beta - alpha)
///                                         = sin((alpha + beta) / 2) sinc((beta - alpha) / 2).
struct Cell {
  double mass;
  double mean;
};

Cell cell_between(double lower, double upper) {
  const double alpha = std::asin(lower);
  const double beta = std::asin(upper);
  const double half = (beta - alpha) / 2;
  return {(beta - alpha) / std::numbers::pi, std::sin((alpha + beta) / 2) * std::sin(half) / half};
}

double boundary(const Levels& c, std::size_t i) {
  if (i == 0) return -1;
  return i == c.size() ? 1 : (c[i - 1] + c[i]) / 2;
}

std::vector<Cell> cells_of(const Levels& c) {
  std::vector<Cell> cells;
  for (std::size_t k = 0; k < c.size(); ++k) cells.push_back(cell_between(boundary(c, k), boundary(c, k + 1)));
  return cells;
}

Levels lloyd_sweep(const Levels& c) {
  Levels next;
  for (const Cell& cell : cells_of(c)) next.push_back(cell.mean);
  return next;
}

double squared_residual(const Levels& c) {
  double sum = 0;
  const std::vector<Cell> cells = cells_of(c);
  for (std::size_t k = 0; k < c.size(); ++k) sum += (c[k] - cells[k].mean) * (c[k] - cells[k].mean);
  return sum;
}

/// c - J^{-1} F of F_k = c_k - E[X | cell k]; J is tridiagonal, d E / d t = f(t) |t - E| / P at each boundary t.
Levels newton_step(const Levels& c) {
  const std::size_t n = c.size();
  const std::vector<Cell> cells = cells_of(c);
  const auto pull = [&](std::size_t k, std::size_t i) {
    if (i == 0 || i == n) return 0.0;
    const double t = boundary(c, i);
    return std::abs(t - cells[k].mean) / (2 * cells[k].mass * std::numbers::pi * std::sqrt((1 - t) * (1 + t)));
  };
  Levels above(n);
  Levels step(n);
  for (std::size_t k = 0; k < n; ++k) {
    const double left = pull(k, k);
    const double right = pull(k, k + 1);
    const double pivot = 1 - left - right + (k > 0 ? left * above[k - 1] : 0);
    above[k] = -right / pivot;
    step[k] = (cells[k].mean - c[k] + (k > 0 ? left * step[k - 1] : 0)) / pivot;
  }
  for (std::size_t k = n - 1; k > 0; --k) step[k - 1] -= above[k - 1] * step[k];
  Levels moved(n);
  for (std::size_t k = 0; k < n; ++k) moved[k] = c[k] + step[k];
  return moved;
}

bool is_quantizer(const Levels& c) {
  return std::ranges::adjacent_find(c, std::greater_equal()) == c.end() && c.front() > -1 && c.back() < 1;
}

/// Newton's step where it helps, a Lloyd sweep (which always lowers the distortion) where it does not.
Levels search(Levels c) {
  constexpr int kMaxSteps = 20000;
  constexpr double kStationary = 1e-26;  // ten thousand roundings of 1e-16 each, squared and summed
  for (int step = 0; step < kMaxSteps && squared_residual(c) > kStationary; ++step) {
    Levels moved = newton_step(c);
    const bool helps = is_quantizer(moved) && squared_residual(moved) < squared_residual(c) / 2;
    c = helps ? std::move(moved) : lloyd_sweep(c);
  }
  return c;
}

TEST(ArcsineCodebook, EveryRandomStartEndsInThePublishedTable) {
  for (int bits = 1; bits <= 8; ++bits) {
    const std::uint64_t starts = bits <= 5 ? 200 : 24;  // wide tables take thousands of sweeps from a bad start
    const Codebook published = sphere_codebook(2, bits);
    for (std::uint64_t start = 0; start < starts; ++start) {
      RngStream stream(2, Domain::kData, start);
      // A third of the starts spread over the interval, a third crowd at the poles, a third into one random corner.
      Levels c(published.size());
      const double corner = 2 * stream.uniform() - 1;
      for (double& level : c) {
        const double u = 2 * stream.uniform() - 1;
        if (start % 3 == 0) level = u;
        if (start % 3 == 1) level = std::sin(std::numbers::pi / 2 * std::cbrt(u));
        if (start % 3 == 2) level = corner + (u > 0 ? 1 - corner : 1 + corner) * u * 0.05;
      }
      std::ranges::sort(c);
      ASSERT_TRUE(is_quantizer(c));
      const Levels found = search(std::move(c));
      ASSERT_LT(squared_residual(found), 1e-24) << "bits " << bits << " start " << start;
      for (std::size_t k = 0; k < found.size(); ++k) {
        // A residual of 1e-13 moves a level by at most |J^{-1}|, which is of the order of n^2 (Lloyd's slow mode).
        const double n = static_cast<double>(found.size());
        ASSERT_NEAR(found[k], published.centroids()[k], 1e-13 * n * n) << "bits " << bits << " start " << start;
      }
    }
  }
}

TEST(ArcsineCodebook, TheSearchTellsAnotherQuantizerApart) {
  Levels uniform(16);
  for (std::size_t k = 0; k < 16; ++k) uniform[k] = -0.95 + 0.125 * static_cast<double>(k);
  EXPECT_GT(squared_residual(uniform), 1e-4);
}

}  // namespace
}  // namespace orthant::codebook
