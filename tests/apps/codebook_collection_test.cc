// The whole published collection: proved again, and written again byte for byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "command.h"
#include "test_paths.h"

namespace orthant::apps {
namespace {

const std::filesystem::path kCollection = codebooks_dir();

std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(Collection, EveryFileIsProvedAgain) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_command({"codebook", "--check", kCollection.string()}, {out, err}), kDone) << out.str() << err.str();
  EXPECT_NE(out.str().find("184 of 184 codebooks proved"), std::string::npos) << out.str();
}

TEST(Collection, OneCommandWritesTheSameBytes) {
  for (const std::string threads : {"1", "3"}) {
    const auto folder = std::filesystem::path(testing::TempDir()) / ("orthant_collection_" + threads);
    std::ostringstream out;
    std::ostringstream err;
    ASSERT_EQ(run_command({"codebook", "--collection", folder.string(), "--threads", threads}, {out, err}), kDone);
    std::size_t compared = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      EXPECT_EQ(contents(entry.path()), contents(kCollection / entry.path().filename())) << entry.path();
      ++compared;
    }
    EXPECT_EQ(compared, 185U);
    std::filesystem::remove_all(folder);
  }
}

// Planted faults: an index with one digit changed, and a file missing from the folder.
TEST(Collection, TheIndexMustMatchTheFiles) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "orthant_collection_index";
  std::filesystem::remove_all(folder);
  std::filesystem::copy(kCollection, folder);
  std::string index = contents(folder / "index.csv");
  index[index.find("0.36338")] = '1';
  std::ofstream(folder / "index.csv", std::ios::binary) << index;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_command({"codebook", "--check", folder.string()}, {out, err}), kViolated);
  std::filesystem::copy_file(kCollection / "index.csv", folder / "index.csv",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(folder / "gaussian_b1.json");
  EXPECT_EQ(run_command({"codebook", "--check", folder.string()}, {out, err}), kViolated);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orthant::apps
