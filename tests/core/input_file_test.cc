#include "orthant/core/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "core/json_errors.h"
#include "core/mapped_file.h"
#include "orthant/core/error.h"

namespace orthant {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class InputFileTest : public testing::Test {
 protected:
  InputFileTest()
      : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~InputFileTest() override { fs::remove_all(folder_); }

  template <class Call>
  static std::string refusal(Call&& call) {
    try {
      call();
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  }
  const fs::path folder_;
};

TEST_F(InputFileTest, ReadsAWholeFile) {
  const fs::path path = folder_ / "a name with spaces";
  const std::string text(200000, 'x');
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(read_file(path, text.size()), text);
  EXPECT_THAT(refusal([&] { read_file(path, text.size() - 1); }), HasSubstr("200000 bytes, expected at most 199999"));
  std::ofstream(path, std::ios::binary | std::ios::trunc);
  EXPECT_EQ(read_file(path, 10), "");
}

TEST_F(InputFileTest, SaysWhatStandsInTheWay) {
  EXPECT_EQ(refusal([&] { read_file(folder_, 10); }),
            "cannot read " + folder_.string() + ": got a directory, expected a file");
  EXPECT_THAT(refusal([&] { MappedFile{folder_}; }), HasSubstr("got a directory, expected a regular file"));
  EXPECT_THAT(refusal([&] { read_file(folder_ / "missing", 10); }), HasSubstr("missing: No such file"));
  std::ofstream(folder_ / "file");
  EXPECT_THAT(refusal([&] { read_file(folder_ / "file" / "below", 10); }), HasSubstr("Not a directory"));
}

// A pipe is read by what needs bytes, and refused at once, without waiting for a writer, by what needs a mapping.
TEST_F(InputFileTest, PipesAreReadButNotMapped) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { MappedFile{path}; }), HasSubstr("got a pipe, expected a regular file"));
  std::thread writer([&] { std::ofstream(path) << "through the pipe"; });
  EXPECT_EQ(read_file(path, 100), "through the pipe");
  writer.join();
}

TEST_F(InputFileTest, EndlessDevicesStopAtTheLimit) {
  EXPECT_EQ(read_file("/dev/null", 10), "");
  EXPECT_THAT(refusal([] { read_file("/dev/zero", 100000); }), HasSubstr("expected at most 100000"));
}

TEST(JsonErrors, PlacesAndReasons) {
  EXPECT_EQ(place_in_text("abc", 0), "line 1, column 1");
  EXPECT_EQ(place_in_text("a\nbc\n", 3), "line 2, column 2");
  EXPECT_EQ(place_in_text("a\nbc\n", 5), "its end");
  EXPECT_EQ(json_reason("[json.exception.out_of_range.403] key 'size' not found"), "key 'size' not found");
  EXPECT_EQ(json_reason("anything else"), "anything else");
}

}  // namespace
}  // namespace orthant
