#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "command.h"

namespace orthant::apps {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "codebook");
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_command(arguments, {out, err});
  return {code, out.str(), err.str()};
}

class CodebookCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string contents(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "orthant_codebook_command";
};

TEST_F(CodebookCommand, PrintsTheTable) {
  const Outcome outcome = run({"--dim", "128", "--bits", "4"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.out.find("0.23766382676516384"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("0.0093147879537961"), std::string::npos) << outcome.out;
  EXPECT_TRUE(outcome.err.empty());
}

TEST_F(CodebookCommand, WrongUsageExitsWithTwoAndWritesNothing) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"--dim", "0"},
                                                       {"--dim", "-4"},
                                                       {"--dim", "1e3"},
                                                       {"--dim", "99999999999999999999"},
                                                       {"--dim", "8", "--bits", "11"},
                                                       {"--dim", "8", "--bits", "-1"},
                                                       {"--dim", "8", "--bits", "nan"},
                                                       {"--dim", "8", "--density", "cauchy"},
                                                       {"--dim", "8", "--density", "gaussian"},
                                                       {"--dim", "8", "--format", "xml"},
                                                       {"--dim", "8", "--format", "npy"},
                                                       {"--dim", "8", "--out", path("no/such/folder/file")}};
  for (const auto& arguments : wrong) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kUsage) << testing::PrintToString(arguments);
    EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(arguments);
    EXPECT_FALSE(outcome.err.empty()) << testing::PrintToString(arguments);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CodebookCommand, OutWritesWhatWouldBePrinted) {
  for (const std::string format : {"table", "json", "csv", "c", "cuda", "rust"}) {
    const Outcome printed = run({"--dim", "64", "--bits", "3", "--format", format});
    const Outcome written = run({"--dim", "64", "--bits", "3", "--format", format, "--out", path(format)});
    EXPECT_EQ(printed.code, kDone);
    EXPECT_EQ(written.code, kDone);
    EXPECT_TRUE(written.out.empty());
    EXPECT_EQ(contents(path(format)), printed.out) << format;
  }
  EXPECT_EQ(run({"--dim", "64", "--bits", "3", "--format", "npy", "--out", path("npy")}).code, kDone);
  EXPECT_EQ(contents(path("npy")).size(), 128U + 8 * 8);
  EXPECT_EQ(contents(path("npy")).substr(1, 5), "NUMPY");
}

TEST_F(CodebookCommand, JsonComesBesideTheTable) {
  const Outcome outcome = run({"--density", "gaussian", "--bits", "2", "--json", path("book.json")});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.out.find("density gaussian"), std::string::npos);
  EXPECT_NE(contents(path("book.json")).find("orthant-codebook-1"), std::string::npos);
}

}  // namespace
}  // namespace orthant::apps
