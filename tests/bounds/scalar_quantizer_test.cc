#include "orthant/bounds/scalar_quantizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bounds/golden.h"
#include "golden_json.h"
#include "orthant/bounds/turboquant.h"
#include "orthant/core/error.h"

namespace orthant::bounds {
namespace {

CoordinateLaw law_of(std::int64_t d) { return d == 0 ? CoordinateLaw::gaussian() : CoordinateLaw::sphere(d); }

TEST(OptimalLevels, AgreeWithGolden) {
  for (const auto& row : golden_json("bounds/scalar.json")) {
    const std::int64_t d = row["d"];
    const int bits = row["bits"];
    SCOPED_TRACE(testing::Message() << "d=" << d << " b=" << bits);
    const CoordinateLaw law = law_of(d);
    const std::vector<double> levels = optimal_levels(law, bits);
    ASSERT_EQ(levels.size(), std::size_t{1} << bits);
    expect_close(levels.back() / law.standard_deviation(), row["outermost_scaled"], 1e-12);
    expect_close(distortion(law, levels), row["distortion"], 1e-12);
    expect_close(entropy_bits(cell_probabilities(law, levels)), row["entropy"], 1e-12);
    if (d != 0) expect_close(panter_dite(d, 0), row["panter_dite"], 1e-12);
  }
}

TEST(OptimalLevels, ClosedForms) {
  EXPECT_EQ(optimal_levels(CoordinateLaw::sphere(128), 0), std::vector<double>{0.0});
  EXPECT_NEAR(distortion(CoordinateLaw::sphere(128), {0.0}), 1, 1e-14);
  const CoordinateLaw uniform = CoordinateLaw::sphere(3);
  for (int b = 1; b <= 10; ++b)
    expect_close(distortion(uniform, optimal_levels(uniform, b)), std::ldexp(1.0, -2 * b), 1e-13);
  const CoordinateLaw circle = CoordinateLaw::sphere(2);
  expect_close(distortion(circle, optimal_levels(circle, 1)), 1 - 8 / (M_PI * M_PI), 1e-14);
  EXPECT_THROW(optimal_levels(uniform, -1), InvalidArgument);
  EXPECT_THROW(optimal_levels(uniform, 13), InvalidArgument);
}

// Levels scaled by 1/2, as a wrong unit does: 0.134060 at d = 128, b = 3, well above Theorem 1's 0.0425109.
TEST(Distortion, SeesAWrongScale) {
  const CoordinateLaw law = CoordinateLaw::sphere(128);
  std::vector<double> levels = optimal_levels(law, 3);
  for (double& c : levels) c /= 2;
  EXPECT_NEAR(distortion(law, levels), 0.134060, 5e-7);
}

TEST(IndexCodes, Huffman) {
  EXPECT_EQ(huffman_bits({1.0}), 0);
  EXPECT_DOUBLE_EQ(huffman_bits({0.5, 0.25, 0.125, 0.125}), 1.75);
  EXPECT_DOUBLE_EQ(entropy_bits({0.5, 0.25, 0.125, 0.125, 0.0}), 1.75);
  for (const auto& row : golden_json("bounds/gaussian_limit.json")) {
    const int bits = row["bits"];
    const auto lengths = [&](const CoordinateLaw& law) { return cell_probabilities(law, optimal_levels(law, bits)); };
    expect_close(huffman_bits(lengths(CoordinateLaw::gaussian())), row["huffman"]);
    expect_close(huffman_bits(lengths(CoordinateLaw::sphere(128))), row["huffman_128"]);
  }
}

TEST(UniformGrid, AgreesWithGolden) {
  for (const auto& row : golden_json("bounds/gaussian_limit.json")) {
    const int bits = row["bits"];
    SCOPED_TRACE(bits);
    const UniformGrid grid = optimal_uniform_grid(CoordinateLaw::gaussian(), bits);
    expect_close(grid.distortion, row["uniform_distortion"]);
    // The golden step at one bit is a convention (only its direction counts there).
    if (bits > 1) expect_close(grid.step, row["uniform_step"], 1e-7);
  }
}

TEST(FirstOrder, AgreesWithGoldenAndWithLargeDimensions) {
  const CoordinateLaw normal = CoordinateLaw::gaussian();
  for (const auto& row : golden_json("bounds/gaussian_limit.json")) {
    const int bits = row["bits"];
    const double a1 = first_order_coefficient(bits);
    expect_close(a1, row["a1"]);
    // d (D_d - D_inf) = a_1 + O(1/d); at d = 65536 the remainder is below 1e-4 of a_1.
    const CoordinateLaw large = CoordinateLaw::sphere(65536);
    const double slope =
        65536 * (distortion(large, optimal_levels(large, bits)) - distortion(normal, optimal_levels(normal, bits)));
    expect_close(slope, a1, 1e-4);
  }
}

}  // namespace
}  // namespace orthant::bounds
