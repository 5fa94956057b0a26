// The targets of a cross-compiled library against its portable kernels, without a test framework: what
// targets_agree_test.cc checks, for a machine that is emulated. Exits with 1 and says what differs.
#include <cstdio>
#include <limits>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/table_cases.h"

namespace {

using namespace orthant::kernels;

int failures = 0;

void expect(bool ok, const std::string& what) {
  if (ok) return;
  ++failures;
  std::printf("differs: %s\n", what.c_str());
}

void check(const KernelTable& table) {
  const KernelTable& reference = reference_table(table.arithmetic);
  for (const Setting& setting : settings()) {
    for (const std::size_t dims : {1U, 4U, 5U, 12U, 20U, 28U, 31U, 33U, 45U, 64U, 85U, 128U}) {
      const std::string what = std::string(table.name) + ", " + setting.text() + ", dims " + std::to_string(dims);
      const std::vector<float> expected = scores_by(reference, setting, dims, 1, 0, 0, false);
      expect(scores_by(table, setting, dims, 1, 2, 4096, false) == expected, what);
      for (const std::size_t queries : {4U, 8U}) {
        Section probe;
        probe.bits = setting.bits;
        probe.query_planes = setting.query_planes;
        const std::vector<float> levels = levels_for(setting);
        const int bits = setting.bits == 16 ? 0 : setting.bits;
        const LevelGrid grid = make_level_grid({levels.data(), std::size_t{1} << bits}, bits, table.arithmetic);
        probe.grid = &grid;
        if (table.find_scorer(probe, setting.exact, queries) == nullptr) continue;
        const std::vector<float> batch = scores_by(table, setting, dims, queries, 0, 0, false);
        expect(std::equal(expected.begin(), expected.end(), batch.begin()), what + ", batch");
      }
    }
  }
  for (const Setting& setting : settings()) {
    const std::string what = std::string(table.name) + ", sums, " + setting.text();
    const std::vector<float> expected = sums_by(reference, setting, 1, 0, 0);
    expect(sums_by(table, setting, 1, 2, 4096) == expected, what);
    if (table.name == "scalar" || setting.exact) continue;  // no batches of eight
    const std::vector<float> batch = sums_by(table, setting, 8, 0, 0);
    expect(std::equal(batch.begin(), batch.begin() + 128, expected.begin()), what + ", batch");
  }
  for (const std::size_t dims : {64U, 128U, 256U}) {
    for (const std::size_t queries : {1U, 4U, 8U}) {
      expect(turned_by(table, dims, queries) == turned_by(reference, dims, queries),
             std::string(table.name) + ", turned, dims " + std::to_string(dims));
    }
  }
  expect(encoded_by(table) == encoded_by(reference), std::string(table.name) + ", encoding");
  std::vector<float> scores;
  for (int i = 0; i < 9000; ++i) scores.push_back(-0.01F * static_cast<float>(i));
  scores.push_back(-std::numeric_limits<float>::infinity());
  std::vector<float> portable = scores;
  const float sum = table.exponentials(scores.data(), scores.size(), 0);
  expect(sum == reference.exponentials(portable.data(), portable.size(), 0) && scores == portable, "exponentials");
}

}  // namespace

int main() {
  int checked = 0;
  for (const KernelTable* table : compiled_tables()) {
    if (!table->supported()) continue;
    check(*table);
    ++checked;
    std::printf("checked %s\n", std::string(table->name).c_str());
  }
  return failures == 0 && checked >= 2 ? 0 : 1;
}
