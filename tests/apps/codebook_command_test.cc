#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/run_app.h"

namespace orthant::apps {
namespace {

Outcome codebook(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "codebook");
  return run(arguments);
}

class CodebookCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "orthant_codebook_command";
};

TEST_F(CodebookCommand, PrintsTheTable) {
  const Outcome outcome = codebook({"--dim", "128", "--bits", "4"});
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
                                                       {"--dim", "8", "--grid", "int8", "--json", path("x")},
                                                       {"--dim", "8", "--out", path("no/such/folder/file")}};
  for (const auto& arguments : wrong) {
    const Outcome outcome = codebook(arguments);
    EXPECT_EQ(outcome.code, kUsage) << testing::PrintToString(arguments);
    EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(arguments);
    EXPECT_FALSE(outcome.err.empty()) << testing::PrintToString(arguments);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CodebookCommand, ModesRefuseWhatTheyWouldIgnore) {
  for (const std::string mode : {"--check", "--collection"}) {
    for (const std::vector<std::string>& ignored : {std::vector<std::string>{"--dim", "7"},
                                                    {"--bits", "3"},
                                                    {"--density", "gaussian"},
                                                    {"--format", "csv"},
                                                    {"--out", path("x")},
                                                    {"--grid", "int8"},
                                                    {"--json", path("x")}}) {
      std::vector<std::string> arguments = {mode, path("folder")};
      arguments.insert(arguments.end(), ignored.begin(), ignored.end());
      const Outcome outcome = codebook(arguments);
      EXPECT_EQ(outcome.code, kUsage) << mode << ignored[0];
      EXPECT_NE(outcome.err.find(mode + ": option, got " + ignored[0]), std::string::npos) << outcome.err;
    }
  }
  EXPECT_EQ(codebook({"--check", path("x"), "--collection", path("y")}).code, kUsage);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CodebookCommand, DensitiesSayWhatIsWrongWithThem) {
  const auto refusal = [](const std::string& law) {
    const Outcome outcome = codebook({"--density", law});
    EXPECT_EQ(outcome.code, kUsage) << law;
    return outcome.err;
  };
  EXPECT_NE(refusal("gaussian:0,-1").find("--density gaussian:0,-1: TruncatedGaussian: sigma"), std::string::npos);
  EXPECT_NE(refusal("gaussian:0,1,2").find("numbers, got 3"), std::string::npos);
  EXPECT_NE(refusal("gaussian:a,b").find("numbers, got something else"), std::string::npos);
  EXPECT_NE(refusal("samples:").find("names no file"), std::string::npos);
}

TEST_F(CodebookCommand, FilesThatCannotBeReadSayWhy) {
  const Outcome folder = codebook({"--density", "samples:" + folder_.string()});
  EXPECT_EQ(folder.code, kBadInput);
  EXPECT_NE(folder.err.find("got a directory, expected a file"), std::string::npos) << folder.err;
  const Outcome missing = codebook({"--density", "samples:" + path("missing")});
  EXPECT_EQ(missing.code, kBadInput);
  EXPECT_NE(missing.err.find("No such file"), std::string::npos) << missing.err;
  for (const char* text : {"1\nnan\n", "1\ninf\n", "1 -1\n2 1\n", "1 0\n2 0\n"}) {
    std::ofstream(path("points")) << text;
    const Outcome outcome = codebook({"--density", "samples:" + path("points"), "--bits", "1"});
    EXPECT_EQ(outcome.code, kBadInput) << text;
    EXPECT_NE(outcome.err.find(path("points") + ": "), std::string::npos) << outcome.err;
  }
}

// The name of a file of samples is part of the law's name, and the law's name stands in a comment.
TEST_F(CodebookCommand, ExportsKeepAStrangeNameInsideTheirComment) {
  const std::string name = path("x.txt\nint injected;");
  std::ofstream(name) << "1\n2\n";
  const Outcome outcome = codebook({"--density", "samples:" + name, "--bits", "1", "--format", "c"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out.find("\nint injected;"), std::string::npos) << outcome.out;
}

TEST_F(CodebookCommand, OutWritesWhatWouldBePrinted) {
  for (const std::string format : {"table", "json", "csv", "c", "cuda", "rust"}) {
    const Outcome printed = codebook({"--dim", "64", "--bits", "3", "--format", format});
    const Outcome written = codebook({"--dim", "64", "--bits", "3", "--format", format, "--out", path(format)});
    EXPECT_EQ(printed.code, kDone);
    EXPECT_EQ(written.code, kDone);
    EXPECT_TRUE(written.out.empty());
    EXPECT_EQ(contents(path(format)), printed.out) << format;
  }
  EXPECT_EQ(codebook({"--dim", "64", "--bits", "3", "--format", "npy", "--out", path("npy")}).code, kDone);
  EXPECT_EQ(contents(path("npy")).size(), 128U + 8 * 8);
  EXPECT_EQ(contents(path("npy")).substr(1, 5), "NUMPY");
}

TEST_F(CodebookCommand, JsonComesBesideTheTable) {
  const Outcome outcome = codebook({"--density", "gaussian", "--bits", "2", "--json", path("book.json")});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.out.find("density gaussian"), std::string::npos);
  EXPECT_NE(contents(path("book.json")).find("orthant-codebook-1"), std::string::npos);
}

}  // namespace
}  // namespace orthant::apps
