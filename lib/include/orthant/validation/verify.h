#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orthant/montecarlo/workers.h"
#include "orthant/validation/study.h"

namespace orthant::validation {

/// Where a run stands after a block of trials.
struct VerifyProgress {
  std::string study;
  std::size_t index = 0;  ///< of the study in the run, from 0
  std::size_t studies = 0;
  std::uint64_t trials = 0;  ///< of this study so far
  /// How many it will take. With a fixed budget, that. Until decided: where intervals that shrink like 1/sqrt(trials)
  /// about the means of today decide every claim, and no more than `most`. It moves as the means do. Nothing while an
  /// interval has no end yet.
  std::optional<std::uint64_t> expected;
  std::uint64_t most = 0;  ///< where it stops in any case
  std::size_t decided = 0;
  std::size_t claims = 0;
};

struct VerifyOptions {
  std::uint64_t seed = 1;
  /// Probability that any verdict of the whole run is wrong (for the asymptotic intervals: in the limit). It is shared
  /// out evenly over the channels in use (Bonferroni), so it needs no independence.
  double family_error = 1e-3;
  std::optional<std::uint64_t> trials;    ///< a fixed budget for each study; otherwise until every claim is decided
  std::uint64_t most_trials = 1'000'000;  ///< where "until decided" gives up
  std::filesystem::path resume;           ///< checkpoint, read when there and written after each block; empty: none
  std::string key;                        ///< what else the run depends on, for the checkpoint
  /// Called on the root after each block.
  std::function<void(const VerifyProgress&)> progress;
};

struct ClaimResult {
  Claim claim;
  Verdict verdict = Verdict::kUndecided;
  double measured = 0;  ///< of the channel nearest to breaking the claim
  montecarlo::Interval interval;
  std::string interval_kind;  ///< "empirical Bernstein", "beta-binomial", "asymptotic" or "exact"
  std::uint64_t trials = 0;
};

/// Runs every study and judges its claims. Same bytes for any workers. Throws InvalidArgument for a family error
/// outside (0, 1) or no trials; InvalidInput for a checkpoint of another run.
std::vector<ClaimResult> verify(const std::vector<Study>& studies, const VerifyOptions& options,
                                montecarlo::Workers& workers);

}  // namespace orthant::validation
