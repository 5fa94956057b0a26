#include "transform/wide_loops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "orthant/core/rng.h"

namespace orthant::transform {
namespace {

std::vector<float> normals(std::size_t n, std::uint64_t trial) {
  std::vector<float> x(n);
  RngStream rng(5, Domain::kData, trial);
  for (float& value : x) value = static_cast<float>(rng.normal());
  return x;
}

// Every shape of the loop: no whole vector of pairs, one, several, with and without a rest; blocks of rows and the
// rest.
TEST(WideLoops, TurnedRowsAreThoseOfTheDefinition) {
  constexpr std::size_t kGap = 3;
  for (const std::size_t pairs : {1U, 7U, 16U, 20U, 64U, 75U}) {
    const std::size_t d = 2 * pairs;
    const std::vector<float> q = normals(d, 1), scale = normals(d, 2), mean = normals(d, 3);
    for (const std::size_t rows : {1U, 3U, 4U, 6U, 9U}) {
      std::vector<float> phases(rows * d);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < pairs; ++i) {
          const double angle = 0.37 * static_cast<double>((r + 1) * (i + 1));
          phases[r * d + i] = static_cast<float>(std::cos(angle));
          phases[r * d + pairs + i] = static_cast<float>(std::sin(angle));
        }
      std::vector<float> out(rows * (d + kGap), -1), sums(2 * rows, -1);
      wide_loops().turn_and_scale(q.data(), pairs, scale.data(), mean.data(),
                                  {rows, phases.data(), out.data(), d + kGap, sums.data(), 2});
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0, q_norm = 0, mean_norm = 0;
        for (std::size_t i = 0; i < pairs; ++i) {
          const double c = phases[r * d + i], s = phases[r * d + pairs + i];
          const double a = q[i], b = q[pairs + i];
          const double first = a * c - b * s, second = a * s + b * c;
          // Three roundings of products no larger than this.
          const double size = 3 * 0x1p-24 * (std::abs(a) + std::abs(b));
          EXPECT_NEAR(out[r * (d + kGap) + i], scale[i] * first, size * std::abs(scale[i]));
          EXPECT_NEAR(out[r * (d + kGap) + pairs + i], scale[pairs + i] * second, size * std::abs(scale[pairs + i]));
          sum += first * mean[i] + second * mean[pairs + i];
          q_norm += a * a + b * b;
          mean_norm += double{mean[i]} * mean[i] + double{mean[pairs + i]} * mean[pairs + i];
        }
        const double bound = (static_cast<double>(pairs) / 8 + 8) * 0x1p-24 * std::sqrt(q_norm * mean_norm);
        // Pairs beyond whole vectors are added one by one.
        EXPECT_NEAR(sums[2 * r], sum,
                    bound + static_cast<double>(pairs % 16) * 0x1p-24 * std::sqrt(q_norm * mean_norm));
        EXPECT_EQ(sums[2 * r + 1], -1.0F);
        for (std::size_t i = d; i < d + kGap; ++i) EXPECT_EQ(out[r * (d + kGap) + i], -1.0F);
      }
    }
  }
}

TEST(WideLoops, ButterfliesAreTheHadamardMatrixWithoutItsNorm) {
  for (const std::size_t n : {1U, 4U, 16U, 64U, 128U, 256U, 1024U}) {
    constexpr std::size_t kRows = 3;
    const std::size_t stride = n + 5;
    std::vector<float> x = normals(kRows * stride, 4);
    const std::vector<float> before = x;
    wide_loops().butterflies(x.data(), n, kRows, stride);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0, size = 0;
        for (std::size_t j = 0; j < n; ++j) {
          const double term = before[r * stride + j];
          sum += std::popcount(i & j) % 2 == 0 ? term : -term;
          size += std::abs(term);
        }
        EXPECT_NEAR(x[r * stride + i], sum, std::log2(static_cast<double>(n) + 1) * 0x1p-24 * size);
      }
      for (std::size_t i = n; i < stride; ++i) EXPECT_EQ(x[r * stride + i], before[r * stride + i]);
    }
  }
}

}  // namespace
}  // namespace orthant::transform
