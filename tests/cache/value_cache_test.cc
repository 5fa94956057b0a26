#include "orthant/cache/value_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cache/coded_rows.h"
#include "orthant/cache/target.h"
#include "orthant/core/error.h"

namespace orthant::cache {
namespace {

struct Case {
  std::string name;
  RowFormat format;
};

std::vector<Case> formats(std::size_t d) {
  std::vector<Case> cases;
  for (int bits = 1; bits <= 8; ++bits) {
    cases.push_back({"codebook " + std::to_string(bits), RowFormat::codebook(d, bits, curved_levels(bits))});
    cases.push_back({"uniform " + std::to_string(bits), RowFormat::uniform(d, bits, 64)});
  }
  cases.push_back({"uniform whole", RowFormat::uniform(d, 4, d)});
  cases.push_back({"fp8", RowFormat::fp8_e4m3(d)});
  cases.push_back({"bfloat16", RowFormat::bfloat16(d)});
  return cases;
}

/// Non-negative weights of very different sizes, as a softmax leaves them.
Matrix<float> softmax_like(std::size_t rows, std::size_t n, std::uint64_t seed) {
  Matrix<float> weights(rows, n);
  RngStream random(seed, Domain::kData, n);
  for (std::size_t h = 0; h < rows; ++h) {
    for (float& w : weights.row(h)) w = static_cast<float>(std::exp(3 * random.normal()));
  }
  return weights;
}

/// The bound of the header for one coordinate.
double bound(const ValueCache& cache, const CodedRows& rows, std::span<const float> weights, std::size_t j,
             bool narrowest, const Matrix<float>& values) {
  const RowFormat& format = cache.format();
  const std::size_t n = weights.size();
  if (format.is_bfloat16()) {
    double largest = 0;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(double{values(i, j)}));
      sum += std::abs(double{weights[i]});
    }
    return largest * sum * (1.0 / 256 + (16 + static_cast<double>(n)) * 0x1p-24);
  }
  const RowFormat::Section* section = nullptr;
  for (const RowFormat::Section& s : format.sections()) {
    if (j >= s.first && j < s.first + s.dims) section = &s;
  }
  const auto [low, high] = std::ranges::minmax(section->levels);
  const double c = (double{high} - double{low}) / 2;
  const double middle = std::abs((double{high} + double{low}) / 2);
  const bool even = format.has_offsets();
  double total = 0;
  double all = 0;
  double offsets = 0;
  for (std::size_t begin = 0; begin < n; begin += 64) {
    double l = 0;
    double w = 0;
    double lowest = 0;
    double highest = 0;
    for (std::size_t i = begin; i < std::min(n, begin + 64); ++i) {
      const double x = std::abs(double{weights[i]} * double{rows.scales(i, section->scale)});
      const double signed_x = double{weights[i]} * double{rows.scales(i, section->scale)};
      lowest = std::min(lowest, signed_x);
      highest = std::max(highest, signed_x);
      l += x;
      w = std::max(w, x);
      if (even) offsets += std::abs(double{weights[i]} * double{rows.offsets(i, section->scale)});
    }
    if (narrowest) {
      if (section->bits == 8 && even) {
        total += 64 * c * w / 32130;
      } else if (section->bits >= 6) {
        total += c * (l / 15876 + 64 * w / 16065);
      } else if (section->bits <= 4) {
        total += c * (l / 126 + 56 * (highest - lowest) / 254);
      } else {
        total += c * (l / 126 + 64 * w / 32130);
      }
    }
    all += l;
  }
  // Scales round to half precision before they count: 2^-11 more on what they multiply.
  return total * (1 + 0x1p-11) + (16 + static_cast<double>(n) / 32) * 0x1p-24 * ((c + middle) * all + offsets) * 1.001;
}

class EveryTargetValues : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, EveryTargetValues, testing::ValuesIn(usable_targets()),
                         [](const auto& target) { return target.param; });

TEST_P(EveryTargetValues, SumsStayWithinTheStatedBound) {
  constexpr std::size_t n = 150;
  constexpr std::size_t kQueries = 5;
  for (const std::size_t d : std::vector<std::size_t>{3, 64, 80, 128, 192}) {
    for (const Case& c : formats(d)) {
      for (const Precision precision : {Precision::kFast, Precision::kExact}) {
        ValueCache cache(c.format, {.precision = precision, .target = GetParam()});
        const CodedRows rows = random_rows(c.format, n, d);
        if (c.format.is_bfloat16()) {
          cache.append(rows.values.view());
        } else {
          cache.append(rows.codes.view(), rows.scales.view(), rows.offsets.view());
        }
        Matrix<float> weights = softmax_like(kQueries, n, d);
        for (std::size_t i = 0; i < n; i += 3) weights(1, i) *= -0.5F;  // beside rows without negative weights
        for (std::size_t i = 0; i < n; ++i) weights(3, i) *= -1;
        Matrix<float> sums(kQueries, d);
        Matrix<float> values(n, d);
        Workspace work(cache.workspace_bytes(kQueries));
        cache.weighted_sum(weights.view(), 0, sums.view(), work);
        cache.decode(0, values.view());
        for (std::size_t h = 0; h < kQueries; ++h) {
          for (std::size_t j = 0; j < d; ++j) {
            double expected = 0;
            for (std::size_t i = 0; i < n; ++i) expected += double{weights(h, i)} * double{values(i, j)};
            ASSERT_NEAR(double{sums(h, j)}, expected,
                        bound(cache, rows, weights.row(h), j, precision == Precision::kFast, values))
                << c.name << " d " << d << (precision == Precision::kFast ? " fast" : " exact") << " coordinate " << j;
          }
        }
      }
    }
  }
}

// Weights of one byte: sixty-three weights below half a step of the large one beside them must not vanish. Every row is
// the same here, so the sum is the row times the sum of the weights, to half a step for each of sixteen chains and the
// rounding of the level: 16 / 2 * 1 / 254 + (1 + 63 * 0.0015) / 126 = 0.0402 of the largest coordinate.
TEST_P(EveryTargetValues, SmallWeightsBesideALargeOneKeepTheirSum) {
  constexpr std::size_t d = 64;
  const RowFormat format = RowFormat::codebook(d, 4, curved_levels(4));
  ValueCache cache(format, {.target = GetParam()});
  Matrix<std::uint8_t> codes(64, d);
  Matrix<float> scales(64, 1);
  for (std::size_t i = 0; i < 64; ++i) {
    scales(i, 0) = 1;
    std::ranges::fill(codes.row(i), std::uint8_t{15});
  }
  cache.append(codes.view(), scales.view());
  Matrix<float> weights(1, 64);
  std::ranges::fill(weights.row(0), 0.0015F);
  weights(0, 5) = 1;
  Matrix<float> sums(1, d);
  Workspace work(cache.workspace_bytes(1));
  cache.weighted_sum(weights.view(), 0, sums.view(), work);
  const double level = double{format.sections()[0].levels[15]};
  for (std::size_t j = 0; j < d; ++j) {
    EXPECT_NEAR(double{sums(0, j)} / level, 1 + 63 * 0.0015, 0.0402);
  }
}

TEST(ValueCache, CodesComeBackForEveryFormat) {
  for (const Case& c : formats(80)) {
    if (c.format.is_bfloat16()) continue;
    const CodedRows rows = random_rows(c.format, 70, 3);
    ValueCache cache(c.format);
    for (std::size_t i = 0; i < 70; ++i) {
      cache.append(rows.codes.view().middle_rows(i, 1), rows.scales.view().middle_rows(i, 1),
                   c.format.has_offsets() ? rows.offsets.view().middle_rows(i, 1) : MatrixView<const float>());
    }
    KeyCache keys(c.format);  // the other layout, tested on its own
    append_rows(keys, rows);
    Matrix<float> from_values(70, 80);
    Matrix<float> from_keys(70, 80);
    cache.decode(0, from_values.view());
    keys.decode(0, from_keys.view());
    for (std::size_t i = 0; i < 70; ++i) {
      for (std::size_t j = 0; j < 80; ++j) ASSERT_EQ(from_values(i, j), from_keys(i, j)) << c.name << ' ' << i;
    }
  }
}

TEST(ValueCache, WindowsEnterExactly) {
  constexpr std::size_t d = 64;
  constexpr std::size_t n = 140;
  const RowFormat format = RowFormat::codebook(d, 2, curved_levels(2));
  ValueCache cache(format, {.first_exact = 3, .last_exact = 70});
  const Matrix<float> exact = random_queries(n, d, 5);
  const CodedRows rows = random_rows(format, n, 6);
  cache.append(rows.codes.view(), rows.scales.view(), {}, exact.view());
  // Weight on the windows alone: the sum is that of the exact rows, to float rounding of 73 terms of size 1.
  Matrix<float> weights(1, n);
  for (std::size_t i = 0; i < n; ++i) weights(0, i) = i < 3 || i >= 70 ? 1.0F / static_cast<float>(i + 1) : 0.0F;
  Matrix<float> sums(1, d);
  Workspace work(cache.workspace_bytes(1));
  cache.weighted_sum(weights.view(), 0, sums.view(), work);
  for (std::size_t j = 0; j < d; ++j) {
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += double{weights(0, i)} * double{exact(i, j)};
    EXPECT_NEAR(double{sums(0, j)}, expected, 73 * 0x1p-24 * 20);
  }
}

TEST(ValueCache, MistakesAreRefused) {
  const RowFormat format = RowFormat::codebook(64, 2, curved_levels(2));
  ValueCache cache(format);
  const CodedRows rows = random_rows(format, 10, 6);
  cache.append(rows.codes.view(), rows.scales.view());
  Workspace work(cache.workspace_bytes(1));
  Matrix<float> sums(1, 64);
  EXPECT_THROW(cache.weighted_sum(Matrix<float>(1, 11).view(), 0, sums.view(), work), InvalidArgument);
  EXPECT_THROW(cache.weighted_sum(Matrix<float>(1, 5).view(), 5, sums.view(), work), InvalidArgument);
  EXPECT_THROW(cache.weighted_sum(Matrix<float>(2, 5).view(), 0, sums.view(), work), InvalidArgument);
  Matrix<float> weights(1, 10);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    weights(0, 4) = bad;
    EXPECT_THROW(cache.weighted_sum(weights.view(), 0, sums.view(), work), InvalidArgument) << bad;
  }
  weights(0, 4) = 1e30F;  // whose square is infinite
  EXPECT_NO_THROW(cache.weighted_sum(weights.view(), 0, sums.view(), work));
}

}  // namespace
}  // namespace orthant::cache
