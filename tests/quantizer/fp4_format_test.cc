#include "orthant/quantizer/fp4_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "golden_json.h"
#include "orthant/core/error.h"
#include "orthant/core/fp4.h"
#include "orthant/core/packed_codes.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

TEST(Fp4, EveryCodeAndEveryMidpoint) {
  const float values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (std::uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(e2m1_to_float(code), values[code]);
    EXPECT_EQ(e2m1_to_float(code | 8), -values[code]);
    EXPECT_EQ(float_to_e2m1(values[code]), code);
    EXPECT_EQ(float_to_e2m1(-values[code]), code | 8);
    if (code == 7) break;
    const float middle = (values[code] + values[code + 1]) / 2;
    EXPECT_EQ(float_to_e2m1(middle), code + code % 2);
    EXPECT_EQ(float_to_e2m1(std::nextafter(middle, 0.0F)), code);
    EXPECT_EQ(float_to_e2m1(std::nextafter(middle, 9.0F)), code + 1);
  }
  EXPECT_EQ(float_to_e2m1(1e30F), 7);
  const nlohmann::json ties = golden_json("quantizer/fp4_ggml.json")["e2m1_ties"];
  ASSERT_FALSE(ties.empty());
  for (const auto& [digits, value] : ties.items()) {
    EXPECT_EQ(e2m1_to_float(float_to_e2m1(std::strtof(digits.c_str(), nullptr))), value.get<float>()) << digits;
  }
}

TEST(Nvfp4, WorkedExample) {
  const auto golden = golden_json("quantizer/fp4_ggml.json");
  const std::vector<float> x = golden["x"];
  const auto& expected = golden["nvfp4"];
  const float global = nvfp4_global_scale(3.5F);
  EXPECT_EQ(static_cast<double>(global), expected["global"].get<double>());
  const Nvfp4Format format(32, ScaleScope::kTensor, global);
  EXPECT_DOUBLE_EQ(format.bits_per_element(), 4.5);
  const std::vector<std::uint8_t> packed = encode_one(format, x);
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(fp8_to_float(packed[9 * b], Fp8Type::kE4M3), expected["block_scales"][b].get<float>());
    std::vector<std::uint8_t> codes(16);
    unpack_codes({packed.data() + 9 * b + 1, 8}, 4, codes);
    for (std::size_t j = 0; j < 16; ++j) EXPECT_EQ(codes[j], expected["codes"][16 * b + j]) << b << ' ' << j;
  }
  const std::vector<float> y = decode_one(format, packed);
  double square = 0;
  for (std::size_t j = 0; j < 32; ++j) {
    const double value = expected["output"][j];
    EXPECT_NEAR(static_cast<double>(y[j]), value, 0x1p-23 * std::fabs(value));  // two float products
    square += std::pow(static_cast<double>(y[j] - x[j]), 2);
  }
  EXPECT_NEAR(square / 32, expected["mse"].get<double>(), 1e-8);

  // The row's own scale gives the same codes here, and four bytes more.
  const Nvfp4Format token(32, ScaleScope::kToken, 0);
  EXPECT_EQ(token.bytes_per_vector(), 22U);
  EXPECT_EQ(round_trip(token, x), y);
}

TEST(Mxfp4, WorkedExample) {
  const auto golden = golden_json("quantizer/fp4_ggml.json");
  const std::vector<float> x = golden["x"];
  const auto& expected = golden["mxfp4"];
  const Mxfp4Format format(32);
  EXPECT_DOUBLE_EQ(format.bits_per_element(), 4.25);
  const std::vector<std::uint8_t> packed = encode_one(format, x);
  EXPECT_EQ(packed[0] - 127, expected["exponents"][0].get<int>());
  std::vector<std::uint8_t> codes(32);
  unpack_codes({packed.data() + 1, 16}, 4, codes);
  EXPECT_EQ(codes, expected["codes"].get<std::vector<std::uint8_t>>());
  EXPECT_EQ(decode_one(format, packed), expected["output"].get<std::vector<float>>());
}

TEST(Fp4Formats, DegenerateRowsAreDefined) {
  const Nvfp4Format nv(32, ScaleScope::kToken, 0);
  const Nvfp4Format none(32, ScaleScope::kNone, 0);
  const Mxfp4Format mx(32);
  for (const RowCodec* format :
       {static_cast<const RowCodec*>(&nv), static_cast<const RowCodec*>(&none), static_cast<const RowCodec*>(&mx)}) {
    const std::string name = format->describe();
    EXPECT_EQ(round_trip(*format, std::vector<float>(32, 0.0F)), std::vector<float>(32, 0.0F)) << name;
    EXPECT_THROW(encode_one(*format, std::vector<float>(32, NAN)), InvalidArgument) << name;
    EXPECT_THROW(encode_one(*format, std::vector<float>(32, INFINITY)), InvalidArgument) << name;
    for (const float v : {1e-45F, 1e-38F, 1e30F, std::numeric_limits<float>::max()}) {
      for (const float y : round_trip(*format, std::vector<float>(32, v))) EXPECT_TRUE(std::isfinite(y)) << name << v;
    }
  }
  EXPECT_FLOAT_EQ(round_trip(nv, std::vector<float>(32, 1e30F))[0], 1e30F);
  EXPECT_EQ(round_trip(none, std::vector<float>(32, 1e30F))[0], 6 * 448.0F);  // the largest value at g = 1
  // 1e30 = 1.58 2^99: 6.31 steps of 2^97 saturate at 6.
  EXPECT_EQ(round_trip(mx, std::vector<float>(32, 1e30F))[0], 6 * 0x1p97F);
  EXPECT_EQ(round_trip(mx, std::vector<float>(32, 0x1p-127F))[0], 0x1p-127F);
  EXPECT_THROW(Mxfp4Format(48), InvalidArgument);
  EXPECT_THROW(Nvfp4Format(40, ScaleScope::kNone, 0), InvalidArgument);
  EXPECT_THROW(Nvfp4Format(32, ScaleScope::kHead, 0), InvalidArgument);
}

TEST(Mxfp4, PowersOfTwoScaleTheCodesExactly) {
  const Mxfp4Format format(32);
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    const std::vector<float> x = normal_vector(32, trial);
    const std::vector<float> y = round_trip(format, x);
    EXPECT_EQ(round_trip(format, y), y);
    for (const int k : {-100, -3, 5, 100}) {
      std::vector<float> scaled = x;
      for (float& v : scaled) v = std::ldexp(v, k);
      const std::vector<float> z = round_trip(format, scaled);
      for (std::size_t j = 0; j < 32; ++j) EXPECT_EQ(z[j], std::ldexp(y[j], k));
    }
  }
}

}  // namespace
}  // namespace orthant::quantizer
