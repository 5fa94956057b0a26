#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/run_app.h"
#include "test_paths.h"

namespace orthant::apps {
namespace {

// Times are not tested, what they belong to is: every format in both places, each with its bytes.
TEST(BenchCommand, MeasuresEveryFormatInBothPlaces) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "bench.json";
  const Outcome outcome = run(
      {"bench", "--dim", "64", "--cached", "128", "--memory", "500", "--seconds", "0.001", "--json", path.string()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.out.find("too few to tell"), std::string::npos) << outcome.out;
  std::ifstream file(path);
  const nlohmann::json report = nlohmann::json::parse(file);
  ASSERT_EQ(report["rows"].size(), 14U);
  for (const nlohmann::json& row : report["rows"]) {
    EXPECT_GT(row["ns_per_key"].get<double>(), 0);
    EXPECT_GT(row["ns_per_key_8"].get<double>(), 0);
    if (row["format"] == "bf16") {
      EXPECT_EQ(row["speed_over_bf16"], 1.0);
    }
    if (row["format"] == "turbo-mse:4" && row["keys"] == 128) {
      EXPECT_EQ(row["bytes_per_key"], 34.0);
    }
  }
  std::filesystem::remove(path);
}

TEST(BenchCommand, RefusesWhatItCannotRun) {
  const auto refused = [](std::vector<std::string> arguments, const char* part) {
    arguments.insert(arguments.begin(), "bench");
    const Outcome refusal = run(arguments);
    EXPECT_EQ(refusal.code, kUsage) << part;
    EXPECT_NE(refusal.err.find(part), std::string::npos) << refusal.err;
    EXPECT_TRUE(refusal.out.empty());
  };
  for (const char* seconds : {"0", "-1", "nan", "inf", "1e9"}) refused({"--seconds", seconds}, "--seconds");
  for (const char* dim : {"0", "1", "-1", "32769", "99999999", "nan"}) refused({"--dim", dim}, "--dim");
  refused({"--memory", "0"}, "--memory");
  refused({"--cached", "0"}, "--cached");
  refused({"--memory", "1000000000000"}, "GiB");
  refused({"--threads", "2"}, "--threads");
  refused({data_dir() / "gemma3-270m-512.safetensors", "--dim", "128"}, "--dim");
  const Outcome outcome = run({"bench", "--dim", "8", "--cached", "64", "--memory", "64", "--target", "avx9000"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_NE(outcome.err.find("avx9000"), std::string::npos);
  EXPECT_EQ(run({"bench", "/no/such/dump.safetensors"}).code, kBadInput);
}

}  // namespace
}  // namespace orthant::apps
