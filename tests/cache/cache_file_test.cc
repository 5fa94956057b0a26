#include "orthant/cache/cache_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cache/coded_rows.h"
#include "orthant/core/error.h"

namespace orthant::cache {
namespace {

class CacheFile : public testing::Test {
 protected:
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      ("orthant_cache_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
  void TearDown() override { std::filesystem::remove(path_); }

  std::vector<char> read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::vector<char>& bytes) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
};

Matrix<float> scores_of(const KeyCache& cache) {
  const Matrix<float> queries = random_queries(3, cache.dim(), 5);
  Matrix<float> scores(3, cache.size());
  Workspace work(cache.workspace_bytes(3));
  cache.scores(queries.view(), 1, 0, scores.view(), work);
  return scores;
}

bool same(const Matrix<float>& a, const Matrix<float>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && std::equal(a.data(), a.data() + a.rows() * a.cols(), b.data());
}

KeyCache small_keys(std::size_t n, CacheOptions options = {}) {
  const RowFormat format = RowFormat::codebook(40, 3, curved_levels(3));
  KeyCache cache(format, options);
  const CodedRows rows = random_rows(format, n, 3);
  const bool windows = options.first_exact + options.last_exact > 0;
  const Matrix<float> exact = random_queries(n, 40, 8);
  cache.append(rows.codes.view(), rows.scales.view(), {}, windows ? exact.view() : MatrixView<const float>());
  return cache;
}

TEST_F(CacheFile, KeysComeBackAndGoOn) {
  for (const std::size_t n : std::vector<std::size_t>{0, 1, 5, 64, 150}) {
    KeyCache cache = small_keys(n, {.first_exact = 4, .last_exact = 7});
    save(cache, path_);
    KeyCache loaded = load_keys(path_);
    ASSERT_EQ(loaded.size(), n);
    EXPECT_TRUE(std::ranges::equal(loaded.tiles(), cache.tiles()));
    EXPECT_TRUE(same(scores_of(loaded), scores_of(cache))) << n;
    const CodedRows more = random_rows(cache.format(), 10, 99);
    const Matrix<float> exact = random_queries(10, 40, 80);
    cache.append(more.codes.view(), more.scales.view(), {}, exact.view());
    loaded.append(more.codes.view(), more.scales.view(), {}, exact.view());
    EXPECT_TRUE(same(scores_of(loaded), scores_of(cache))) << n;
    EXPECT_EQ(load_keys(path_).size(), n);  // the file did not change under the copy
  }
}

TEST_F(CacheFile, ValuesOfEveryFormatComeBack) {
  const std::vector<RowFormat> formats = {RowFormat::uniform(80, 4, 64), RowFormat::fp8_e4m3(64),
                                          RowFormat::bfloat16(33), RowFormat::codebook(64, 5, curved_levels(5))};
  for (const RowFormat& format : formats) {
    ValueCache cache(format, {.precision = Precision::kExact});
    const CodedRows rows = random_rows(format, 100, 3);
    if (format.is_bfloat16()) {
      cache.append(rows.values.view());
    } else {
      cache.append(rows.codes.view(), rows.scales.view(), rows.offsets.view());
    }
    save(cache, path_);
    const ValueCache loaded = load_values(path_);
    Matrix<float> expected(100, format.dim());
    Matrix<float> got(100, format.dim());
    cache.decode(0, expected.view());
    loaded.decode(0, got.view());
    EXPECT_TRUE(same(expected, got));
    EXPECT_EQ(loaded.options().precision, Precision::kExact);
    EXPECT_THROW(load_keys(path_), InvalidInput);
  }
}

TEST_F(CacheFile, EveryDamagedByteAndEveryTruncationIsRefused) {
  save(small_keys(3, {.first_exact = 1}), path_);
  const std::vector<char> good = read();
  ASSERT_NO_THROW(load_keys(path_));
  for (std::size_t at = 0; at < good.size(); at += at < 900 ? 1 : 97) {
    std::vector<char> bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    write(bad);
    EXPECT_THROW(load_keys(path_), InvalidInput) << "byte " << at;
  }
  for (std::size_t size = 0; size < good.size(); size += size < 900 ? 13 : 501) {
    write({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_THROW(load_keys(path_), InvalidInput) << "size " << size;
  }
  std::vector<char> longer = good;
  longer.push_back(0);
  write(longer);
  EXPECT_THROW(load_keys(path_), InvalidInput);
  EXPECT_THROW(load_keys(path_ / "missing"), InvalidInput);
}

}  // namespace
}  // namespace orthant::cache
