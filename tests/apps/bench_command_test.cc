#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
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

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_command(arguments, {out, err});
  return {code, out.str(), err.str()};
}

// Times are not tested, what they belong to is: every format in both places, each with its bytes.
TEST(BenchCommand, MeasuresEveryFormatInBothPlaces) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "bench.json";
  const Outcome outcome =
      run({"bench", "--dim", "64", "--cached", "128", "--memory", "500", "--seconds", "0", "--json", path.string()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
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
  EXPECT_EQ(run({"bench", "--dim", "0"}).code, kUsage);
  const Outcome outcome = run({"bench", "--dim", "8", "--cached", "64", "--memory", "64", "--target", "avx9000"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_NE(outcome.err.find("avx9000"), std::string::npos);
  EXPECT_EQ(run({"bench", "/no/such/dump.safetensors"}).code, kBadInput);
}

}  // namespace
}  // namespace orthant::apps
