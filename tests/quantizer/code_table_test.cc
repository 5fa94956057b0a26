#include "orthant/quantizer/code_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/rng.h"

namespace orthant::quantizer {
namespace {

/// The definition: midpoints of float centroids are exact in double, so is the comparison; ties to the lower index.
std::uint8_t nearest(const CodeTable& table, float y) {
  std::uint8_t code = 0;
  for (std::size_t k = 0; k + 1 < table.centroids().size(); ++k) {
    const double midpoint =
        (static_cast<double>(table.centroids()[k]) + static_cast<double>(table.centroids()[k + 1])) / 2;
    if (static_cast<double>(y) > midpoint) ++code;
  }
  return code;
}

TEST(CodeTable, CodesAreTheNearestCentroidsEvenBesideAndOnThresholds) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t d : {2, 3, 8, 128, 4096}) {
    for (int bits = 0; bits <= 8; ++bits) {
      SCOPED_TRACE("d = " + std::to_string(d) + ", bits = " + std::to_string(bits));
      const CodeTable table(codebook::sphere_codebook(d, bits));
      ASSERT_EQ(table.bits(), bits);
      std::vector<float> y = {0.0F, -0.0F, 1.0F, -1.0F, inf, -inf, 1e30F, -1e30F, 1e-40F};
      for (const float t : table.thresholds()) {
        y.insert(y.end(), {t, std::nextafter(t, -inf), std::nextafter(t, inf)});
      }
      y.insert(y.end(), table.centroids().begin(), table.centroids().end());
      RngStream rng(1, Domain::kData, 0);
      for (int i = 0; i < 500; ++i) y.push_back(static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(d))));
      std::vector<std::uint8_t> codes(y.size());
      table.encode(y, codes);
      for (std::size_t j = 0; j < y.size(); ++j) {
        EXPECT_EQ(codes[j], nearest(table, y[j])) << y[j];
      }
    }
  }
}

TEST(CodeTable, DecodeAndDot) {
  const CodeTable table(codebook::sphere_codebook(16, 3));
  std::vector<std::uint8_t> codes(19);
  std::vector<float> p(19);
  for (std::size_t j = 0; j < codes.size(); ++j) {
    codes[j] = static_cast<std::uint8_t>(j % 8);
    p[j] = static_cast<float>(j) - 7;
  }
  std::vector<float> y(19);
  table.decode(codes, y);
  double expected = 0;
  for (std::size_t j = 0; j < y.size(); ++j) {
    EXPECT_EQ(y[j], table.centroids()[codes[j]]);
    expected += static_cast<double>(y[j]) * p[j];
  }
  EXPECT_NEAR(table.dot(p, codes), expected, 1e-14);
}

TEST(CodeTable, RefusesCodebooksThatFloatCannotHold) {
  EXPECT_THROW(CodeTable(codebook::sphere_codebook(8, 9)), InvalidArgument);
  EXPECT_THROW(CodeTable(codebook::Codebook("close", 2, 1, {1, 1 + 1e-12}, 0, 1)), InvalidArgument);
}

}  // namespace
}  // namespace orthant::quantizer
