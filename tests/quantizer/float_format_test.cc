#include "orthant/quantizer/float_format.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "orthant/core/error.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

TEST(FloatFormat, StoresWhatItsNameSays) {
  const std::vector<float> x = {0.0F, -0.0F, 1.0F, -2.5F, 0x1p-24F, 65519.0F, 1e-40F, 1.0F + 0x1p-8F};
  const FloatFormat f32(FloatType::kF32, x.size());
  const FloatFormat f16(FloatType::kF16, x.size());
  const FloatFormat bf16(FloatType::kBf16, x.size());
  EXPECT_EQ(f32.bytes_per_vector(), 32U);
  EXPECT_EQ(f16.bytes_per_vector(), 16U);
  EXPECT_DOUBLE_EQ(bf16.bits_per_element(), 16.0);
  EXPECT_EQ(round_trip(f32, x), x);
  EXPECT_EQ(round_trip(f16, x), (std::vector<float>{0, 0, 1, -2.5F, 0x1p-24F, 65504, 0, 1 + 0x1p-8F}));
  EXPECT_TRUE(std::signbit(round_trip(f16, x)[1]));
  // 1 + 2^-8 is halfway between two bfloat16 numbers: the tie goes to the even one.
  EXPECT_EQ(round_trip(bf16, x)[7], 1.0F);
  EXPECT_EQ(encode_one(bf16, x)[4], 0x80);  // 1.0 is 0x3F80, low byte first
  EXPECT_EQ(encode_one(bf16, x)[5], 0x3F);
}

TEST(FloatFormat, RefusesWhatItCannotHold) {
  const FloatFormat f16(FloatType::kF16, 3);
  const FloatFormat bf16(FloatType::kBf16, 3);
  const FloatFormat f32(FloatType::kF32, 3);
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {inf, -inf, nan}) {
    for (const FloatFormat* format : {&f16, &bf16, &f32}) {
      EXPECT_THROW(encode_one(*format, std::vector<float>{0, bad, 0}), InvalidArgument) << bad;
    }
  }
  EXPECT_THROW(encode_one(f16, std::vector<float>{0, 0, -65520}), InvalidArgument);
  EXPECT_NO_THROW(encode_one(f16, std::vector<float>{0, 0, std::nextafter(65520.0F, 0.0F)}));
  EXPECT_THROW(encode_one(bf16, std::vector<float>{FLT_MAX, 0, 0}), InvalidArgument);
  EXPECT_NO_THROW(encode_one(bf16, std::vector<float>{1e38F, 0, 0}));
  EXPECT_EQ(round_trip(f32, std::vector<float>{FLT_MAX, -FLT_MAX, 1e30F}),
            (std::vector<float>{FLT_MAX, -FLT_MAX, 1e30F}));
}

TEST(FloatFormat, NothingIsWrittenWhenAnyRowIsRefused) {
  const FloatFormat f16(FloatType::kF16, 2);
  const std::vector<float> x = {1, 2, 3, NAN};
  std::vector<std::uint8_t> packed(8, 0xAB);
  Workspace work(f16.workspace_bytes(2));
  try {
    f16.encode({x.data(), 2, 2}, {packed.data(), 2, 4}, work);
    FAIL() << "NaN was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "encode: row 1, column 1, got nan, expected a finite number");
  }
  EXPECT_EQ(packed, std::vector<std::uint8_t>(8, 0xAB));
}

TEST(FloatFormat, ShapesAreChecked) {
  const FloatFormat f16(FloatType::kF16, 4);
  std::vector<float> x(8);
  std::vector<std::uint8_t> packed(16);
  Workspace work(f16.workspace_bytes(2));
  EXPECT_THROW(f16.encode({x.data(), 2, 3}, {packed.data(), 2, 8}, work), InvalidArgument);
  EXPECT_THROW(f16.encode({x.data(), 2, 4}, {packed.data(), 2, 7}, work), InvalidArgument);
  EXPECT_THROW(f16.encode({x.data(), 1, 4}, {packed.data(), 2, 8}, work), InvalidArgument);
  EXPECT_THROW(f16.decode({packed.data(), 2, 8}, {x.data(), 1, 4}, work), InvalidArgument);
  EXPECT_THROW(f16.estimate({x.data(), 3}, {packed.data(), 2, 8}, {x.data(), 2}, work), InvalidArgument);
  EXPECT_THROW(FloatFormat(FloatType::kF32, 0), InvalidArgument);
}

TEST(FloatFormat, EstimateIsTheProductWithTheDecodedVector) {
  const FloatFormat f16(FloatType::kF16, 5);
  const std::vector<float> x = {1, 2, 3, 4, 5};
  EXPECT_EQ(estimate_one(f16, std::vector<float>{1, -1, 1, -1, 2}, encode_one(f16, x)), 8.0F);
}

}  // namespace
}  // namespace orthant::quantizer
