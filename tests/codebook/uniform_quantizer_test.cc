#include "orthant/codebook/uniform_quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "orthant/codebook/huffman.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/density/truncated_gaussian.h"
#include "test_paths.h"

namespace orthant::codebook {
namespace {

nlohmann::json golden() {
  std::ifstream file(golden_dir() / "codebook/uniform_and_coding.json");
  return nlohmann::json::parse(file);
}

double number(const nlohmann::json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

TEST(UniformQuantizer, AgreesWithTheGoldenValues) {
  const nlohmann::json all = golden();
  for (const auto& [bits, entry] : all["uniform"].items()) {
    const int b = std::stoi(bits);
    const UniformQuantizer q = optimal_uniform(density::Gaussian(), b);
    const double distortion = number(entry["distortion"]);
    EXPECT_NEAR(q.distortion, distortion, 1e-9 * distortion) << bits;
    if (b == 1) continue;  // the step is twice the level: no free choice to compare
    EXPECT_NEAR(q.step, number(entry["step"]), 1e-8) << bits;
  }
}

TEST(UniformQuantizer, IsTheOptimumOfTheUniformLawAndOfOneBit) {
  for (int bits = 1; bits <= 8; ++bits) {
    const UniformQuantizer q = optimal_uniform(density::SphereCoordinate(3), bits);
    EXPECT_NEAR(q.step, std::ldexp(2.0, -bits), 1e-13 * q.step);
    EXPECT_NEAR(q.distortion, std::ldexp(1.0, -2 * bits) / 3, 1e-13 * q.distortion);
    EXPECT_NEAR(q.entropy, bits, 1e-12);
  }
  for (const std::int64_t d : {2, 4, 128}) {
    const UniformQuantizer q = optimal_uniform(density::SphereCoordinate(d), 1);
    const Codebook book = sphere_codebook(d, 1);
    EXPECT_NEAR(q.step, 2 * book.centroids()[1], 1e-12 * q.step);
    EXPECT_NEAR(q.distortion, book.distortion(), 1e-13 * q.distortion);
  }
}

TEST(UniformQuantizer, IsNeverBetterThanTheOptimum) {
  for (const std::int64_t d : {2, 4, 16, 128, 4096}) {
    for (int bits = 2; bits <= 8; ++bits) {
      EXPECT_GT(optimal_uniform(density::SphereCoordinate(d), bits).distortion, sphere_codebook(d, bits).distortion());
    }
  }
}

TEST(UniformQuantizer, RefusesWhatItCannotDo) {
  EXPECT_THROW(optimal_uniform(density::Gaussian(), 0), InvalidArgument);
  EXPECT_THROW(optimal_uniform(density::Gaussian(), 11), InvalidArgument);
  EXPECT_THROW(optimal_uniform(density::TruncatedGaussian(0, 1, 0, 4), 3), InvalidArgument);
  EXPECT_THROW(entropy_coded_uniform(density::Gaussian(), 0), InvalidArgument);
  EXPECT_THROW(entropy_coded_uniform(density::Gaussian(), std::nan("")), InvalidArgument);
}

// At high rate D = (pi e / 6) 4^-H (Gish & Pierce 1968), and the entropy asked for is the entropy got.
TEST(EntropyCodedUniform, TendsToGishAndPierce) {
  const double limit = std::numbers::pi * std::numbers::e / 6;
  for (const double entropy : {4.0, 6.0, 8.0}) {
    const UniformQuantizer q = entropy_coded_uniform(density::Gaussian(), entropy);
    EXPECT_NEAR(q.entropy, entropy, 1e-12);
    EXPECT_NEAR(q.distortion * std::pow(4, entropy), limit, 1e-3 * limit) << entropy;
  }
  // At equal entropy it beats the code of the Lloyd-Max table.
  const Codebook book = gaussian_codebook(4);
  EXPECT_LT(entropy_coded_uniform(density::Gaussian(), book.entropy()).distortion, book.distortion());
}

TEST(Huffman, AgreesWithTheGoldenValues) {
  const nlohmann::json all = golden();
  for (const auto& [key, entry] : all["coding"].items()) {
    const std::size_t colon = key.find(':');
    const int bits = std::stoi(key.substr(colon + 1));
    const LloydMaxResult result =
        key.starts_with("inf") ? lloyd_max(density::Gaussian(), {.bits = bits})
                               : lloyd_max(density::SphereCoordinate(std::stol(key.substr(0, colon))), {.bits = bits});
    EXPECT_NEAR(result.codebook.entropy(), number(entry["entropy"]), 1e-12) << key;
    EXPECT_NEAR(huffman_rate(result.probabilities), number(entry["huffman"]), 1e-12) << key;
  }
}

TEST(Huffman, LengthsMakeACompletePrefixCode) {
  EXPECT_EQ(huffman_lengths(std::vector<double>{1}), std::vector<int>{0});
  EXPECT_EQ(huffman_lengths(std::vector<double>{0.5, 0.25, 0.125, 0.125}), (std::vector<int>{1, 2, 3, 3}));
  for (int bits = 1; bits <= 8; ++bits) {
    const LloydMaxResult result = lloyd_max(density::SphereCoordinate(64), {.bits = bits});
    double kraft = 0;
    for (const int length : huffman_lengths(result.probabilities)) kraft += std::ldexp(1.0, -length);
    EXPECT_EQ(kraft, 1);
    EXPECT_GE(huffman_rate(result.probabilities), result.codebook.entropy() - 1e-12);
    EXPECT_LT(huffman_rate(result.probabilities), result.codebook.entropy() + 1);
  }
  EXPECT_THROW(huffman_lengths({}), InvalidArgument);
  EXPECT_THROW(huffman_lengths(std::vector<double>{0.5, -0.1}), InvalidArgument);
  EXPECT_THROW(huffman_lengths(std::vector<double>{0.5, std::nan("")}), InvalidArgument);
}

}  // namespace
}  // namespace orthant::codebook
