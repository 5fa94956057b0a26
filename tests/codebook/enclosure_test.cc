// Golden values lie in the enclosures; the enclosures agree with another algorithm of the ball arithmetic itself.
#include "codebook/enclosure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orthant/core/error.h"
#include "test_paths.h"

namespace orthant::codebook {
namespace {

/// |ball - decimal| <= 10^-digits |decimal| for all points of the ball.
bool near(const Ball& ball, const std::string& decimal, int digits) {
  const Ball exact = Ball::decimal(decimal);
  return certainly_less(abs(ball - exact), abs(exact) * Ball::decimal("1e-" + std::to_string(digits)));
}

TEST(Enclosure, HoldsTheGoldenValues) {
  std::ifstream file(golden_dir() / "codebook/lloyd_max.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const auto& entry : golden["codebooks"]) {
    const std::int64_t d = entry["d"];
    if (entry["bits"] > 5) continue;  // wider ones: the collection's own check
    SCOPED_TRACE(testing::Message() << "d=" << d << " bits=" << entry["bits"]);
    std::vector<double> start;
    for (const auto& text : entry["centroids"]) start.push_back(std::stod(text.get<std::string>()));
    const Enclosure enclosure = enclose(d, extended_solve(d, start, 60), 1e-40);
    // Golden values keep 30 digits, the last one rounded.
    EXPECT_TRUE(near(enclosure.distortion, entry["distortion"], 28));
    EXPECT_TRUE(near(enclosure.entropy, entry["entropy"], 28));
    for (std::size_t k = 0; k < start.size(); ++k) {
      EXPECT_TRUE(near(enclosure.centroids[k], entry["centroids"][k], 28)) << k;
      EXPECT_TRUE(near(enclosure.probabilities[k], entry["probabilities"][k], 28)) << k;
    }
    for (std::size_t k = 0; k + 1 < start.size(); ++k) {
      EXPECT_TRUE(near(enclosure.boundaries[k], entry["boundaries"][k], 28)) << k;
    }
  }
}

// M0(x) = I_{x^2}(1/2, (d-1)/2) / 2 by Arb's own incomplete beta function.
TEST(Enclosure, MassAgreesWithTheIncompleteBetaFunction) {
  for (const std::int64_t d : {2, 3, 4, 5, 64, 255, 256, 257, 4096}) {
    for (const double z : {0.01, 0.5, 1.0, 3.0}) {
      const double x = z / std::sqrt(static_cast<double>(d));
      if (x >= 1) continue;
      arb_t a;
      arb_t b;
      arb_t y;
      arb_t beta;
      arb_init(a);
      arb_init(b);
      arb_init(y);
      arb_init(beta);
      arb_set_d(a, 0.5);
      arb_set_d(b, static_cast<double>(d - 1) / 2);
      arb_set_d(y, x);
      arb_mul(y, y, y, 600);
      arb_hypgeom_beta_lower(beta, a, b, y, 1, 600);
      arb_mul_2exp_si(beta, beta, -1);
      char* text = arb_get_str(beta, 60, ARB_STR_NO_RADIUS);
      EXPECT_TRUE(near(enclosed_mass(d, Ball(x)), text, 50)) << "d=" << d << " x=" << x;
      flint_free(text);
      arb_clear(a);
      arb_clear(b);
      arb_clear(y);
      arb_clear(beta);
    }
  }
  flint_cleanup();
}

// Planted fault: a start that is no optimum, moved by more than the radius, must not be enclosed.
TEST(Enclosure, NoBoxAroundWhatIsNotStationary) {
  const std::vector<double> start = {0.4527800398, 1.5104176087};
  ExtendedSolution solution = extended_solve(0, start, 60);
  EXPECT_NO_THROW(enclose(0, solution, 1e-40));
  EXPECT_NO_THROW(enclose(0, solution, 1e-6));
  solution.centroids[1] = "1.5104176084990953";  // 17 digits are not 40
  EXPECT_THROW(enclose(0, solution, 1e-40), Error);
  EXPECT_THROW(enclose(0, solution, 10), Error);  // the box holds the origin
  solution.centroids[1] = "nonsense";
  EXPECT_THROW(enclose(0, solution, 1e-40), Error);
}

TEST(Enclosure, BallsRoundOnlyWhatIsDecided) {
  const Ball one(1);
  EXPECT_EQ(one.nearest_doubles(), std::pair(1.0, 1.0));
  const Ball tie = one + Ball(std::ldexp(1.0, -53));
  const auto [low, high] = tie.widened(Ball::decimal("1e-40")).nearest_doubles();
  EXPECT_NE(low, high);
  EXPECT_FALSE(Ball::decimal("1.5x").finite());
}

}  // namespace
}  // namespace orthant::codebook
