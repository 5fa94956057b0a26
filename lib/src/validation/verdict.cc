#include "orthant/validation/verdict.h"

namespace orthant::validation {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kViolated:
      return "violated";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "undecided";
}

Verdict judge(const montecarlo::Interval& interval, Relation relation, double target, double margin) {
  if (!(interval.lower <= interval.upper)) return Verdict::kUndecided;
  const double ceiling = relation == Relation::kEquals ? target + margin : target;
  const double floor = relation == Relation::kEquals ? target - margin : target;
  const bool below = interval.upper <= ceiling;
  const bool above = interval.lower >= floor;
  const bool too_high = relation != Relation::kAtLeast && interval.lower > ceiling;
  const bool too_low = relation != Relation::kAtMost && interval.upper < floor;
  if (too_high || too_low) return Verdict::kViolated;
  const bool holds = (relation == Relation::kAtLeast || below) && (relation == Relation::kAtMost || above);
  return holds ? Verdict::kHolds : Verdict::kUndecided;
}

Verdict combine(Verdict a, Verdict b) {
  if (a == Verdict::kViolated || b == Verdict::kViolated) return Verdict::kViolated;
  return a == Verdict::kHolds && b == Verdict::kHolds ? Verdict::kHolds : Verdict::kUndecided;
}

}  // namespace orthant::validation
