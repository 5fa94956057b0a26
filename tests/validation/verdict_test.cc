#include "orthant/validation/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace orthant::validation {
namespace {

TEST(Judge, EveryRelation) {
  EXPECT_EQ(judge({1, 2}, Relation::kAtMost, 2, 0), Verdict::kHolds);
  EXPECT_EQ(judge({1, 2}, Relation::kAtMost, 1.5, 0), Verdict::kUndecided);
  EXPECT_EQ(judge({1, 2}, Relation::kAtMost, 0.5, 0), Verdict::kViolated);
  EXPECT_EQ(judge({1, 2}, Relation::kAtLeast, 1, 0), Verdict::kHolds);
  EXPECT_EQ(judge({1, 2}, Relation::kAtLeast, 1.5, 0), Verdict::kUndecided);
  EXPECT_EQ(judge({1, 2}, Relation::kAtLeast, 2.5, 0), Verdict::kViolated);
  EXPECT_EQ(judge({1, 2}, Relation::kEquals, 1.5, 0.5), Verdict::kHolds);
  EXPECT_EQ(judge({1, 2}, Relation::kEquals, 1.5, 0.4), Verdict::kUndecided);
  EXPECT_EQ(judge({1, 2}, Relation::kEquals, 3, 0.5), Verdict::kViolated);
  EXPECT_EQ(judge({1, 2}, Relation::kEquals, 0, 0.5), Verdict::kViolated);
}

// Mean -0.0354 with spread 0.1614 over 2000 pairs was once called noise: z = -9.81. At z = 5 the interval lies off 0.
TEST(Judge, ATenSigmaBiasIsABias) {
  const double error = 0.1614 / std::sqrt(2000.0);
  EXPECT_NEAR(error, 0.003609, 5e-7);
  EXPECT_EQ(judge({-0.0354 - 5 * error, -0.0354 + 5 * error}, Relation::kEquals, 0, 0), Verdict::kViolated);
}

TEST(Judge, NothingIsDecidedWithoutAnInterval) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const Relation relation : {Relation::kAtMost, Relation::kAtLeast, Relation::kEquals}) {
    EXPECT_EQ(judge({-inf, inf}, relation, 0, 1), Verdict::kUndecided);
    EXPECT_EQ(judge({std::nan(""), 1}, relation, 0, 1), Verdict::kUndecided);
    EXPECT_EQ(judge({0, std::nan("")}, relation, 0, 1), Verdict::kUndecided);
  }
}

TEST(Combine, OneViolationIsEnough) {
  EXPECT_EQ(combine(Verdict::kHolds, Verdict::kHolds), Verdict::kHolds);
  EXPECT_EQ(combine(Verdict::kHolds, Verdict::kUndecided), Verdict::kUndecided);
  EXPECT_EQ(combine(Verdict::kUndecided, Verdict::kViolated), Verdict::kViolated);
}

}  // namespace
}  // namespace orthant::validation
