#include "orthant/core/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "orthant/core/error.h"

namespace orthant {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest()
      : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  static std::string contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, AppearsOnCommitOnly) {
  const fs::path path = folder_ / "report.json";
  AtomicFile file(path);
  file.write("{\n");
  file.write("}\n");
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(contents(path), "{\n}\n");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, AnAbandonedFileLeavesTheOldOneAndNothingElse) {
  const fs::path path = folder_ / "report.json";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("half of the n");
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files(), 1U);
}

// What a kill leaves behind is what stands in the folder while the file is open.
TEST_F(AtomicFileTest, NothingStandsInTheFolderBeforeTheCommit) {
  const int probe = open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0) GTEST_SKIP() << "no nameless files in " << folder_;
  close(probe);
  AtomicFile file(folder_ / "report.json");
  file.write("half of the n");
  EXPECT_EQ(files(), 0U);
}

TEST_F(AtomicFileTest, SymbolicLinksAreFollowed) {
  write_file(folder_ / "target", "old");
  fs::create_symlink("target", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(contents(folder_ / "target"), "new");
}

TEST_F(AtomicFileTest, DevicesAreWrittenNotReplaced) {
  write_file("/dev/null", "anything");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  // A device without space: the failure is reported, not swallowed.
  EXPECT_THROW(write_file("/dev/full", "anything"), Error);
}

TEST_F(AtomicFileTest, LinksToPipesAreWritten) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  write_file("/dev/fd/" + std::to_string(ends[1]), "report");  // a link to "pipe:[...]", as /dev/stdout often is
  std::array<char, 16> read_back{};
  EXPECT_EQ(read(ends[0], read_back.data(), read_back.size()), 6);
  EXPECT_STREQ(read_back.data(), "report");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(AtomicFileTest, ImpossiblePathsAreTheCallersMistake) {
  EXPECT_THROW(AtomicFile(folder_ / "missing" / "report.json"), InvalidArgument);
  EXPECT_THROW(AtomicFile{folder_}, InvalidArgument);
}

}  // namespace
}  // namespace orthant
