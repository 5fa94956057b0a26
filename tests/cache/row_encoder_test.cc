#include "orthant/cache/row_encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "cache/coded_rows.h"
#include "orthant/cache/target.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"
#include "orthant/transform/make_rotation.h"

namespace orthant::cache {
namespace {

std::shared_ptr<const quantizer::TurboMse> turbo(std::size_t d, int bits, const char* rotation,
                                                 quantizer::ScaleRule rule = quantizer::ScaleRule::kRaw) {
  return std::make_shared<const quantizer::TurboMse>(transform::make_rotation(rotation, d, 5),
                                                     codebook::sphere_codebook(static_cast<std::int64_t>(d), bits),
                                                     quantizer::TurboMseOptions{rule, quantizer::ScaleFormat::kHalf});
}

// Codes equal the quantizer's but within float rounding of a threshold. 200 rows of 100 coordinates: the chance that
// one lies within 2^-20 of one of at most 255 thresholds (density at most 4 in units of the standard deviation of the
// coordinate, which is 1 / sqrt d) is below 20000 * 255 * 2^-19 * 0.4 * ... for 8 bits a few; 20 are allowed.
TEST(RowEncoder, CodesAndScalesAreTheQuantizers) {
  constexpr std::size_t n = 200;
  constexpr std::size_t d = 100;
  const Matrix<float> x = random_queries(n, d, 9);
  for (const std::string& target : usable_targets()) {
    for (const char* rotation : {"haar", "hadamard:3"}) {
      for (int bits = 1; bits <= 8; ++bits) {
        for (const quantizer::ScaleRule rule : {quantizer::ScaleRule::kRaw, quantizer::ScaleRule::kUnbiased}) {
          const auto quantizer = turbo(d, bits, rotation, rule);
          const RowEncoder encoder(quantizer, target);
          Matrix<std::uint8_t> codes(n, d);
          Matrix<std::uint8_t> expected(n, d);
          Matrix<float> scales(n, 1);
          std::vector<float> expected_scales(n);
          Matrix<float> y(n, d);
          Workspace work(std::max(encoder.workspace_bytes() + quantizer->rotation().workspace_bytes(n),
                                  quantizer->workspace_bytes(n)));
          encoder.encode(x.view(), codes.view(), scales.view(), y.view(), work);
          quantizer->encode_codes(x.view(), expected.view(), expected_scales, work);
          std::size_t different = 0;
          for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < d; ++j) {
              if (codes(i, j) != expected(i, j)) ++different;
              ASSERT_LE(std::abs(int{codes(i, j)} - int{expected(i, j)}), 1);
            }
            // One step of half precision: 2^-10 relative.
            ASSERT_NEAR(scales(i, 0), expected_scales[i], expected_scales[i] * 0x1p-10F);
          }
          EXPECT_LE(different, 20U) << rotation << ' ' << bits << ' ' << target;
        }
      }
    }
  }
}

TEST(RowEncoder, RowsOfEverySizeAreCoded) {
  constexpr std::size_t d = 64;
  const auto quantizer = turbo(d, 4, "hadamard:3");
  const RowEncoder encoder(quantizer);
  Matrix<float> x(4, d);
  const Matrix<float> row = random_queries(1, d, 2);
  for (std::size_t j = 0; j < d; ++j) {
    x(1, j) = row(0, j) * 1e-3F;
    x(2, j) = row(0, j) * 1000;
    x(3, j) = row(0, j);
  }
  Matrix<std::uint8_t> codes(4, d);
  Matrix<float> scales(4, 1);
  Matrix<float> y(4, d);
  Workspace work(encoder.workspace_bytes());
  encoder.encode(x.view(), codes.view(), scales.view(), y.view(), work);
  EXPECT_EQ(scales(0, 0), 0);
  for (std::size_t j = 0; j < d; ++j) {
    EXPECT_EQ(codes(1, j), codes(3, j));
    EXPECT_EQ(codes(2, j), codes(3, j));
  }
  x(2, 5) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(encoder.encode(x.view(), codes.view(), scales.view(), y.view(), work), InvalidArgument);
  for (std::size_t j = 0; j < d; ++j) x(2, j) = 1e30F;  // its square overflows, its scale does not fit a half
  EXPECT_THROW(encoder.encode(x.view(), codes.view(), scales.view(), y.view(), work), InvalidArgument);
}

// End to end: scores of the cache against the quantizer's own estimates of the same packed rows.
TEST(RowEncoder, CachesScoreWhatTheQuantizerEstimates) {
  constexpr std::size_t n = 150;
  constexpr std::size_t d = 128;
  const Matrix<float> x = random_queries(n, d, 9);
  const Matrix<float> query = random_queries(1, d, 10);
  for (const int bits : {2, 4, 8}) {
    const auto quantizer = turbo(d, bits, "haar", quantizer::ScaleRule::kUnbiased);
    const RowEncoder encoder(quantizer);
    KeyCache cache(encoder.format(), {.precision = Precision::kExact, .first_exact = 2, .last_exact = 3});
    Workspace work(std::max(encoder.workspace_bytes(), quantizer->workspace_bytes(n)));
    encoder.append(x.view().middle_rows(0, 100), cache, work);
    encoder.append(x.view().middle_rows(100, 50), cache, work);
    Matrix<float> rotated(1, d);
    quantizer->rotation().apply_queries(query.view(), rotated.view(), work);
    Matrix<float> scores(1, n);
    Workspace score_work(cache.workspace_bytes(1));
    cache.scores(rotated.view(), 1, 0, scores.view(), score_work);
    Matrix<std::uint8_t> packed(n, quantizer->bytes_per_vector());
    std::vector<float> estimates(n);
    quantizer->encode(x.view(), packed.view(), work);
    quantizer->estimate(query.row(0), packed.view(), estimates, work);
    for (std::size_t i = 0; i < n; ++i) {
      double exact = 0;
      for (std::size_t j = 0; j < d; ++j) exact += double{query(0, j)} * double{x(i, j)};
      const bool window = i < 2 || i >= n - 3;
      // Vectors of norm about 11: products of size 11 to 50; float rounding and one half step of the scale.
      EXPECT_NEAR(double{scores(0, i)}, window ? exact : double{estimates[i]}, window ? 1e-3 : 0.05) << i;
    }
  }
}

// Nothing of a refused call is stored, and the message names the row of the call.
TEST(RowEncoder, RefusedRowsLeaveTheCacheAsItWas) {
  const auto turbo = std::make_shared<const quantizer::TurboMse>(transform::make_rotation("hadamard:1", 64, 1),
                                                                 codebook::sphere_codebook(64, 4));
  const RowEncoder encoder(turbo);
  KeyCache cache(encoder.format());
  Workspace work(encoder.workspace_bytes());
  const Matrix<float> good = random_queries(500, 64, 4);
  encoder.append(good.view(), cache, work);
  for (const float bad : {NAN, INFINITY, 1e30F}) {  // the last one's scale does not fit half precision
    Matrix<float> rows = random_queries(500, 64, 5);
    rows(400, 7) = bad;
    EXPECT_THROW(encoder.append(rows.view(), cache, work), InvalidArgument) << bad;
    EXPECT_EQ(cache.size(), 500U);
    if (bad == 1e30F) continue;
    try {
      encoder.append(rows.view(), cache, work);
    } catch (const InvalidArgument& e) {
      EXPECT_NE(std::string(e.what()).find("row 400, column 7"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace orthant::cache
