#include "orthant/validation/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "orthant/core/error.h"
#include "orthant/validation/verify.h"
#include "planted_faults.h"

namespace orthant::validation {
namespace {

// d = 32 keeps each run short; of the printed values only 1.57 for pi/2 lies within 2 % of what the quantizers reach
// there.
ClaimOptions at_32() {
  ClaimOptions options;
  options.dim = 32;
  return options;
}

std::map<std::string, ClaimResult> by_id(const std::vector<ClaimResult>& results) {
  std::map<std::string, ClaimResult> map;
  for (const ClaimResult& r : results) map.emplace(r.claim.id, r);
  return map;
}

/// Claims of one fault are tried in one run.
std::string serial(const Fault& f) {
  return f.methods + '|' + std::to_string(f.decoding) + '|' + std::to_string(f.estimates) + '|' +
         std::to_string(f.slope) + '|' + f.replace + '|' + f.rotation + '|' + std::to_string(f.levels);
}

// Every row is decided; a fault planted in what it judges turns its verdict around, whatever that was.
TEST(Claims, APlantedFaultTurnsEveryVerdict) {
  const auto workers = montecarlo::thread_workers(0);
  const ClaimOptions options = at_32();
  VerifyOptions run;
  run.most_trials = 4'000'000;  // a range of 4 around 2e-5 takes a million
  const auto shipped = by_id(verify(claim_registry(options), run, *workers));
  std::map<std::string, std::pair<Fault, std::vector<std::string>>> runs;
  for (const auto& [id, result] : shipped) {
    EXPECT_NE(result.verdict, Verdict::kUndecided) << id;
    const Fault fault = fault_for(result.claim, result.verdict, options.dim);
    auto& [kept, ids] = runs[serial(fault)];
    kept = fault;
    ids.push_back(id);
  }
  std::size_t turned = 0;
  for (const auto& [text, what] : runs) {
    SCOPED_TRACE(text);
    const auto& [fault, ids] = what;
    const auto studies = select_claims(claim_registry(with_fault(options, fault)), ids);
    for (const ClaimResult& r : verify(studies, run, *workers)) {
      const Verdict before = shipped.at(r.claim.id).verdict;
      const Verdict expected = before == Verdict::kHolds ? Verdict::kViolated : Verdict::kHolds;
      EXPECT_EQ(r.verdict, expected) << r.claim.id << ": measured " << r.measured << " in [" << r.interval.lower << ", "
                                     << r.interval.upper << "], target " << r.claim.target << " +- " << r.claim.margin;
      turned += r.verdict == expected ? 1U : 0U;
    }
  }
  EXPECT_EQ(turned, shipped.size());
}

// Where an exact law is known, the interval of the whole run holds it. With probability 0.001 or less one does not.
TEST(Claims, IntervalsHoldTheExactValues) {
  const auto workers = montecarlo::thread_workers(0);
  ClaimOptions options = at_32();
  options.seed = 2;
  VerifyOptions run;
  run.seed = 2;
  std::size_t exact = 0;
  for (const ClaimResult& r : verify(claim_registry(options), run, *workers)) {
    if (!r.claim.exact || r.interval_kind == "exact") continue;
    ++exact;
    EXPECT_LE(r.interval.lower, *r.claim.exact) << r.claim.id;
    EXPECT_GE(r.interval.upper, *r.claim.exact) << r.claim.id;
  }
  EXPECT_GT(exact, 70U);
}

// Equalities that are exactly true, with no margin: no interval can confirm them, and one that excludes the value is a
// false alarm. 1000 runs, each with an error probability of 0.05 for all its rows: more than 0.05 + 4 standard errors,
// 77, would have probability below 1e-4.
TEST(Claims, FalseAlarmsUnderTheNullStayWithinTheStatedProbability) {
  const auto workers = montecarlo::thread_workers(0);
  constexpr int kRuns = 1000;
  ClaimOptions options;
  options.dim = 8;
  options.bits = {2};
  VerifyOptions run;
  run.family_error = 0.05;
  run.trials = 1024;
  int alarms = 0;
  std::size_t rows = 0;
  for (int i = 0; i < kRuns; ++i) {
    options.seed = run.seed = static_cast<std::uint64_t>(i);
    auto studies = select_claims(claim_registry(options), {"coordinate.mean", "mse.distortion", "mse.shrinkage",
                                                           "pairs", "rabitq.unbiased", "eden.unbiased"});
    rows = 0;
    for (Study& study : studies) {
      for (Claim& claim : study.claims) {
        ASSERT_TRUE(claim.exact.has_value() && claim.relation == Relation::kEquals) << claim.id;
        claim.target = *claim.exact;
        claim.margin = 0;
        ++rows;
      }
    }
    const auto results = verify(studies, run, *workers);
    alarms += std::any_of(results.begin(), results.end(),
                          [](const ClaimResult& r) { return r.verdict == Verdict::kViolated; });
  }
  EXPECT_GE(rows, 9U);
  RecordProperty("alarms", alarms);
  EXPECT_LE(alarms, 77);
}

}  // namespace
}  // namespace orthant::validation
