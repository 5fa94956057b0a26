#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/run_app.h"
#include "orthant/kv/npy.h"
#include "test_paths.h"

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

// A budget below the first look of an asymptotic interval: the report says why the interval is the whole line.
TEST(VerifyCommand, SaysWhyThereIsNoInterval) {
  const std::vector<std::string> claim = {"verify", "mse.distortion.b2", "--dim", "16", "--bits", "2", "--trials"};
  const auto said = [&](const char* trials) {
    std::vector<std::string> arguments = claim;
    arguments.emplace_back(trials);
    return run(arguments).out.find("an asymptotic one begins at 1000 trials") != std::string::npos;
  };
  EXPECT_TRUE(said("512"));
  EXPECT_FALSE(said("2048"));
}

TEST(VerifyCommand, RefusesNumbersInOneForm) {
  const auto message = [](std::vector<std::string> arguments) { return run(arguments).err; };
  EXPECT_NE(message({"verify", "--error", "2"}).find("--error: number, got 2, expected 1e-12 to 0.5\n"),
            std::string::npos);
  EXPECT_NE(message({"verify", "--trials", "1e3"}).find("--trials: number, got 1e3, expected 1 to 1099511627776\n"),
            std::string::npos);
  EXPECT_NE(message({"bounds", "--threads", "-1"}).find("--threads: number, got -1, expected 0 to 4096\n"),
            std::string::npos);
}

// On a terminal: where the run stands and how long it may take, in both modes; wiped at the end.
TEST(VerifyCommand, ShowsWhatIsLeft) {
  const auto shown = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"verify", "mse.distortion.b2", "--dim", "16", "--bits", "2"});
    std::ostringstream out;
    std::ostringstream err;
    run_command(arguments, {out, err, true});
    return err.str();
  };
  const std::string until = shown({});
  EXPECT_NE(until.find("1/1 mse.b2: 1024 trials, "), std::string::npos) << until;
  EXPECT_NE(until.find(" of 1 decided, about "), std::string::npos) << until;
  EXPECT_NE(until.find(" s left, at most "), std::string::npos) << until;
  EXPECT_TRUE(until.ends_with("\r\x1b[K"));
  const std::string budget = shown({"--trials", "2048"});
  EXPECT_NE(budget.find(" s left"), std::string::npos) << budget;
  EXPECT_EQ(budget.find("at most"), std::string::npos) << budget;
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
                                                    {"verify", "entropy", "--rotation", "bogus"},
                                                    {"verify", "--trials", "0"},
                                                    {"verify", "--error", "2"},
                                                    {"verify", "mse", "league"},
                                                    {"verify", "mse", "--keys", "100"},
                                                    {"verify", "mse", "--queries", "100"},
                                                    {"verify", "mse", "--seeds", "3"},
                                                    {"verify", "mse", "--svg", "plot"},
                                                    {"verify", "figures", "--html", "page.html"},
                                                    {"verify", "figures", "--trials", "100"},
                                                    {"verify", "figures", "league"},
                                                    {"verify", "league", "--keys", "9"},
                                                    {"verify", "league", "--list"},
                                                    {"verify", "league", "--trials", "100"},
                                                    {"verify", "league", "--until", "decided"},
                                                    {"verify", "league", "--error", "0.1"},
                                                    {"verify", "league", "--rotation", "kac:4"},
                                                    {"verify", "league", "--resume", "run.json"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kUsage) << arguments.back();
    EXPECT_FALSE(outcome.err.empty() && outcome.out.empty());
  }
}

TEST(VerifyCommand, ResumeNamesTheFileItRefuses) {
  const fs::path path = fs::path(testing::TempDir()) / "verify_resume.json";
  std::ofstream(path).close();
  const std::vector<std::string> arguments = {"verify", "entropy", "--resume", path.string()};
  const Outcome empty = run(arguments);
  EXPECT_EQ(empty.code, kBadInput);
  EXPECT_NE(empty.err.find(path.string() + ": content, got an empty file"), std::string::npos) << empty.err;
  std::ofstream(path) << "{";
  const Outcome broken = run(arguments);
  EXPECT_EQ(broken.code, kBadInput);
  EXPECT_NE(broken.err.find(path.string() + ": text, got"), std::string::npos) << broken.err;
  fs::remove(path);
}

// The rows of a tensor take the place of random vectors; its width is d.
TEST(VerifyCommand, TriesTheRowsOfATensor) {
  const fs::path folder = fs::path(testing::TempDir()) / "verify_input";
  fs::create_directories(folder);
  const std::string path = (folder / "rows.npy").string();
  std::vector<float> rows(24 * 16, 0.0F);
  for (std::size_t i = 1; i < 24; ++i)
    rows[16 * i + i % 16] = static_cast<float>(i);  // one-hot rows; the first is zero
  const std::size_t shape[] = {2, 12, 16};
  kv::write_npy<float>(path, shape, rows);
  const std::string json = (folder / "v.json").string();
  const Outcome outcome = run({"verify", "mse.theorem1", "pairs.bias", "--bits", "2", "--input", path, "--json", json});
  EXPECT_EQ(outcome.code, kDone) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("1 rows of zeros left out"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("each of 8 inputs"), std::string::npos);
  const nlohmann::json report = nlohmann::json::parse(contents(json));
  EXPECT_EQ(report["settings"]["dim"], 16);
  EXPECT_EQ(report["inputs"].size(), 1U);
  EXPECT_EQ(run({"verify", "mse", "--dim", "32", "--input", path}).code, kUsage);
  const std::vector<std::string> league = {"verify",  "league", "--bits",    "2", "--input", path,
                                           "--seeds", "2",      "--queries", "4", "--keys"};
  const auto with = [](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  EXPECT_EQ(run(with(league, {"20", "--json", json})).code, kDone);
  EXPECT_EQ(nlohmann::json::parse(contents(json))["settings"]["dim"], 16);
  EXPECT_EQ(run(with(league, {"24"})).code, kUsage);  // one row of zeros is left out
  EXPECT_EQ(run(with(league, {"20", "--dim", "16"})).code, kUsage);
  EXPECT_EQ(run({"verify", "mse", "--input", (folder / "none.npy").string()}).code, kBadInput);
  EXPECT_EQ(run({"verify", "mse", "--input", folder.string()}).code, kBadInput);
  const std::string dump = (data_dir() / "gemma3-270m-512.safetensors").string();
  EXPECT_EQ(run({"verify", "mse", "--input", dump + ":no-such-tensor"}).code, kBadInput);
  rows[5] = std::numeric_limits<float>::quiet_NaN();
  kv::write_npy<float>(path, shape, rows);
  EXPECT_EQ(run({"verify", "mse", "--input", path}).code, kBadInput);
  fs::remove_all(folder);
}

// prod is unbiased at every cosine; mse shrinks products by its 1 - D; every error is counted in a bin.
TEST(FiguresCommand, HoldsWhatThePublishedFiguresShow) {
  const fs::path path = fs::path(testing::TempDir()) / "figures.json";
  const std::vector<std::string> arguments = {"verify",  "figures", "--dim",  "64", "--bits", "2",
                                              "--seeds", "40",      "--keys", "50", "--json", path.string()};
  EXPECT_EQ(run(arguments).code, kDone);
  const nlohmann::json report = nlohmann::json::parse(contents(path));
  ASSERT_EQ(report["rows"].size(), 2U);
  EXPECT_NEAR(report["rows"][0]["distortion"].get<double>(), 0.1145, 0.002);  // D = 0.11453, sd/D = 0.18 of 2000
  EXPECT_GT(report["rows"][1]["product_error"].get<double>(), report["rows"][0]["product_error"].get<double>());
  for (const auto& e : report["errors"]) {
    const bool prod = e["method"] == "turbo-prod";
    const double bias = prod ? 0 : -0.1145 * e["cosine"].get<double>();
    // Five standard errors of 2000 keys; the 40 sketches add a little.
    EXPECT_NEAR(e["mean"].get<double>(), bias, 6 * std::sqrt(e["variance"].get<double>() / 2000)) << e;
  }
  std::int64_t count = 0;
  for (const auto& bin : report["histograms"]) count += bin["count"].get<std::int64_t>();
  EXPECT_EQ(count, 2 * 4 * 2000);
  std::vector<std::string> threaded = arguments;
  threaded.insert(threaded.end(), {"--threads", "3"});
  EXPECT_EQ(run(threaded).code, kDone);
  EXPECT_EQ(nlohmann::json::parse(contents(path)), report);
  fs::remove(path);
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
