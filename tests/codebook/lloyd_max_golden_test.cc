#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orthant/codebook/codebook_io.h"
#include "orthant/codebook/lloyd_max.h"
#include "test_paths.h"

namespace orthant::codebook {
namespace {

std::vector<double> numbers(const nlohmann::json& list) {
  std::vector<double> values;
  for (const auto& text : list) values.push_back(std::stod(text.get<std::string>()));
  return values;
}

// tests/golden/codebook/lloyd_max.json: an independent solver in 70-digit arithmetic; 30 digits, read here as the
// nearest doubles. Our extended-precision result, rounded once, is allowed one unit in the last place.
TEST(LloydMaxGolden, AgreesToTheLastDigit) {
  std::ifstream file(golden_dir() / "codebook/lloyd_max.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden["codebooks"].size(), 80U);
  const auto same = [](double got, double expected) {
    return std::abs(got - expected) <= std::nextafter(std::abs(expected), HUGE_VAL) - std::abs(expected);
  };
  for (const auto& entry : golden["codebooks"]) {
    const std::int64_t d = entry["d"];
    const int bits = entry["bits"];
    SCOPED_TRACE(testing::Message() << "d=" << d << " bits=" << bits);
    const LloydMaxResult result = d == 0 ? lloyd_max(density::Gaussian(), {.bits = bits})
                                         : lloyd_max(density::SphereCoordinate(d), {.bits = bits});
    EXPECT_LT(result.residual, 1e-13);
    EXPECT_PRED2(same, result.codebook.distortion(), std::stod(entry["distortion"].get<std::string>()));
    EXPECT_NEAR(result.codebook.entropy(), std::stod(entry["entropy"].get<std::string>()), 4e-16 * bits);
    const std::vector<double> c = numbers(entry["centroids"]);
    const std::vector<double> t = numbers(entry["boundaries"]);
    const std::vector<double> p = numbers(entry["probabilities"]);
    ASSERT_EQ(result.codebook.size(), 2 * c.size());
    for (std::size_t k = 0; k < c.size(); ++k) {
      EXPECT_PRED2(same, result.codebook.centroids()[c.size() + k], c[k]) << k;
      EXPECT_PRED2(same, result.codebook.centroids()[c.size() - 1 - k], -c[k]) << k;
      EXPECT_NEAR(result.probabilities[c.size() + k], p[k], 4e-16 * p[k]) << k;
    }
    for (std::size_t k = 0; k < t.size(); ++k)
      EXPECT_PRED2(same, result.codebook.boundaries()[c.size() + k], t[k]) << k;
  }
}

// The published files promise correct rounding: no unit is allowed.
TEST(PublishedCodebooks, AreTheNearestDoublesOfTheGoldenDigits) {
  std::ifstream file(golden_dir() / "codebook/lloyd_max.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const auto& entry : golden["codebooks"]) {
    const std::int64_t d = entry["d"];
    const std::string law = d == 0 ? "gaussian" : "sphere_d" + std::to_string(d);
    const CodebookFile published =
        read_codebook(codebooks_dir() / (law + "_b" + std::to_string(entry["bits"].get<int>()) + ".json"));
    SCOPED_TRACE(testing::Message() << law << " bits=" << entry["bits"]);
    const Codebook& book = published.codebook;
    EXPECT_EQ(book.distortion(), std::stod(entry["distortion"].get<std::string>()));
    EXPECT_EQ(book.entropy(), std::stod(entry["entropy"].get<std::string>()));
    const std::vector<double> c = numbers(entry["centroids"]);
    const std::vector<double> t = numbers(entry["boundaries"]);
    const std::vector<double> p = numbers(entry["probabilities"]);
    ASSERT_EQ(book.size(), 2 * c.size());
    for (std::size_t k = 0; k < c.size(); ++k) {
      EXPECT_EQ(book.centroids()[c.size() + k], c[k]) << k;
      EXPECT_EQ(book.centroids()[c.size() - 1 - k], -c[k]) << k;
      EXPECT_EQ(published.probabilities[c.size() + k], p[k]) << k;
    }
    for (std::size_t k = 0; k < t.size(); ++k) EXPECT_EQ(book.boundaries()[c.size() + k], t[k]) << k;
  }
}

}  // namespace
}  // namespace orthant::codebook
