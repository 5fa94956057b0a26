#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apps/run_app.h"
#include "number_file.h"
#include "orthant/core/error.h"

namespace orthant::apps {
namespace {

class AuditCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string written(const std::string& name, const std::string& contents) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "orthant_audit_command";
};

TEST_F(AuditCommand, EveryExportIsReadAndFoundCorrect) {
  for (const std::string format : {"json", "csv", "npy"}) {
    const std::string path = (folder_ / ("table." + format)).string();
    ASSERT_EQ(run({"codebook", "--dim", "128", "--bits", "4", "--format", format, "--out", path}).code, kDone);
    const Outcome outcome = run({"audit", "codebook", path, "--dim", "128"});
    EXPECT_EQ(outcome.code, kDone) << format << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("correct"), std::string::npos);
  }
}

TEST_F(AuditCommand, ValuesAndListsAreTheSame) {
  const std::string list = written("list.txt", "# levels\n-1.510418 -0.45278\n0.45278, 1.510418\n");
  const Outcome from_list = run({"audit", "codebook", list, "--dim", "64"});
  const Outcome from_values = run({"audit", "codebook", "--values=-1.510418,-0.45278,0.45278,1.510418", "--dim", "64"});
  EXPECT_EQ(from_list.code, kViolated) << from_list.err;
  EXPECT_EQ(from_list.out.substr(from_list.out.find('\n')), from_values.out.substr(from_values.out.find('\n')));
  EXPECT_NE(from_list.out.find("unit variance"), std::string::npos) << from_list.out;
}

TEST_F(AuditCommand, WrongUsageExitsWithTwo) {
  EXPECT_EQ(run({"audit"}).code, kUsage);
  EXPECT_EQ(run({"audit", "codebook"}).code, kUsage);
  EXPECT_EQ(run({"audit", "codebook", "x.csv", "--values=1,2"}).code, kUsage);
  EXPECT_EQ(run({"audit", "codebook", "--values=-1,1", "--dim", "-1"}).code, kUsage);
  EXPECT_EQ(run({"audit", "codebook", "--values=-1,x"}).code, kUsage);
  EXPECT_EQ(run({"audit", "codebook", "x.csv", "--thresholds=0"}).code, kUsage);
  EXPECT_EQ(run({"audit", "rotation"}).code, kUsage);
  EXPECT_EQ(run({"audit", "rotation", written("r", "1"), "--tolerance", "0"}).code, kUsage);
}

/// An array of doubles that holds none.
std::string empty_npy(const std::string& shape) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
}

TEST_F(AuditCommand, ArraysWithoutNumbersExitWithThree) {
  for (const std::string shape : {"(0,)", "(0, 0)", "(0, 64)", "(64, 0)", "(0, 4294967296)"}) {
    const std::string path = written("none.npy", empty_npy(shape));
    for (const std::string what : {"codebook", "rotation"}) {
      const Outcome outcome = run({"audit", what, path});
      EXPECT_EQ(outcome.code, kBadInput) << what << shape << outcome.err;
      EXPECT_NE(outcome.err.find("none.npy"), std::string::npos) << outcome.err;
    }
  }
}

TEST_F(AuditCommand, BadFilesExitWithThreeAndAreNamed) {
  const std::vector<std::string> files = {(folder_ / "missing.csv").string(),
                                          written("empty.csv", ""),
                                          written("words.csv", "a b\nc d\n"),
                                          written("half.json", "{\"centroids\": [1, 2"),
                                          written("none.json", "{}"),
                                          written("list.json", "[]"),
                                          written("text.json", "{\"centroids\": [\"1\"]}"),
                                          written("dim.json", "{\"centroids\": [-1, 1], \"dim\": -3}"),
                                          written("bad.npy", "\x93NUMPY")};
  for (const std::string& file : files) {
    const Outcome outcome = run({"audit", "codebook", file});
    EXPECT_EQ(outcome.code, kBadInput) << file;
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
    EXPECT_TRUE(outcome.out.empty());
  }
  EXPECT_EQ(run({"audit", "rotation", written("ragged.csv", "1 0\n0\n")}).code, kBadInput);
}

TEST_F(AuditCommand, NumbersThatAreNoneOrHugeAreFaultsNotCrashes) {
  const Outcome nan = run(
      {"audit", "codebook", written("nan.csv", "nan\n1\n"), "--dim", "8", "--json", (folder_ / "nan.json").string()});
  EXPECT_EQ(nan.code, kViolated) << nan.err;
  EXPECT_NE(nan.out.find("not finite"), std::string::npos);
  const Outcome huge =
      run({"audit", "codebook", "--values=-1e308,1e308", "--dim", "8", "--json", (folder_ / "huge.json").string()});
  EXPECT_EQ(huge.code, kViolated) << huge.err;
  const Outcome matrix = run({"audit", "rotation", written("huge.csv", "1e200 1e200\n1e200 1e200\n"), "--json",
                              (folder_ / "r.json").string()});
  EXPECT_EQ(matrix.code, kViolated) << matrix.err;
}

TEST_F(AuditCommand, JsonHasOneRowAFault) {
  const std::string json = (folder_ / "report.json").string();
  EXPECT_EQ(
      run({"audit", "codebook", "--values=-1.5104176,-0.4527800,0.4527800,1.5104176", "--dim", "64", "--json", json})
          .code,
      kViolated);
  std::ifstream stream(json);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find("\"fault\": \"scale\""), std::string::npos) << text;
}

TEST_F(AuditCommand, RotationsAreJudged) {
  EXPECT_EQ(run({"audit", "rotation", written("identity.csv", "1 0\n0 1\n")}).code, kDone);
  const Outcome outcome = run({"audit", "rotation", written("shear.csv", "1 1\n0 1\n")});
  EXPECT_EQ(outcome.code, kViolated);
  EXPECT_NE(outcome.out.find("not orthogonal"), std::string::npos);
}

TEST(NumberFile, ReadsWhatPeopleWrite) {
  const NumberFile file = parse_numbers("level;centroid\r\n0; -0x1p-1\r\n\r\n1;\t+5e-1 # half\n", "memory");
  EXPECT_EQ(file.header, (std::vector<std::string>{"level", "centroid"}));
  EXPECT_EQ(file.rows, (std::vector<std::vector<double>>{{0, -0.5}, {1, 0.5}}));
  EXPECT_THROW(parse_numbers("1\ntwo\n", "memory"), InvalidInput);
  EXPECT_THROW(parse_numbers("1 2x\n", "memory"), InvalidInput);
  EXPECT_THROW(parse_numbers("# nothing\n", "memory"), InvalidInput);
  EXPECT_THROW(parse_numbers("a b\nc d\n", "memory"), InvalidInput);
}

}  // namespace
}  // namespace orthant::apps
