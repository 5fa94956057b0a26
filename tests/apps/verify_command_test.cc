#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/run_app.h"

namespace orthant::apps {
namespace {

namespace fs = std::filesystem;

TEST(VerifyCommand, ListsWithoutTrials) {
  const Outcome all = run({"verify", "--list", "--dim", "16"});
  EXPECT_EQ(all.code, kDone);
  EXPECT_NE(all.out.find("qjl.tail-printed"), std::string::npos);
  EXPECT_NE(all.out.find("arXiv 2504.19874"), std::string::npos);
  const Outcome one = run({"verify", "--list", "entropy"});
  EXPECT_EQ(one.out.find("qjl"), std::string::npos);
}

// A true claim, a false one, one that 1000 trials cannot decide.
TEST(VerifyCommand, ExitCodesFollowTheVerdicts) {
  const Outcome holds = run({"verify", "mse.theorem1.b2", "--dim", "16", "--bits", "2"});
  EXPECT_EQ(holds.code, kDone);
  EXPECT_EQ(holds.err, "");  // no progress unless the stream is a terminal
  EXPECT_EQ(run({"verify", "lower-bound.d2.b1", "--bits", "1"}).code, kViolated);
  EXPECT_EQ(run({"verify", "mse.distortion.b2", "--dim", "16", "--bits", "2", "--trials", "512"}).code, kUndecided);
}

TEST(VerifyCommand, WritesReports) {
  const fs::path folder = fs::path(testing::TempDir()) / "verify_command";
  fs::create_directories(folder);
  const Outcome outcome = run({"verify", "entropy", "--json", (folder / "v.json").string(), "--html",
                               (folder / "v.html").string(), "--seed", "9"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(contents(folder / "v.json"));
  EXPECT_EQ(report["command"], "orthant verify entropy --seed 9");
  EXPECT_EQ(report["rows"].size(), 3U);
  EXPECT_EQ(report["rows"][0]["verdict"], "holds");
  EXPECT_NE(contents(folder / "v.html").find("class=\"holds\""), std::string::npos);
  fs::remove_all(folder);
}

TEST(VerifyCommand, RefusesBeforeAnythingRuns) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"verify", "no-such-claim"},
                                                    {"verify", "--dim", "4"},
                                                    {"verify", "--bits", "9"},
                                                    {"verify", "--until", "bored"},
                                                    {"verify", "--trials", "0"},
                                                    {"verify", "--error", "2"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kUsage) << arguments.back();
    EXPECT_FALSE(outcome.err.empty() && outcome.out.empty());
  }
}

TEST(LeagueCommand, ASmallLeague) {
  const fs::path path = fs::path(testing::TempDir()) / "league.json";
  const std::vector<std::string> arguments = {"verify",    "league",  "--dim",  "16",         "--bits",
                                              "1-2",       "--seeds", "2",      "--keys",     "50",
                                              "--queries", "8",       "--json", path.string()};
  EXPECT_EQ(run(arguments).code, kDone);
  const nlohmann::json first = nlohmann::json::parse(contents(path));
  ASSERT_GT(first["rows"].size(), 4U);
  for (const auto& row : first["rows"]) {
    EXPECT_GT(row["distortion"].get<double>(), row["converse"].get<double>()) << row["method"];
    EXPECT_GT(row["true_bits"].get<double>(), row["nominal_bits"].get<double>() - 1e-9) << row["method"];
  }
  std::vector<std::string> threaded = arguments;
  threaded.insert(threaded.end(), {"--threads", "3"});
  EXPECT_EQ(run(threaded).code, kDone);
  EXPECT_EQ(nlohmann::json::parse(contents(path))["rows"], first["rows"]);
  fs::remove(path);
}

}  // namespace
}  // namespace orthant::apps
