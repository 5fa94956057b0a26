// A sample of the published codebooks is proved again, and damaged copies of them are not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/run_app.h"
#include "test_paths.h"

namespace orthant::apps {
namespace {

const std::string kCollection = codebooks_dir();

Outcome check(const std::vector<std::string>& paths) {
  std::vector<std::string> arguments = {"codebook", "--check"};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  return run(arguments);
}

std::string published(const std::string& name) { return kCollection + "/" + name + ".json"; }

class CollectionSample : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  /// A copy of a published file with one piece of text replaced.
  std::string damaged(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = contents(published(name));
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    EXPECT_NE(text, contents(published(name))) << from;
    const std::string path = (folder_ / "damaged.json").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "orthant_collection_sample";
};

TEST_F(CollectionSample, IsProvedAgain) {
  const Outcome outcome =
      check({published("gaussian_b4"), published("sphere_d2_b3"), published("sphere_d3_b8"), published("sphere_d4_b1"),
             published("sphere_d80_b5"), published("sphere_d128_b4"), published("sphere_d4096_b6")});
  EXPECT_EQ(outcome.code, kDone) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("7 of 7 codebooks proved"), std::string::npos) << outcome.out;
}

// Planted fault: the last bit of the outer level, in both of its forms.
TEST_F(CollectionSample, OneBitChangedIsAFault) {
  const std::string text = contents(published("sphere_d128_b1"));
  const std::string hex = "0x1.216e077fe7966p-4";
  ASSERT_NE(text.find(hex), std::string::npos);
  const std::string half = damaged("sphere_d128_b1", hex, "0x1.216e077fe7967p-4");
  EXPECT_EQ(check({half}).code, kBadInput);  // the decimal no longer agrees
  std::string both = contents(half);
  const std::string decimal = "0.07066157273809423";
  for (std::size_t at = both.find(decimal); at != std::string::npos; at = both.find(decimal, at + 1)) {
    both.replace(at, decimal.size(), "0.070661572738094244");
  }
  std::ofstream(half, std::ios::binary) << both;
  const Outcome outcome = check({half});
  EXPECT_EQ(outcome.code, kViolated) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("centroids[0]"), std::string::npos) << outcome.out;
}

TEST_F(CollectionSample, FilesThatAreNoCodebooksAreBadInput) {
  const std::string path = damaged("gaussian_b2", "{", "[");
  EXPECT_EQ(check({path}).code, kBadInput);
  EXPECT_EQ(check({(folder_ / "missing.json").string()}).code, kBadInput);
  EXPECT_EQ(check({damaged("gaussian_b2", "\"gaussian\"", "\"cauchy\"")}).code, kBadInput);
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_EQ(check({(folder_ / "empty").string()}).code, kBadInput);
  // One bad file does not hide the verdict on the others.
  const Outcome outcome = check({path, published("gaussian_b1")});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_NE(outcome.out.find("1 of 2 codebooks proved"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace orthant::apps
