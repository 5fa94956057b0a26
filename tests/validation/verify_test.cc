#include "orthant/validation/verify.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "orthant/core/error.h"

namespace orthant::validation {
namespace {

namespace fs = std::filesystem;

/// Uniform numbers (mean 1/2) under two kinds of intervals, and events of probability 0.1; every target off by `shift`.
Study uniform_study(const std::string& name, double shift, double margin) {
  Study study;
  study.experiment = {name, 3, [](std::uint64_t, RngStream& rng, std::span<double> out) {
                        out[0] = out[1] = rng.uniform();
                        out[2] = rng.uniform() < 0.1 ? 1 : 0;
                      }};
  study.channels.resize(3);
  study.channels[0].kind = Channel::Kind::kBounded;
  study.channels[0].upper = 1;
  study.channels[0].centre = 0.5;
  study.channels[0].plan = {1000, 0.29};
  study.channels[1].plan.trials = 1000;
  study.channels[2].kind = Channel::Kind::kFrequency;
  study.channels[2].centre = 0.1;
  for (std::size_t c = 0; c < 3; ++c) {
    Claim claim;
    claim.id = name + ".c" + std::to_string(c);
    claim.target = (c < 2 ? 0.5 : 0.1) + shift;
    claim.margin = margin;
    claim.channels = {c};
    study.claims.push_back(claim);
  }
  return study;
}

std::string fingerprint(const std::vector<ClaimResult>& results) {
  std::string text;
  for (const ClaimResult& r : results) {
    char line[256];
    std::snprintf(line, sizeof line, "%s %s %a %a %a %llu\n", r.claim.id.c_str(), to_string(r.verdict).data(),
                  r.measured, r.interval.lower, r.interval.upper, static_cast<unsigned long long>(r.trials));
    text += line;
  }
  return text;
}

TEST(Verify, DecidesTrueAndFalseClaims) {
  const auto workers = montecarlo::thread_workers(2);
  for (const ClaimResult& r : verify({uniform_study("true", 0, 0.02)}, {}, *workers)) {
    EXPECT_EQ(r.verdict, Verdict::kHolds) << r.claim.id;
  }
  for (const ClaimResult& r : verify({uniform_study("false", 0.06, 0.02)}, {}, *workers)) {
    EXPECT_EQ(r.verdict, Verdict::kViolated) << r.claim.id;
  }
}

// 1000 runs of a true statement that no interval can confirm (margin 0), each with an error probability of 0.05 for all
// its rows: more than 0.05 + 4 standard errors, 77, would have probability below 1e-4.
TEST(Verify, FalseAlarmsStayWithinTheStatedProbability) {
  const auto workers = montecarlo::thread_workers(2);
  const std::vector<Study> studies = {uniform_study("null", 0, 0)};
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    VerifyOptions options;
    options.seed = seed;
    options.family_error = 0.05;
    options.trials = 2048;
    bool alarm = false;
    for (const ClaimResult& r : verify(studies, options, *workers)) alarm = alarm || r.verdict == Verdict::kViolated;
    alarms += alarm ? 1 : 0;
  }
  EXPECT_LE(alarms, 77);
}

TEST(Verify, SameBytesForAnyNumberOfThreads) {
  VerifyOptions options;
  options.trials = 3000;
  const std::vector<Study> studies = {uniform_study("threads", 0, 0.01)};
  const auto one = montecarlo::thread_workers(1);
  const std::string want = fingerprint(verify(studies, options, *one));
  for (const int threads : {2, 3, 8}) {
    const auto many = montecarlo::thread_workers(threads);
    EXPECT_EQ(fingerprint(verify(studies, options, *many)), want);
  }
}

class Killed : public std::exception {};

// A run that is cut off after each block in turn and continued from its checkpoint ends like one that never stopped.
TEST(Verify, ResumesWhereItWasCutOff) {
  const auto workers = montecarlo::thread_workers(2);
  const fs::path path = fs::path(testing::TempDir()) / "resume.json";
  fs::remove(path);
  const std::vector<Study> studies = {uniform_study("first", 0, 0.01), uniform_study("second", 0, 0.02)};
  const std::string want = fingerprint(verify(studies, {}, *workers));
  VerifyOptions options;
  options.resume = path;
  std::uint64_t reached = 0;
  std::uint64_t before = 0;
  options.progress = [&](const VerifyProgress& now) {
    reached = now.trials;
    throw Killed();
  };
  int cuts = 0;
  for (bool done = false; !done;) {
    try {
      EXPECT_EQ(fingerprint(verify(studies, options, *workers)), want);
      done = true;
    } catch (const Killed&) {
      // One block further than the time before, or the first of the next study: only the block in work is ever lost.
      EXPECT_TRUE(reached == before + montecarlo::kBlockTrials || reached == montecarlo::kBlockTrials);
      before = reached;
    }
    ASSERT_LT(++cuts, 1000);
  }
  EXPECT_GT(cuts, 4);
  options.seed = 2;
  EXPECT_THROW(verify(studies, options, *workers), InvalidInput);
  fs::remove(path);
}

TEST(Verify, FactsNeedNoTrials) {
  Study study;
  study.experiment.name = "facts";
  study.channels.resize(1);
  study.channels[0].kind = Channel::Kind::kFact;
  study.channels[0].value = 2.25;
  Claim claim;
  claim.id = "bits";
  claim.target = 2.5;
  claim.channels = {0};
  study.claims = {claim};
  const auto workers = montecarlo::thread_workers(1);
  const ClaimResult result = verify({study}, {}, *workers)[0];
  EXPECT_EQ(result.verdict, Verdict::kViolated);
  EXPECT_EQ(result.trials, 0U);
  EXPECT_EQ(result.interval_kind, "exact");
  // What rounding may have done widens the interval: it now holds the target.
  study.channels[0].rounding = 0.3;
  EXPECT_EQ(verify({study}, {}, *workers)[0].verdict, Verdict::kUndecided);
}

/// 1/4 and 3/4 in turn: the mean does not move, so that a forecast can be right from the first interval on.
Study alternating_study(const std::string& name, double target, double margin) {
  Study study;
  study.experiment = {name, 1,
                      [](std::uint64_t t, RngStream&, std::span<double> out) { out[0] = t % 2 == 0 ? 0.25 : 0.75; }};
  study.channels.resize(1);
  study.channels[0].plan.trials = 1000;
  Claim claim;
  claim.id = name;
  claim.target = target;
  claim.margin = margin;
  claim.channels = {0};
  study.claims = {claim};
  return study;
}

// The interval shrinks like sqrt(log n / n): a forecast like 1/sqrt(n) falls short by the ratio of the logarithms, 30 %
// at most here, and is late by one block at most. True or false, the edge of the margin is 0.01 away.
TEST(Verify, ExpectsTheTrialsItWillTake) {
  const auto workers = montecarlo::thread_workers(2);
  VerifyOptions options;
  std::vector<VerifyProgress> seen;
  options.progress = [&](const VerifyProgress& now) { seen.push_back(now); };
  const std::vector<Study> studies = {alternating_study("true", 0.5, 0.01), alternating_study("false", 0.53, 0.02)};
  const auto results = verify(studies, options, *workers);
  EXPECT_EQ(results[0].verdict, Verdict::kHolds);
  EXPECT_EQ(results[1].verdict, Verdict::kViolated);
  ASSERT_GT(results[0].trials, 16 * montecarlo::kBlockTrials);
  ASSERT_EQ(seen.front().trials, montecarlo::kBlockTrials);
  EXPECT_FALSE(seen.front().expected.has_value());  // no interval before 1000 trials
  for (const VerifyProgress& now : seen) {
    const double last = static_cast<double>(results[now.index].trials);
    EXPECT_EQ(now.studies, 2U);
    EXPECT_EQ(now.study, now.index == 0 ? "true" : "false");
    EXPECT_EQ(now.most, options.most_trials);
    if (now.trials < 1000 || now.decided == now.claims) continue;
    ASSERT_TRUE(now.expected.has_value());
    EXPECT_GT(static_cast<double>(*now.expected), 0.7 * last) << now.trials;
    EXPECT_LE(*now.expected, results[now.index].trials) << now.trials;
  }
  // Hopeless: all that it may run. A budget: that.
  seen.clear();
  options.most_trials = 4096;
  verify({uniform_study("hopeless", 0, 1e-9)}, options, *workers);
  EXPECT_EQ(seen.back().expected, 4096U);
  options.trials = 2048;
  verify({uniform_study("budget", 0, 0.3)}, options, *workers);
  EXPECT_EQ(seen.back().expected, 2048U);
}

TEST(Verify, GivesUpUndecidedAndRefusesNonsense) {
  VerifyOptions options;
  options.most_trials = 1024;
  const auto workers = montecarlo::thread_workers(1);
  EXPECT_EQ(verify({uniform_study("hard", 0, 1e-6)}, options, *workers)[0].verdict, Verdict::kUndecided);
  options.trials = 0;
  EXPECT_THROW(verify({}, options, *workers), InvalidArgument);
  options.trials = 1;
  options.family_error = 0;
  EXPECT_THROW(verify({}, options, *workers), InvalidArgument);
}

}  // namespace
}  // namespace orthant::validation
