// Queries turned, scaled, rotated and rounded in one pass, by the portable kernels that all targets must equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/table_cases.h"

namespace orthant::kernels {
namespace {

const KernelTable& portable() { return reference_table(Arithmetic::kWide); }

/// H v by its definition: H_ij = (-1)^popcount(i & j).
std::vector<double> hadamard(const std::vector<double>& v) {
  std::vector<double> p(v.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    for (std::size_t j = 0; j < v.size(); ++j) p[i] += (__builtin_popcountll(i & j) & 1) != 0 ? -v[j] : v[j];
  return p;
}

const QueryHeader& header_of(const std::vector<std::byte>& prepared, std::size_t at) {
  return *reinterpret_cast<const QueryHeader*>(prepared.data() + at);
}

/// Byte j of query q, the queries of a batch side by side in words.
int byte_of(const std::vector<std::byte>& prepared, std::size_t at, std::size_t queries, std::size_t q, std::size_t j) {
  return std::to_integer<std::int8_t>(prepared[at + sizeof(QueryHeader) + (j / 4 * queries + q) * 4 + j % 4]);
}

std::vector<std::byte> prepared_by_portable(const TurnedCase& c) {
  std::vector<std::byte> prepared(c.tiles * c.stride(portable(), c.queries) + alignof(QueryHeader));
  void* aligned = prepared.data();
  std::size_t space = prepared.size();
  std::align(alignof(QueryHeader), c.tiles * c.stride(portable(), c.queries), aligned, space);
  c.prepare(portable(), 0, c.queries, static_cast<std::byte*>(aligned));
  const auto* const first = static_cast<const std::byte*>(aligned);
  return {first, first + c.tiles * c.stride(portable(), c.queries)};
}

/// All angles zero, all scales one, for a single tile.
void neither_turn_nor_scale(TurnedCase& c) {
  std::fill(c.block_phases.begin(), c.block_phases.end(), 0.0F);
  std::fill_n(c.block_phases.begin(), c.dims / 2, 1.0F);
  c.tile_phases = c.block_phases;
  std::fill(c.scales.begin(), c.scales.end(), 1.0F);
}

// With units of one and integers all is exact: every byte is the rounded multiple, every factor and seed known.
TEST(TurnedQueries, IntegersAreRotatedExactly) {
  for (const std::size_t dims : {std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    TurnedCase c(dims, 1, 1, Arithmetic::kWide);
    neither_turn_nor_scale(c);
    std::fill(c.reaches.begin(), c.reaches.end(), 0.0F);
    std::vector<double> v(dims);
    for (std::size_t j = 0; j < dims; ++j) v[j] = std::round(20.0 * static_cast<double>(c.rows[j]));
    v[0] = 1;
    v[dims / 2] = 0;
    c.reaches[0] = kTurnedTop;  // L = kTurnedTop, the unit is one
    std::copy(v.begin(), v.end(), c.rows.begin());
    const std::vector<std::byte> prepared = prepared_by_portable(c);

    const std::vector<double> p = hadamard(v);
    double most = 0;
    for (const double x : p) most = std::max(most, std::abs(x));
    ASSERT_GT(most, 127);
    const double factor = std::floor(127 * 32768 / most);
    int total = 0;
    for (std::size_t j = 0; j < dims; ++j) {
      const int expected = static_cast<int>(std::floor(p[j] * factor / 32768 + 0.5));
      ASSERT_EQ(byte_of(prepared, 0, 1, 0, j), expected) << "dims " << dims << ", coordinate " << j;
      total += expected;
    }
    double mean = 0;
    for (std::size_t j = 0; j < dims; ++j) mean += v[j] * double{c.mean[j]};
    const QueryHeader& header = header_of(prepared, 0);
    EXPECT_FLOAT_EQ(header.factor_a[0], static_cast<float>(double{c.grid.step} * 32768 / factor / 2));
    EXPECT_EQ(header.seed_a[0], -c.grid.zero * total);
    // Sixteen chains of products: dims / 16 + 6 roundings.
    EXPECT_NEAR(double{header.term[0]}, mean / 2, 22 * 0x1p-24 * 20 * static_cast<double>(dims));
  }
}

// All of L in one coordinate: the sum that comes nearest to the end of 16 bits.
TEST(TurnedQueries, TheLargestSumFits) {
  for (const std::size_t dims : {std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    TurnedCase c(dims, 1, 1, Arithmetic::kWide);
    neither_turn_nor_scale(c);
    std::fill(c.reaches.begin(), c.reaches.end(), std::hypot(1.0F, 1.0F));
    std::fill(c.rows.begin(), c.rows.end(), 3.0F);
    const std::vector<std::byte> prepared = prepared_by_portable(c);
    EXPECT_EQ(byte_of(prepared, 0, 1, 0, 0), 127);
    for (std::size_t j = 1; j < dims; ++j) EXPECT_EQ(byte_of(prepared, 0, 1, 0, j), 0) << j;
  }
}

// Small integers need no scaling: each is its own byte.
TEST(TurnedQueries, SmallAndZeroQueriesKeepTheirUnits) {
  TurnedCase c(64, 1, 2, Arithmetic::kWide);
  std::fill(c.rows.begin(), c.rows.end(), 0.0F);
  std::vector<std::byte> prepared = prepared_by_portable(c);
  const std::size_t stride = c.stride(portable(), c.queries);
  for (const std::size_t at : {std::size_t{0}, stride}) {
    for (std::size_t j = 0; j < 64; ++j) EXPECT_EQ(byte_of(prepared, at, 1, 0, j), 0);
    EXPECT_EQ(header_of(prepared, at).term[0], 0);
    EXPECT_TRUE(std::isfinite(header_of(prepared, at).factor_a[0]));
  }
  // Far below the least bound: units of 2^-100 / kTurnedTop, no division by what underflows.
  std::fill(c.rows.begin(), c.rows.end(), 1e-38F);
  prepared = prepared_by_portable(c);
  EXPECT_TRUE(std::isfinite(header_of(prepared, 0).factor_a[0]));
}

// Any angles: each query's p within the roundings that TurnedQueries states, in every batch.
TEST(TurnedQueries, ErrAsStated) {
  for (const std::size_t dims : {std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    for (const std::size_t queries : {std::size_t{1}, std::size_t{4}, std::size_t{8}}) {
      const TurnedCase c(dims, queries, 3, Arithmetic::kWide);
      const std::vector<std::byte> prepared = prepared_by_portable(c);
      const std::size_t pairs = dims / 2;
      for (std::size_t t = 0; t < c.tiles; ++t) {
        for (std::size_t q = 0; q < queries; ++q) {
          std::vector<double> v(dims);
          double mean = 0, mean_size = 0, bound = 0;
          for (std::size_t i = 0; i < pairs; ++i) {
            const double angle =
                std::atan2(double{c.block_phases[pairs + i]}, double{c.block_phases[i]}) +
                std::atan2(double{c.tile_phases[t * dims + pairs + i]}, double{c.tile_phases[t * dims + i]});
            const double a = double{c.rows[q * dims + i]}, b = double{c.rows[q * dims + pairs + i]};
            const double first = a * std::cos(angle) - b * std::sin(angle);
            const double second = a * std::sin(angle) + b * std::cos(angle);
            v[i] = double{c.scales[i]} * first;
            v[pairs + i] = double{c.scales[pairs + i]} * second;
            mean += first * double{c.mean[i]} + second * double{c.mean[pairs + i]};
            mean_size += std::hypot(a, b) * std::hypot(double{c.mean[i]}, double{c.mean[pairs + i]});
            // (max + (sqrt 2 - 1) min) is at most sqrt(4 - 2 sqrt 2) < 1.0824 times the length.
            bound += 1.0824 * double{c.reaches[i]} * std::hypot(a, b);
          }
          const std::size_t at = t * c.stride(portable(), c.queries);
          const QueryHeader& header = header_of(prepared, at);
          const double step = double{header.factor_a[q]} / double{c.grid.step} / 0.5;
          const std::vector<double> p = hadamard(v);
          double error = 0, most = 0;
          for (std::size_t j = 0; j < dims; ++j) {
            const double e = step * byte_of(prepared, at, queries, q, j) - p[j];
            error += e * e;
            most = std::max(most, std::abs(p[j]));
          }
          const double n = static_cast<double>(dims);
          const double unit = bound / double{kTurnedTop};
          EXPECT_LE(step, (1 + 1.0 / 127) * (unit + (most + unit * n / 2) / 127));
          // |p^ - p| <= sqrt(n) step / 2 + |H e|, |H e| = sqrt(n) |e| <= n unit / 2; and the phases' own roundings.
          EXPECT_LE(std::sqrt(error), std::sqrt(n) * step / 2 + n * unit / 2 + 1e-6 * n * most);
          EXPECT_NEAR(double{header.term[q]}, mean / 2, 40 * 0x1p-24 * mean_size);
        }
      }
    }
  }
}

}  // namespace
}  // namespace orthant::kernels
