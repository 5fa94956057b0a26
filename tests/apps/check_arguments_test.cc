#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/run_app.h"
#include "test_paths.h"

namespace orthant::apps {
namespace {

namespace fs = std::filesystem;

class CheckArguments : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  /// Expects wrong usage, told in words that contain `part`, with nothing printed as a result.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kUsage) << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(part));
    EXPECT_EQ(outcome.out, "");
  }

  fs::path folder_;
};

TEST_F(CheckArguments, AnInputIsNeverAnOutput) {
  const fs::path shipped = data_dir() / "gemma3-270m-512.safetensors";
  const std::string dump = in_folder("dump.safetensors");
  fs::copy_file(shipped, dump);
  fs::create_symlink(dump, folder_ / "link");
  expect_refused({"calibrate", dump, "--out", dump}, "a file that the command reads");
  expect_refused({"calibrate", dump, "--out", in_folder("link")}, "a file that the command reads");
  expect_refused({"kv", dump, "--json", in_folder("./dump.safetensors")}, "a file that the command reads");
  EXPECT_EQ(contents(dump), contents(shipped));
}

TEST_F(CheckArguments, TwoOutputsAreTwoFiles) {
  const std::string dump = data_dir() / "gemma3-270m-512.safetensors";
  expect_refused({"kv", dump, "--json", in_folder("x"), "--csv", in_folder("./x")}, "a file of its own");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CheckArguments, OutputsAreTriedBeforeTheWork) {
  expect_refused({"bounds", "--dim", "64", "--bits", "2", "--json", in_folder("none/x")}, "no folder");
  expect_refused({"bounds", "--dim", "64", "--bits", "2", "--json", folder_.string()}, "a directory");
}

TEST_F(CheckArguments, WholeNumbersDoNotWrap) {
  expect_refused({"bounds", "--dim", "64", "--bits", "2", "--seed", "-1"}, "--seed");
  expect_refused({"bounds", "--dim", "64", "--bits", "2", "--seed", "99999999999999999999999"}, "--seed");
}

TEST_F(CheckArguments, NoValueIsEmpty) {
  const std::string dump = data_dir() / "gemma3-270m-512.safetensors";
  expect_refused({"kv", dump, "--layers", ""}, "--layers: value, got nothing");
  expect_refused({"kv", dump, "--method", ""}, "--method: value, got nothing");
  expect_refused({"kv", ""}, "dump: value, got nothing");
  expect_refused({"codebook", "--collection", ""}, "--collection: value, got nothing");
  expect_refused({"bench", "--target", ""}, "--target: value, got nothing");
}

TEST_F(CheckArguments, CountsThatNameTheirValueDoNotWrapEither) {
  const std::string dump = data_dir() / "gemma3-270m-512.safetensors";
  for (const char* option : {"--skip", "--tokens", "--context"}) {
    expect_refused({"calibrate", dump, "--out", in_folder("x"), option, "-1"}, option);
    expect_refused({"calibrate", dump, "--out", in_folder("x"), option, "99999999999999999999999"}, option);
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CheckArguments, UnknownCommandsAreNamed) {
  expect_refused({"foo"}, "got foo");
  expect_refused({"foo"}, "codebook");
}

TEST_F(CheckArguments, UnknownOptionsAreNamedBeforeAnythingIsMissed) {
  expect_refused({"kv", "--hlep"}, "orthant kv: option, got --hlep, expected --help, --method, ");
  expect_refused({"--bar"}, "orthant: option, got --bar, expected --help, --version");
  expect_refused({"audit", "codebook", "--colour=red"}, "orthant codebook: option, got --colour, expected --help");
}

}  // namespace
}  // namespace orthant::apps
