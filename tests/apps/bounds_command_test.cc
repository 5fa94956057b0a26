#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/run_app.h"

namespace orthant::apps {
namespace {

TEST(BoundsCommand, PrintsAndReports) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "bounds.json";
  const Outcome outcome = run({"bounds", "--dim", "2,128", "--bits", "1-4", "--json", path.string()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.out.find("proved"), std::string::npos);
  std::ifstream file(path);
  const nlohmann::json report = nlohmann::json::parse(file);
  ASSERT_EQ(report["rows"].size(), 8U);
  EXPECT_EQ(report["command"], "orthant bounds --dim 2,128 --bits 1-4");
  EXPECT_EQ(report["rows"][0]["printed_lower_bound_status"], "false");
  // d = 128, b = 4: 0.009314787954 and the exact converse, from an independent computation.
  const nlohmann::json& row = report["rows"][7];
  EXPECT_NEAR(row["optimal_distortion"].get<double>(), 0.009314787954, 1e-12);
  EXPECT_NEAR(row["rate_distortion"].get<double>(), 0.0037598098659516614, 1e-13);
  EXPECT_NEAR(row["cap_converse"].get<double>(), 0.003880272836225831, 1e-13);
  std::filesystem::remove(path);
}

TEST(BoundsCommand, ThreadsChangeNothing) {
  const auto printed = [](const char* threads) {
    return run({"bounds", "--dim", "2,64,128", "--bits", "1-8", "--threads", threads}).out;
  };
  EXPECT_EQ(printed("1"), printed("3"));
}

TEST(BoundsCommand, RefusesBadLists) {
  const Outcome small = run({"bounds", "--dim", "64,1"});
  EXPECT_EQ(small.code, kUsage);
  EXPECT_NE(small.err.find("--dim: number, got 1, expected 2 to 1000000"), std::string::npos) << small.err;
  EXPECT_EQ(run({"bounds", "--bits", "0-4"}).code, kUsage);
  const Outcome outcome = run({"bounds", "--bits", "nine"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_NE(outcome.err.find("--bits"), std::string::npos);
  EXPECT_TRUE(outcome.out.empty());
}

}  // namespace
}  // namespace orthant::apps
