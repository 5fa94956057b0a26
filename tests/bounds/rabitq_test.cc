#include "orthant/bounds/rabitq.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

TEST(RabitqAlignment, AgreesWithGolden) {
  for (const auto& row : golden_json("bounds/sign_code.json")) {
    const std::int64_t d = row["d"];
    SCOPED_TRACE(d);
    expect_close(rabitq_mean_alignment(d), row["mean"], 1e-13);
    expect_close(rabitq_mean_square_alignment(d), row["mean_square"], 1e-13);
  }
  EXPECT_DOUBLE_EQ(rabitq_mean_alignment(1), 1);
}

TEST(RabitqTail, CoverageAtTheDefaultIsNotNearlyPerfect) {
  EXPECT_NEAR(rabitq_coverage(64, 1.9), 0.9432, 5e-5);
  EXPECT_NEAR(rabitq_coverage(128, 1.9), 0.9429, 5e-5);
  EXPECT_NEAR(rabitq_coverage(1536, 1.9), 0.9426, 5e-5);
}

// c_0 = 1/2 is valid: over this range the exact tail stays below 0.474 of the bound.
TEST(RabitqTail, TheTheoremHoldsWithOneHalf) {
  for (const std::int64_t d : {4, 8, 64, 128, 1536}) {
    for (double e = 0.5; e <= 6; e += 0.25) {
      EXPECT_LE(rabitq_tail_exact(d, e, 0), 0.48 * rabitq_tail_theorem(e)) << d << ' ' << e;
      EXPECT_LE(rabitq_tail_exact(d, e, 0.5), rabitq_tail_exact(d, e, 0));
    }
  }
  EXPECT_EQ(rabitq_tail_exact(2, 0.9, 0), 1);
  EXPECT_EQ(rabitq_tail_exact(2, 1.1, 0), 0);
  EXPECT_EQ(rabitq_tail_exact(128, 1.9, 1), 0);
  EXPECT_THROW(rabitq_tail_exact(1, 1.9, 0), InvalidArgument);
}

TEST(RabitqRule, ConstantOutgrowsThePublishedRule) {
  for (const auto& row : golden_json("bounds/gaussian_limit.json")) {
    const int bits = row["bits"];
    const double d = optimal_uniform_grid(CoordinateLaw::gaussian(), bits).distortion;
    expect_close(rabitq_error_constant(d, bits), row["uniform_c"], 1e-7);  // eight digits in the golden file
    EXPECT_EQ(rabitq_error_constant(d, bits) < 5.75, bits <= 4);
  }
  EXPECT_DOUBLE_EQ(rabitq_error_rule(64, 2), 5.75 / 4 / 8);
}

}  // namespace
}  // namespace orthant::bounds
