#include "orthant/quantizer/polar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "orthant/codebook/polar_codebook.h"
#include "orthant/core/error.h"
#include "orthant/core/moments.h"
#include "orthant/density/polar_angle.h"
#include "orthant/transform/haar.h"
#include "orthant/transform/identity.h"
#include "quantizer/coding.h"
#include "quantizer/pairs.h"

namespace orthant::quantizer {
namespace {

std::shared_ptr<const transform::Identity> identity(std::size_t d) {
  return std::make_shared<const transform::Identity>(d);
}

TEST(PolarAngle, ClosedForms) {
  EXPECT_NEAR(density::PolarAngle(2).pdf(0), 1, 1e-15);          // cos(2 psi)
  EXPECT_NEAR(density::PolarAngle(3).pdf(0), 1.5, 1e-15);        // Gamma(4) / (4 Gamma(2)^2)
  EXPECT_NEAR(density::PolarAngle(4).pdf(0), 35.0 / 16, 1e-14);  // Gamma(8) / (64 Gamma(4)^2)
  for (int level = 2; level <= 10; ++level) {
    const density::PolarAngle law(level);
    EXPECT_NEAR(law.mass(-1, 1), 1, 1e-14);
    EXPECT_NEAR(law.first_moment(-1, 1), 0, 1e-16);
  }
  // Level 2: E psi^2 = pi^2/16 - 1/2, by parts.
  EXPECT_NEAR(density::PolarAngle(2).variance(), std::numbers::pi * std::numbers::pi / 16 - 0.5, 1e-14);
  EXPECT_THROW(density::PolarAngle(1), InvalidArgument);
  EXPECT_THROW(density::PolarAngle(11), InvalidArgument);
}

TEST(Polar, PublishedSettingTakes62BitsFor16Coordinates) {
  const Polar polar(identity(128), 4);
  EXPECT_EQ(polar.bytes_per_vector(), 62U);
  EXPECT_EQ(polar.bits_per_element(), 3.875);
  EXPECT_EQ(Polar(identity(80), 4).bytes_per_vector(), 5U * 2 + 20 + 5 + 3 + 2);
  EXPECT_THROW(Polar(identity(72), 4), InvalidArgument);
  EXPECT_THROW(Polar(identity(64), 0), InvalidArgument);
}

/// E cos(psi - its centroid), by Simpson's rule on each cell.
double kappa(int level, int bits) {
  const codebook::Codebook book = codebook::polar_angle_codebook(level, bits);
  const density::PolarAngle law(level);
  const double end = law.support().upper;
  double sum = 0;
  for (std::size_t k = 0; k < book.size(); ++k) {
    const double a = k == 0 ? -end : book.boundaries()[k - 1];
    const double b = k + 1 == book.size() ? end : book.boundaries()[k];
    constexpr int kSteps = 200;  // error of order (b - a)^5 / 200^4 < 1e-9
    for (int i = 0; i <= kSteps; ++i) {
      const double psi = a + (b - a) * i / kSteps;
      const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
      sum += weight * (b - a) / (3 * kSteps) * std::cos(psi - book.centroids()[k]) * law.pdf(psi);
    }
  }
  return sum;
}

TEST(Polar, ErrorIsTheProductOfTheLevelsCosines) {
  for (const std::size_t d : {16U, 80U, 128U}) {
    for (const int bits : {1, 3, 4, 6}) {
      const Polar polar(std::make_shared<const transform::Haar>(d, 1), bits, ScaleFormat::kFloat);
      const double sector = std::numbers::pi / (1 << bits);
      double expected = std::sin(sector) / sector;
      for (int level = 2; level <= Polar::kLevels; ++level) expected *= kappa(level, polar.level_bits(level));
      Moments error;
      for (std::uint64_t trial = 0; trial < 2000; ++trial) {
        std::vector<float> x(d);
        RngStream(1, Domain::kData, trial).fill_unit_vector(x);
        const std::vector<float> x_hat = round_trip(polar, x);
        EXPECT_NEAR(inner_product(x_hat, x_hat), 1, 1e-5) << "lengths are kept";
        error.add(1 + inner_product(x_hat, x_hat) - 2 * inner_product(x, x_hat));
      }
      // 4 standard errors, false alarm 6.3e-5.
      EXPECT_NEAR(error.mean(), 2 * (1 - expected), 4 * error.standard_error() + 1e-6) << d << " " << bits;
    }
  }
}

TEST(Polar, QuadrantsAndAxes) {
  // Every angle of level 1 falls in its own sector, -pi and +pi in the same one as decoded by cosine and sine.
  const Polar polar(identity(16), 8, ScaleFormat::kFloat);
  for (int k = 0; k < 64; ++k) {
    std::vector<float> x(16);
    const double angle = 2 * std::numbers::pi * k / 64;
    for (std::size_t j = 0; j < 16; j += 2) {
      x[j] = static_cast<float>(std::cos(angle));
      x[j + 1] = static_cast<float>(std::sin(angle));
    }
    const std::vector<float> x_hat = round_trip(polar, x);
    // A half sector of level 1 and the steps of 6-bit angles at three levels.
    for (std::size_t j = 0; j < 16; ++j) EXPECT_NEAR(x_hat[j], x[j], std::numbers::pi / 256 + 0.15) << k;
    EXPECT_GT(inner_product(x, x_hat), 0.99 * inner_product(x, x));
  }
}

}  // namespace
}  // namespace orthant::quantizer
