// Definitions and edges; what is measured against theory is in turbo_mse_distortion_test.cc.
#include "orthant/quantizer/turbo_mse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"
#include "orthant/core/packed_codes.h"
#include "orthant/quantizer/method.h"
#include "orthant/transform/identity.h"
#include "orthant/transform/make_rotation.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

using codebook::sphere_codebook;

TurboMse turbo(std::size_t d, int bits, const char* rotation, TurboMseOptions options = {}) {
  return {transform::make_rotation(rotation, d, 5), sphere_codebook(static_cast<std::int64_t>(d), bits), options};
}

TEST(TurboMse, BytesAreTheBuffer) {
  const std::size_t expected[] = {2, 18, 34, 50, 66, 82, 98, 114, 130};
  for (int bits = 0; bits <= 8; ++bits) {
    EXPECT_EQ(turbo(128, bits, "none").bytes_per_vector(), expected[bits]);
    EXPECT_EQ(turbo(128, bits, "none", {ScaleRule::kRaw, ScaleFormat::kFloat}).bytes_per_vector(), expected[bits] + 2);
  }
  EXPECT_EQ(turbo(13, 3, "none").bytes_per_vector(), 2U + 5U);
  EXPECT_EQ(turbo(128, 4, "none").bits_per_element(), 4.125);
}

TEST(TurboMse, DescriptionsAreMethodStrings) {
  for (const char* text : {"turbo-mse:4", "turbo-mse:0,rotation=none", "turbo-mse:3,norm=f32,rotation=hadamard:3",
                           "eden:2", "eden:2,scale=mse,norm=f32,rotation=kac:4", "eden:1,scale=matched"}) {
    const Method method = parse_method(text);
    ScaleRule rule = ScaleRule::kRaw;
    if (method.family() == "eden") {
      const std::string& scale = method.text("scale");
      rule = scale == "mse" ? ScaleRule::kMse : scale == "matched" ? ScaleRule::kMatched : ScaleRule::kUnbiased;
    }
    const ScaleFormat format = method.text("norm") == "f16" ? ScaleFormat::kHalf : ScaleFormat::kFloat;
    const TurboMse quantizer =
        turbo(16, static_cast<int>(method.integer("bits")), method.text("rotation").c_str(), {rule, format});
    EXPECT_EQ(quantizer.describe(), method.to_string());
  }
}

TEST(TurboMse, RefusesACodebookOfAnotherDimension) {
  const auto rotation = std::make_shared<transform::Identity>(std::size_t{32});
  EXPECT_THROW(TurboMse(rotation, sphere_codebook(128, 3)), InvalidArgument);         // full head, blocks of 32
  EXPECT_THROW(TurboMse(rotation, codebook::gaussian_codebook(3)), InvalidArgument);  // unit variance, no 1/sqrt(d)
  EXPECT_NO_THROW(TurboMse(rotation, sphere_codebook(32, 3)));
}

TEST(TurboMse, WorkedExampleAtTwoDimensions) {
  // d = 2, one bit: levels +-2/pi. x = (3, -4): norm 5 is exact in binary16, codes 1 and 0.
  const TurboMse quantizer = turbo(2, 1, "none");
  const std::vector<float> x = {3, -4};
  const std::vector<std::uint8_t> packed = encode_one(quantizer, x);
  EXPECT_EQ(packed, (std::vector<std::uint8_t>{0x00, 0x45, 0x01}));
  const std::vector<float> x_hat = decode_one(quantizer, packed);
  EXPECT_FLOAT_EQ(x_hat[0], 10 / 3.14159265F);
  EXPECT_FLOAT_EQ(x_hat[1], -10 / 3.14159265F);
  EXPECT_FLOAT_EQ(estimate_one(quantizer, std::vector<float>{1, 2}, packed), -10 / 3.14159265F);
}

TEST(TurboMse, ScaleRulesAreTheirDefinitions) {
  const std::size_t d = 24;
  for (const ScaleRule rule : {ScaleRule::kRaw, ScaleRule::kMatched, ScaleRule::kMse, ScaleRule::kUnbiased}) {
    SCOPED_TRACE(name(rule));
    const TurboMse quantizer = turbo(d, 2, "none", {rule, ScaleFormat::kFloat});
    for (std::uint64_t trial = 0; trial < 20; ++trial) {
      const std::vector<float> x = normal_vector(d, trial, 3);
      const std::vector<float> x_hat = round_trip(quantizer, x);
      double xx = 0;
      double xh = 0;
      double hh = 0;
      for (std::size_t j = 0; j < d; ++j) {
        xx += static_cast<double>(x[j]) * x[j];
        xh += static_cast<double>(x[j]) * x_hat[j];
        hh += static_cast<double>(x_hat[j]) * x_hat[j];
      }
      const double tolerance = 1e-5 * xx;  // a dozen float roundings, 24 terms
      const double kept = rule == ScaleRule::kUnbiased ? xh : hh;
      const double wanted = rule == ScaleRule::kMse ? xh : xx;
      EXPECT_TRUE(rule == ScaleRule::kRaw || std::abs(kept - wanted) <= tolerance) << kept << " " << wanted;
    }
  }
}

TEST(TurboMse, EstimateIsTheProductWithTheDecodedVector) {
  for (const char* rotation : {"none", "haar", "hadamard:3"}) {
    for (int bits = 0; bits <= 8; ++bits) {
      const TurboMse quantizer = turbo(48, bits, rotation);
      const std::vector<float> q = normal_vector(48, 100);
      const std::vector<std::uint8_t> packed = encode_one(quantizer, normal_vector(48, 101));
      const std::vector<float> x_hat = decode_one(quantizer, packed);
      double product = 0;
      double size = 0;
      for (std::size_t j = 0; j < 48; ++j) {
        product += static_cast<double>(q[j]) * x_hat[j];
        size += std::abs(static_cast<double>(q[j]) * x_hat[j]);
      }
      // Two rotations of 48 terms each, (d + 1) 2^-24 of |q| |x_hat| at most; `size` is of that order.
      EXPECT_NEAR(estimate_one(quantizer, q, packed), product, 98 * 0x1p-24 * 3 * (size + 1e-3));
    }
  }
}

TEST(TurboMse, CodesAndScalesAreWhatIsPacked) {
  const std::size_t d = 80;
  const std::size_t n = 150;  // more than two internal blocks
  Matrix<float> x(n, d);
  for (std::size_t i = 0; i < n; ++i) RngStream(4, Domain::kData, i).fill_normal(x.row(i));
  std::ranges::fill(x.row(70), 0.0F);
  for (const int bits : {1, 3, 4, 5, 8}) {
    const TurboMse quantizer = turbo(d, bits, "haar", {ScaleRule::kMse, ScaleFormat::kHalf});
    Workspace work(quantizer.workspace_bytes(n));
    Matrix<std::uint8_t> codes(n, d);
    Matrix<std::uint8_t> packed(n, quantizer.bytes_per_vector());
    std::vector<float> scales(n);
    quantizer.encode_codes(x.view(), codes.view(), scales, work);
    quantizer.encode(x.view(), packed.view(), work);
    std::vector<std::uint8_t> unpacked(d);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(load_scale(ScaleFormat::kHalf, packed.row(i).data()), scales[i]);
      unpack_codes(packed.row(i).subspan(2), bits, unpacked);
      EXPECT_TRUE(std::ranges::equal(unpacked, codes.row(i)));
      // A row alone has the bytes it has in the batch.
      EXPECT_TRUE(std::ranges::equal(encode_one(quantizer, x.row(i)), packed.row(i)));
    }
    EXPECT_EQ(work.used(), 0U);
  }
}

TEST(TurboMse, ZeroRowsAreExact) {
  for (int bits = 0; bits <= 8; ++bits) {
    for (const ScaleRule rule : {ScaleRule::kRaw, ScaleRule::kUnbiased}) {
      const TurboMse quantizer = turbo(64, bits, "haar", {rule, ScaleFormat::kHalf});
      const std::vector<float> zero(64);
      const std::vector<std::uint8_t> packed = encode_one(quantizer, zero);
      EXPECT_TRUE(std::ranges::all_of(packed, [](std::uint8_t byte) { return byte == 0; }));
      EXPECT_EQ(decode_one(quantizer, packed), zero);
      EXPECT_EQ(estimate_one(quantizer, normal_vector(64, 1), packed), 0);
    }
  }
}

TEST(TurboMse, TinyAndHugeVectorsKeepTheirCodes) {
  // Squares of 1e-23 vanish in float: ports stored such vectors as zero. Here only the scale changes.
  std::vector<float> tiny(64);
  std::vector<float> unit(64);
  for (std::size_t j = 0; j < 64; ++j) {
    tiny[j] = j % 2 == 0 ? 1e-23F : -1e-23F;
    unit[j] = tiny[j] * 1e23F;
  }
  for (const char* rotation : {"none", "haar", "hadamard:3"}) {
    const TurboMse quantizer = turbo(64, 4, rotation, {ScaleRule::kRaw, ScaleFormat::kFloat});
    const std::vector<std::uint8_t> of_tiny = encode_one(quantizer, tiny);
    const std::vector<std::uint8_t> of_unit = encode_one(quantizer, unit);
    EXPECT_TRUE(std::equal(of_tiny.begin() + 4, of_tiny.end(), of_unit.begin() + 4));
    EXPECT_FLOAT_EQ(load_scale(ScaleFormat::kFloat, of_tiny.data()), 8e-23F);
    const std::vector<float> back_tiny = decode_one(quantizer, of_tiny);
    const std::vector<float> back_unit = decode_one(quantizer, of_unit);
    for (std::size_t j = 0; j < 64; ++j) EXPECT_NEAR(back_tiny[j] * 1e23F, back_unit[j], 1e-6);

    for (const float size : {1e-44F, 1e-38F, 1e23F, 1e30F, 8e36F}) {  // the norm of the last is 6.4e37
      std::vector<float> x(64);
      for (std::size_t j = 0; j < 64; ++j) x[j] = j % 2 == 0 ? size : -size;
      const std::vector<std::uint8_t> packed = encode_one(quantizer, x);
      EXPECT_TRUE(std::equal(packed.begin() + 4, packed.end(), of_unit.begin() + 4)) << size;
      for (const float v : decode_one(quantizer, packed)) EXPECT_TRUE(std::isfinite(v));
    }
  }
}

std::string refusal(const TurboMse& quantizer, std::span<const float> x) {
  try {
    encode_one(quantizer, x);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(TurboMse, RefusesWhatItCannotKeepAndSaysWhere) {
  const TurboMse half = turbo(8, 4, "haar");
  const TurboMse single = turbo(8, 4, "haar", {ScaleRule::kRaw, ScaleFormat::kFloat});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_NE(refusal(half, std::vector<float>{0, 0, 0, nan, 0, 0, 0, 0}).find("row 0, column 3"), std::string::npos);
  EXPECT_NE(refusal(single, std::vector<float>{0, -inf, 0, nan, 0, 0, 0, 0}).find("column 1"), std::string::npos);
  EXPECT_NE(refusal(half, std::vector<float>(8, 1e30F)).find("norm=f16"), std::string::npos);
  EXPECT_NE(refusal(half, std::vector<float>(8, 1e-9F)).find("scale of row 0"), std::string::npos);
  EXPECT_NE(refusal(single, std::vector<float>(8, 3e38F)).find("scale of row 0"), std::string::npos);
  EXPECT_EQ(refusal(half, std::vector<float>(8, 20000.0F)), "");  // norm 56569
  EXPECT_EQ(refusal(half, std::vector<float>(8, 3e-5F)), "");     // norm 8.5e-5

  // Nothing is written when a later row is refused.
  Matrix<float> x(3, 8);
  x(0, 0) = 1;
  x(2, 5) = nan;
  Matrix<std::uint8_t> packed(3, half.bytes_per_vector());
  std::ranges::fill(packed.row(0), std::uint8_t{0xA5});
  Workspace work(half.workspace_bytes(3));
  EXPECT_THROW(half.encode(x.view(), packed.view(), work), InvalidArgument);
  EXPECT_TRUE(std::ranges::all_of(packed.row(0), [](std::uint8_t byte) { return byte == 0xA5; }));
}

TEST(TurboMse, SignedZerosAndTies) {
  const TurboMse quantizer = turbo(128, 3, "none");
  std::vector<float> plus(128);
  plus[0] = 1;
  std::vector<float> minus(128, -0.0F);
  minus[0] = 1;
  EXPECT_EQ(encode_one(quantizer, plus), encode_one(quantizer, minus));
  // The middle threshold is 0: zeros are ties and go to the lower index, 3.
  const std::vector<std::uint8_t> packed = encode_one(quantizer, plus);
  EXPECT_EQ(packed_code(std::span(packed).subspan(2), 3, 5), 3);
}

TEST(TurboMse, PointsOnTheCodebookComeBack) {
  // y in {c_k}^d on the unit sphere is its own code: encode(decode) changes nothing, and a second pass even less.
  for (const int bits : {1, 2, 4, 5, 8}) {
    const TurboMse quantizer = turbo(96, bits, "none", {ScaleRule::kMatched, ScaleFormat::kFloat});
    const std::vector<std::uint8_t> once = encode_one(quantizer, normal_vector(96, 8));
    const std::vector<float> decoded = decode_one(quantizer, once);
    const std::vector<std::uint8_t> twice = encode_one(quantizer, decoded);
    const std::vector<float> again = decode_one(quantizer, twice);
    // decoded = |x| c / |c|; its coordinates sit |1 - 1/|c|| off the centroids, inside their cells for these inputs.
    EXPECT_TRUE(std::equal(once.begin() + 4, once.end(), twice.begin() + 4)) << bits;
    for (std::size_t j = 0; j < 96; ++j) EXPECT_NEAR(again[j], decoded[j], 1e-6 * std::abs(decoded[j]));
  }
}

TEST(TurboMse, PowersOfTwoChangeTheScaleAlone) {
  for (const char* rotation : {"haar", "kac:2"}) {
    const TurboMse quantizer = turbo(40, 5, rotation, {ScaleRule::kUnbiased, ScaleFormat::kFloat});
    const std::vector<float> x = normal_vector(40, 3);
    const std::vector<float> base = round_trip(quantizer, x);
    for (const float factor : {0.125F, 4.0F, 1024.0F, 0x1p100F}) {
      std::vector<float> scaled = x;
      for (float& v : scaled) v *= factor;
      const std::vector<float> x_hat = round_trip(quantizer, scaled);
      for (std::size_t j = 0; j < 40; ++j) EXPECT_EQ(x_hat[j], base[j] * factor);
    }
  }
}

TEST(TurboMse, OneDimensionIsExactFromOneBitOn) {
  const TurboMse quantizer = turbo(1, 1, "haar");
  EXPECT_EQ(round_trip(quantizer, std::vector<float>{-3.5F}), (std::vector<float>{-3.5F}));
  EXPECT_EQ(round_trip(quantizer, std::vector<float>{0.25F}), (std::vector<float>{0.25F}));
}

TEST(TurboMse, RefusesOtherShapes) {
  const TurboMse quantizer = turbo(16, 4, "haar");
  Workspace work(quantizer.workspace_bytes(2));
  Matrix<float> x(2, 16);
  Matrix<float> narrow(2, 15);
  Matrix<std::uint8_t> packed(2, quantizer.bytes_per_vector());
  Matrix<std::uint8_t> short_rows(2, quantizer.bytes_per_vector() - 1);
  std::vector<float> one(1);
  EXPECT_THROW(quantizer.encode(narrow.view(), packed.view(), work), InvalidArgument);
  EXPECT_THROW(quantizer.encode(x.view(), short_rows.view(), work), InvalidArgument);
  EXPECT_THROW(quantizer.decode(packed.view(), narrow.view(), work), InvalidArgument);
  EXPECT_THROW(quantizer.estimate(x.row(0), packed.view(), one, work), InvalidArgument);
  EXPECT_THROW(quantizer.encode_codes(x.view(), packed.view(), one, work), InvalidArgument);
}

}  // namespace
}  // namespace orthant::quantizer
