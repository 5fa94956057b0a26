#include "orthant/bounds/turboquant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/bounds/converse.h"
#include "orthant/bounds/scalar_quantizer.h"

namespace orthant::bounds {
namespace {

TEST(Theorem1, PrintedReadings) {
  EXPECT_DOUBLE_EQ(kPanterDite, std::numbers::sqrt3 * std::numbers::pi / 2);
  EXPECT_NEAR(theorem1(1), 0.680175, 5e-7);
  EXPECT_NEAR(theorem1(4), 0.0106277, 5e-8);
  EXPECT_NEAR(theorem1_misprint_root(2), 0.0959, 5e-5);
  EXPECT_NEAR(theorem1_misprint_root(4), 0.0060, 5e-5);
  EXPECT_NEAR(theorem1_misprint_no_root(0), 4.712389, 1e-6);
  EXPECT_FALSE(theorem1_refined(5).has_value());
  EXPECT_FALSE(theorem1_refined(0).has_value());
}

// Theorem 1 holds with room for every d; the misprint falls at b >= 2 from d = 16 on; 4^-b D grows with b and d.
TEST(Theorem1, AgainstTheOptimum) {
  for (const std::int64_t d : {3, 4, 8, 16, 128, 65536}) {
    const CoordinateLaw law = CoordinateLaw::sphere(d);
    for (int b = 1; b <= 8; ++b) {
      const double value = distortion(law, optimal_levels(law, b));
      EXPECT_LT(value, theorem1(b));
      EXPECT_LE(value, panter_dite(d, b) * (1 + 1e-12));
      if (b >= 2 && d >= 16) {
        EXPECT_GT(value, theorem1_misprint_root(b));
      }
    }
  }
  // The refined values are truncations: 0.36338 > 0.36, 0.11748 > 0.117, 0.03455 > 0.03, 0.009501 > 0.009.
  for (int b = 1; b <= 4; ++b) {
    EXPECT_GT(distortion(CoordinateLaw::gaussian(), optimal_levels(CoordinateLaw::gaussian(), b)),
              *theorem1_refined(b));
  }
}

// Printed: pi/2 times Theorem 1's printed values, cut off, below the limit. Corrected: the limit rounded up to three
// digits.
TEST(Theorem2, SmallBitsAsPrintedAndRoundedUp) {
  constexpr double kPrintedUnit[] = {0.01, 0.01, 0.01, 0.001};
  constexpr double kThirdDigit[] = {0.01, 0.001, 0.001, 0.0001};
  for (const auto& row : golden_json("bounds/gaussian_limit.json")) {
    const int b = row["bits"];
    SCOPED_TRACE(b);
    if (b > 4) {
      EXPECT_FALSE(theorem2_refined_times_d(b).has_value());
      EXPECT_FALSE(theorem2_refined_corrected_times_d(b).has_value());
      continue;
    }
    const double limit = row["prod_gaussian"];
    const double printed = *theorem2_refined_times_d(b);
    const double source = std::numbers::pi / 2 * theorem1_refined(b - 1).value_or(1);
    EXPECT_LT(printed, source);
    EXPECT_GT(printed + kPrintedUnit[b - 1], source);
    EXPECT_LT(printed, limit);
    const double corrected = *theorem2_refined_corrected_times_d(b);
    EXPECT_GT(corrected, limit);
    EXPECT_LT(corrected - kThirdDigit[b - 1], limit);
  }
}

TEST(Theorem2, LimitsAgreeWithGolden) {
  const CoordinateLaw normal = CoordinateLaw::gaussian();
  for (const auto& row : golden_json("bounds/gaussian_limit.json")) {
    const int bits = row["bits"];
    SCOPED_TRACE(bits);
    const double before = distortion(normal, optimal_levels(normal, bits - 1));
    const double d = distortion(normal, optimal_levels(normal, bits));
    expect_close(std::numbers::pi / 2 * before, row["prod_gaussian"]);
    expect_close((std::numbers::pi / 2 - 1) * before, row["prod_orthogonal"]);
    expect_close(unbiased_variance_times_d(d), row["eden_unbiased"]);
    expect_close(raw_variance_times_d(d), row["mse_variance"]);
    expect_close(unbiased_variance_times_d(optimal_uniform_grid(normal, bits).distortion), row["rabitq_grid"]);
    expect_close(unbiased_floor(printed_lower_bound(bits)), row["floor"]);
    expect_close(theorem2_times_d(bits), row["theorem2"]);
  }
}

TEST(Theorem2, ProductErrorsAtTheEmptyStage) {
  const ProductError gaussian = prod_error_gaussian(128, 128, empty_stage());
  EXPECT_NEAR(128 * gaussian.perpendicular, std::numbers::pi / 2, 1e-12);
  EXPECT_NEAR(128 * gaussian.parallel, std::numbers::pi / 2 - 1, 1e-12);
  const ProductError orthogonal = prod_error_orthogonal(128, empty_stage(), false);
  EXPECT_NEAR(128 * orthogonal.perpendicular, std::numbers::pi / 2 - 1, 1e-12);
  EXPECT_NEAR(128 * orthogonal.parallel, 0.0708, 1e-3);  // pi/2 - 3/2 as d grows, 1/(16 d) of bias included
}

TEST(LowerBound, DomainOfValidity) {
  EXPECT_EQ(printed_lower_bound_status(2, 1), LowerBoundStatus::kFalse);
  EXPECT_EQ(printed_lower_bound_status(3, 1), LowerBoundStatus::kOpen);
  EXPECT_EQ(printed_lower_bound_status(128, 3), LowerBoundStatus::kProved);
  EXPECT_EQ(printed_lower_bound_status(128, 4), LowerBoundStatus::kOpen);
  const CoordinateLaw circle = CoordinateLaw::sphere(2);
  for (int b = 1; b <= 8; ++b) EXPECT_LT(distortion(circle, optimal_levels(circle, b)), printed_lower_bound(b));
}

// Published thresholds at d = 1536, large-d formulas.
TEST(Crossover, AgreesWithTheTable) {
  const CoordinateLaw normal = CoordinateLaw::gaussian();
  const double gaussian[] = {0.081, 0.149, 0.290, 0.589};
  const double orthogonal[] = {0.041, 0.070, 0.137, 0.283};
  for (int b = 1; b <= 4; ++b) {
    const double d = distortion(normal, optimal_levels(normal, b));
    const double before = distortion(normal, optimal_levels(normal, b - 1));
    EXPECT_NEAR(crossover_correlation(1536, d, std::numbers::pi / 2 * before), gaussian[b - 1], 6e-4);
    EXPECT_NEAR(crossover_correlation(1536, d, (std::numbers::pi / 2 - 1) * before), orthogonal[b - 1], 6e-4);
  }
  EXPECT_EQ(crossover_correlation(128, 0.1, 0.01), 0);
  EXPECT_EQ(crossover_correlation(1536, 1e-4, 1.5), 1);
}

}  // namespace
}  // namespace orthant::bounds
