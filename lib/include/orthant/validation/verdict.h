#pragma once

#include <string_view>

#include "orthant/montecarlo/confidence.h"

namespace orthant::validation {

enum class Verdict { kHolds, kViolated, kUndecided };
/// "holds", "violated", "undecided".
std::string_view to_string(Verdict verdict);

enum class Relation {
  kAtMost,   ///< the quantity is at most the target
  kAtLeast,  ///< at least
  kEquals,   ///< within `margin` of the target, on either side
};

/// The verdict that an interval allows. When the interval covers the true value, a verdict other than undecided is
/// right:
///   kAtMost   holds when upper <= target, violated when lower > target;   kAtLeast likewise;
///   kEquals   holds when the interval lies within [target - margin, target + margin], violated when it lies outside.
/// An interval with a NaN end decides nothing.
Verdict judge(const montecarlo::Interval& interval, Relation relation, double target, double margin);

/// Of several quantities under one claim: violated when any is, holds when all do.
Verdict combine(Verdict a, Verdict b);

}  // namespace orthant::validation
