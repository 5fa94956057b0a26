// Codes against their definition, where thresholds are even, crowded in the middle, and as good as equal.
#include "kernels/code_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/table_cases.h"
#include "kernels/usable_tables.h"
#include "orthant/codebook/lloyd_max.h"

namespace orthant::kernels {
namespace {

std::vector<float> sphere_thresholds(std::int64_t d, int bits) {
  const auto book = codebook::sphere_codebook(d, bits);
  const auto centroids = book.centroids();
  std::vector<float> thresholds;
  for (std::size_t k = 1; k < centroids.size(); ++k)
    thresholds.push_back(static_cast<float>((centroids[k - 1] + centroids[k]) / 2));
  return thresholds;
}

/// Everything that may go wrong: thresholds themselves, their neighbours, what lies far out.
std::vector<float> hard_values(const std::vector<float>& thresholds) {
  std::vector<float> y = {0.0F, -0.0F, 1e-40F, 3e38F, -3e38F, 1.0F, -1.0F};
  for (const float t : thresholds) {
    for (const float x : {t, std::nextafter(t, -1e9F), std::nextafter(t, 1e9F)}) y.push_back(x);
  }
  RngStream random(5, Domain::kData, 0);
  for (int i = 0; i < 999; ++i) y.push_back(static_cast<float>(random.normal()));
  return y;
}

void expect_counts(const std::vector<float>& thresholds, int bits) {
  const CodeSearch search = make_code_search(thresholds, bits);
  const std::vector<float> y = hard_values(thresholds);
  for (const KernelTable* table : usable_tables()) {
    std::vector<std::uint8_t> codes(y.size());
    table->find_codes(search, y.data(), y.size(), 1, codes.data());
    for (std::size_t j = 0; j < y.size(); ++j) {
      const auto expected = std::ranges::count_if(thresholds, [&](float t) { return t < y[j]; });
      ASSERT_EQ(codes[j], expected) << std::string(table->name) << ", " << bits << " bits, y = " << y[j];
    }
  }
}

TEST(CodeSearch, CodesAreCountsOfThresholdsBelow) {
  for (int bits = 1; bits <= 8; ++bits) {
    expect_counts(even_thresholds(bits), bits);
    for (const std::int64_t d : {2, 3, 64, 128, 4096}) expect_counts(sphere_thresholds(d, bits), bits);
  }
}

// The codebooks in use fit buckets; others are searched by halves.
TEST(CodeSearch, BucketsHoldOneThresholdOrAreLeft) {
  for (const std::int64_t d : {64, 128, 256}) {
    for (const int bits : {5, 6, 7, 8}) {
      EXPECT_EQ(make_code_search(sphere_thresholds(d, bits), bits).below.size(), CodeSearch::kBuckets) << d;
    }
  }
  std::vector<float> crowded = even_thresholds(8);
  for (float& t : crowded) t *= t * t;
  EXPECT_TRUE(make_code_search(crowded, 8).below.empty());
  expect_counts(crowded, 8);
  std::vector<float> touching = even_thresholds(6);
  for (std::size_t k = 1; k < touching.size(); ++k) touching[k] = std::nextafter(touching[k - 1], 9.0F);
  expect_counts(touching, 6);
  std::vector<float> twins = even_thresholds(6);
  twins[9] = std::nextafter(twins[8], 9.0F);
  EXPECT_TRUE(make_code_search(twins, 6).below.empty());
  expect_counts(twins, 6);
  touching.assign(63, 0.25F);
  EXPECT_TRUE(make_code_search(touching, 6).below.empty());
  expect_counts(touching, 6);
}

}  // namespace
}  // namespace orthant::kernels
