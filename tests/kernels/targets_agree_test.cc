// Every target against the portable kernels of its arithmetic: the same bits, whatever the width, the length, the
// alignment, and with nothing readable or writable after the buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/level_grid.h"
#include "kernels/table_cases.h"
#include "kernels/usable_tables.h"

namespace orthant::kernels {
namespace {

class EveryTable : public testing::TestWithParam<const KernelTable*> {};
INSTANTIATE_TEST_SUITE_P(Targets, EveryTable, testing::ValuesIn(usable_tables()),
                         [](const auto& table) { return std::string(table.param->name); });

TEST_P(EveryTable, SameBitsAsThePortableKernels) {
  const KernelTable& table = *GetParam();
  const KernelTable& reference = reference_table(table.arithmetic);
  const std::vector<std::size_t> lengths = {1,  2,  4,  5,  8,  9,  12, 13, 16, 20, 24,
                                            28, 31, 32, 33, 40, 45, 52, 60, 64, 85, 128};
  for (const Setting& setting : settings()) {
    for (const std::size_t dims : lengths) {
      const std::vector<float> expected = scores_by(reference, setting, dims, 1, 0, 0, false);
      ASSERT_EQ(scores_by(table, setting, dims, 1, 0, 0, false), expected) << setting.text() << ", dims " << dims;
    }
    // Alignment and prefetching change nothing; accumulating adds.
    const std::vector<float> expected = scores_by(reference, setting, 85, 1, 0, 0, true);
    ASSERT_EQ(scores_by(table, setting, 85, 1, 6, 4096, true), expected) << setting.text();
  }
}

// Query h of a batch is query h alone: data of all queries is laid out for the batch, results must not mix.
TEST_P(EveryTable, BatchesGiveTheBitsOfSingleQueries) {
  const KernelTable& table = *GetParam();
  for (const Setting& setting : settings()) {
    for (const std::size_t dims : {std::size_t{60}, std::size_t{128}}) {
      for (const std::size_t queries : {std::size_t{4}, std::size_t{8}}) {
        const std::vector<float> levels = levels_for(setting);
        Section probe;
        probe.bits = setting.bits;
        probe.query_planes = setting.query_planes;
        const LevelGrid grid =
            make_level_grid({levels.data(), std::size_t{1} << (setting.bits == 16 ? 0 : setting.bits)},
                            setting.bits == 16 ? 0 : setting.bits, table.arithmetic);
        probe.grid = &grid;
        if (table.find_scorer(probe, setting.exact, queries) == nullptr) continue;
        const std::vector<float> batch = scores_by(table, setting, dims, queries, 0, 0, false);
        // The portable kernels have no batches: the first query of the batch is drawn as the single query is.
        const std::vector<float> single = scores_by(reference_table(table.arithmetic), setting, dims, 1, 0, 0, false);
        ASSERT_TRUE(std::equal(single.begin(), single.end(), batch.begin()))
            << setting.text() << ", dims " << dims << ", queries " << queries;
      }
    }
  }
}

TEST_P(EveryTable, TurnedQueriesHaveThePortableBits) {
  const KernelTable& table = *GetParam();
  for (const std::size_t dims : {std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    for (const std::size_t queries : {std::size_t{1}, std::size_t{4}, std::size_t{8}}) {
      ASSERT_EQ(turned_by(table, dims, queries), turned_by(reference_table(table.arithmetic), dims, queries))
          << "dims " << dims << ", queries " << queries;
    }
  }
}

// Sums of values: the portable bits, whatever the batch, the alignment and the prefetching.
TEST_P(EveryTable, ValueSumsHaveThePortableBits) {
  const KernelTable& table = *GetParam();
  for (const Setting& setting : settings()) {
    const std::vector<float> expected = sums_by(reference_table(table.arithmetic), setting, 1, 0, 0);
    ASSERT_EQ(sums_by(table, setting, 1, 0, 0), expected) << setting.text();
    ASSERT_EQ(sums_by(table, setting, 1, 6, 4096), expected) << setting.text();
    for (const std::size_t queries : {std::size_t{4}, std::size_t{8}}) {
      Section probe;
      probe.bits = setting.bits;
      const std::vector<float> levels = levels_for(setting);
      const int bits = setting.bits == 16 ? 0 : setting.bits;
      const LevelGrid grid = make_level_grid({levels.data(), std::size_t{1} << bits}, bits, table.arithmetic);
      probe.grid = &grid;
      probe.query_planes = setting.bits <= 4 ? setting.query_planes : 2;
      if (table.find_summer(probe, setting.exact, queries) == nullptr) continue;
      const std::vector<float> batch = sums_by(table, setting, queries, 0, 0);
      ASSERT_TRUE(std::equal(batch.begin(), batch.begin() + 128, expected.begin()))
          << setting.text() << ", queries " << queries;
    }
  }
}

TEST_P(EveryTable, EncodingHasThePortableBits) {
  EXPECT_EQ(encoded_by(*GetParam()), encoded_by(reference_table(Arithmetic::kWide)));
}

// exp to the documented 2^-22, its edge and its sum, and the same bits as the portable loops.
TEST_P(EveryTable, ExponentialsAreAccurateAndTheSameOnAllTargets) {
  const KernelTable& table = *GetParam();
  std::vector<float> scores;
  for (int i = 0; i <= 88000; ++i) scores.push_back(3 - static_cast<float>(i) * 0.001F);
  scores.push_back(-std::numeric_limits<float>::infinity());
  EXPECT_EQ(table.largest(scores.data(), scores.size()), 3);
  std::vector<float> results = scores;
  const float sum = table.exponentials(results.data(), results.size(), 3);
  double expected_sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const float x = scores[i] - 3;
    const double expected = x > -87 ? std::exp(double{x}) : 0;
    ASSERT_LE(std::abs(double{results[i]} - expected), 0x1p-22 * expected) << x;
    expected_sum += expected;
  }
  // Sixteen chains of 5500 additions: at most 5516 * 2^-24 relative.
  EXPECT_NEAR(double{sum}, expected_sum, 5516 * 0x1p-24 * expected_sum);
  std::vector<float> portable = scores;
  EXPECT_EQ(sum, reference_table(table.arithmetic).exponentials(portable.data(), portable.size(), 3));
  EXPECT_EQ(results, portable);
}

}  // namespace
}  // namespace orthant::kernels
