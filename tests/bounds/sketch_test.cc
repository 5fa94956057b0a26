#include "orthant/bounds/sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

TEST(Qjl, Variance) {
  EXPECT_DOUBLE_EQ(qjl_variance(0, 1), std::numbers::pi / 2);
  EXPECT_DOUBLE_EQ(qjl_variance(1, 10), (std::numbers::pi / 2 - 1) / 10);
  EXPECT_DOUBLE_EQ(qjl_variance_printed(10), std::numbers::pi / 20);
  EXPECT_THROW(qjl_variance(0, 0), InvalidArgument);
}

TEST(Qjl, ThePrintedTailIsBelowTheTruth) {
  EXPECT_NEAR(qjl_tail_perpendicular(0.1, 1000), 1.163e-2, 5e-6);
  EXPECT_NEAR(qjl_tail_printed(0.1, 1000), 2.19e-3, 5e-6);
  for (const double e : {0.01, 0.05, 0.1, 0.3}) {
    for (const std::int64_t m : {64, 256, 1024}) EXPECT_GE(qjl_tail_corrected(e, m), qjl_tail_perpendicular(e, m));
  }
  // Row counts invert the tails.
  const double rows = qjl_rows_corrected(0.1, 1e-3);
  EXPECT_LE(qjl_tail_corrected(0.1, static_cast<std::int64_t>(std::ceil(rows))), 1e-3);
  EXPECT_GT(qjl_tail_corrected(0.1, static_cast<std::int64_t>(rows) - 1), 1e-3);
  EXPECT_LT(qjl_rows_printed(0.1, 1e-3), rows);
}

TEST(OrthogonalSketch, BiasAgreesWithGolden) {
  for (const auto& row : golden_json("bounds/sign_code.json")) {
    const std::int64_t d = row["d"];
    SCOPED_TRACE(d);
    expect_close(orthogonal_sketch(d, false).factor - 1, row["sketch_bias"], d < 10000 ? 1e-10 : 1e-8);
  }
}

TEST(OrthogonalSketch, RepairRemovesTheBias) {
  const OrthogonalSketch raw = orthogonal_sketch(64, false);
  const OrthogonalSketch repaired = orthogonal_sketch(64, true);
  EXPECT_NEAR(raw.factor, 1.00391, 1e-5);
  EXPECT_NEAR(64 * raw.perpendicular, std::numbers::pi / 2 - 1, 1e-14);
  EXPECT_EQ(repaired.factor, 1);
  EXPECT_LT(repaired.parallel, raw.parallel);
  // d = 2: E||u||_1 = 4 / pi, so the bias is 2 / sqrt(pi) and the repair divides the variance by 4 / pi.
  EXPECT_NEAR(orthogonal_sketch(2, false).factor, 2 / std::sqrt(std::numbers::pi), 1e-15);
  EXPECT_NEAR(orthogonal_sketch(2, true).perpendicular, (std::numbers::pi / 2 - 1) / 2 * std::numbers::pi / 4, 1e-15);
  // d = 1: the sign is the vector, and the repaired estimate is exact.
  EXPECT_NEAR(orthogonal_sketch(1, true).parallel, 0, 1e-15);
}

}  // namespace
}  // namespace orthant::bounds
