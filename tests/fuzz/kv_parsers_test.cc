#include "fuzz/kv_parsers.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/mutate.h"
#include "orthant/kv/npy.h"
#include "orthant/kv/safetensors.h"

namespace orthant::kv {
namespace {

std::vector<std::uint8_t> take_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  return {bytes.begin(), bytes.end()};
}

std::filesystem::path scratch(const char* name) { return std::filesystem::path(testing::TempDir()) / name; }

std::vector<std::uint8_t> small_dump() {
  const std::vector<std::uint8_t> f16(2 * 3 * 4);
  const std::vector<std::uint8_t> f32(2 * 4 * 4);
  const std::array tensors = {TensorData{"layers.0.keys", TensorType::kF16, {1, 3, 4}, f16},
                              TensorData{"layers.0.values", TensorType::kBF16, {1, 3, 4}, f16},
                              TensorData{"layers.0.queries", TensorType::kF32, {2, 1, 4}, f32}};
  write_safetensors(scratch("fuzz.safetensors"),
                    {{"format", "orthant-kv-1"},
                     {"model", "m"},
                     {"source", "s"},
                     {"licence", "l"},
                     {"tokens", "3"},
                     {"softmax_scale", "0.5"},
                     {"rope_layout", "half"},
                     {"rope_theta", "10000"},
                     {"first_position", "0"},
                     {"layers", "0"},
                     {"layer_types", "sliding:2"}},
                    tensors);
  return take_file(scratch("fuzz.safetensors"));
}

std::vector<std::uint8_t> small_npy() {
  const std::array<std::size_t, 2> shape = {2, 3};
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  write_npy<float>(scratch("fuzz.npy"), shape, values);
  return take_file(scratch("fuzz.npy"));
}

/// Mutants of a valid file, all tried; fails when none or all are accepted: then nothing interesting was reached.
void fuzz(const std::vector<std::uint8_t>& valid, bool (*accepts)(std::span<const std::uint8_t>),
          std::uint64_t trials) {
  ASSERT_TRUE(accepts(valid));
  std::uint64_t accepted = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    RngStream rng(1, Domain::kData, trial);
    const auto bytes = mutate(valid, rng);
    try {
      accepted += accepts(bytes) ? 1U : 0U;
    } catch (const std::exception& error) {
      FAIL() << "trial " << trial << ": " << error.what();
    }
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, trials);
}

TEST(KvParsersFuzz, Safetensors) { fuzz(small_dump(), try_safetensors, 20000); }
TEST(KvParsersFuzz, Dump) { fuzz(small_dump(), try_dump, 20000); }
TEST(KvParsersFuzz, Npy) { fuzz(small_npy(), try_npy, 50000); }

}  // namespace
}  // namespace orthant::kv
