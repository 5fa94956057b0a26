#include "orthant/bounds/converse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/bounds/scalar_quantizer.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

TEST(Converse, AgreesWithGolden) {
  for (const auto& row : golden_json("bounds/converse.json")) {
    const std::int64_t d = row["d"];
    const int bits = row["bits"];
    SCOPED_TRACE(testing::Message() << "d=" << d << " b=" << bits);
    expect_close(rate_distortion(d, bits).distortion, row["rate_distortion"]);
    expect_close(cap_converse(d, bits), row["cap"]);
    expect_close(high_rate_shannon(d, bits), row["high_rate_shannon"]);
  }
}

TEST(Converse, ClosedForms) {
  // The circle cut into 4^b arcs: 1 - (sin(t)/t)^2, t = pi 4^-b.
  for (int b = 1; b <= 3; ++b) {
    const double t = std::numbers::pi * std::ldexp(1.0, -2 * b);
    expect_close(cap_converse(2, b), 1 - std::pow(std::sin(t) / t, 2), 1e-11);
  }
  // Two cells are hemispheres: rho = E|X|; on S^2 that is 1/2.
  expect_close(cap_converse(3, 1.0 / 3), 0.75, 1e-12);
  // On S^2 a cap of measure 2^-3b has mean cosine 1 - 2^-3b.
  expect_close(cap_converse(3, 2), 1 - std::pow(1 - 1.0 / 64, 2), 1e-12);
}

TEST(Converse, OrderedAndBelowEveryCode) {
  for (const std::int64_t d : {2, 3, 8, 64, 128, 1536}) {
    const CoordinateLaw law = CoordinateLaw::sphere(d);
    double last = 1;
    for (int b = 1; b <= 8; ++b) {
      const double rd = rate_distortion(d, b).distortion;
      const double cap = cap_converse(d, b);
      EXPECT_LT(rd, cap);
      EXPECT_LT(rd, last);
      EXPECT_LE(cap, distortion(law, optimal_levels(law, b)) * (1 + 1e-12)) << d << ' ' << b;
      last = rd;
    }
  }
}

TEST(Converse, ExtremesAndRefusals) {
  EXPECT_GT(rate_distortion(1000000, 8).distortion, 0);
  EXPECT_NEAR(rate_distortion(1000000, 4).distortion * 256, 1, 1e-4);
  EXPECT_NEAR(rate_distortion(128, 1e-6).distortion, 1, 1e-5);
  EXPECT_THROW(rate_distortion(1, 4), InvalidArgument);
  EXPECT_THROW(rate_distortion(4, 0), InvalidArgument);
  EXPECT_THROW(cap_converse(128, -1), InvalidArgument);
  EXPECT_THROW(cap_converse(128, 0.001), InvalidArgument);
  EXPECT_THROW(high_rate_shannon(128, std::nan("")), InvalidArgument);
  EXPECT_DOUBLE_EQ(unbiased_floor(0.25), 1.0 / 3);
}

}  // namespace
}  // namespace orthant::bounds
