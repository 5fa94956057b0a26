#include "orthant/quantizer/fp8_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "golden_json.h"
#include "orthant/core/error.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

constexpr Fp8Type kTypes[] = {Fp8Type::kE4M3, Fp8Type::kE5M2, Fp8Type::kE4M3Fnuz};

const char* golden_name(Fp8Type type) {
  return type == Fp8Type::kE4M3 ? "e4m3fn" : type == Fp8Type::kE5M2 ? "e5m2" : "e4m3fnuz";
}

TEST(Fp8, EveryCodeHasItsGoldenValue) {
  const auto golden = golden_json("quantizer/fp8.json");
  for (const Fp8Type type : kTypes) {
    const auto& values = golden[golden_name(type)]["values_0_to_127"];
    ASSERT_EQ(values.size(), 128U);
    for (unsigned bits = 0; bits < 128; ++bits) {
      SCOPED_TRACE(testing::Message() << golden_name(type) << " code " << bits);
      const float positive = fp8_to_float(static_cast<std::uint8_t>(bits), type);
      const float negative = fp8_to_float(static_cast<std::uint8_t>(bits | 0x80), type);
      if (values[bits].is_object()) {
        EXPECT_EQ(static_cast<double>(positive), values[bits]["value"].get<double>());
        if (bits == 0 && type == Fp8Type::kE4M3Fnuz) {
          EXPECT_TRUE(std::isnan(negative));
        } else {
          EXPECT_EQ(negative, -positive);
          EXPECT_TRUE(std::signbit(negative));
        }
      } else {
        EXPECT_FALSE(std::isfinite(positive));
        EXPECT_FALSE(std::isfinite(negative));
        EXPECT_EQ(std::isinf(positive), type == Fp8Type::kE5M2 && bits == 0x7C);
      }
    }
    EXPECT_EQ(static_cast<double>(fp8_max(type)), golden[golden_name(type)]["max"]["value"].get<double>());
  }
}

TEST(Fp8, EdgesOfTheGoldenTable) {
  const auto golden = golden_json("quantizer/fp8.json")["edges"];
  ASSERT_GT(golden.size(), 15U);
  for (const auto& edge : golden) {
    const std::string digits = edge["x"];
    const float x = std::strtof(digits.c_str(), nullptr);
    for (const Fp8Type type : kTypes) {
      for (const bool saturate : {true, false}) {
        const std::string key = std::string(golden_name(type)) + (saturate ? "_sat" : "_nosat");
        const long expected = std::strtol(edge[key]["code"].get<std::string>().c_str(), nullptr, 16);
        EXPECT_EQ(float_to_fp8(x, type, saturate), expected) << digits << ' ' << key;
      }
    }
  }
}

TEST(Fp8, EveryHalfwayPointGoesToTheEvenCodeAndItsNeighboursToTheNearest) {
  for (const Fp8Type type : kTypes) {
    for (unsigned bits = 0; bits < 127; ++bits) {
      const float low = fp8_to_float(static_cast<std::uint8_t>(bits), type);
      const float high = fp8_to_float(static_cast<std::uint8_t>(bits + 1), type);
      if (!std::isfinite(high)) break;
      const float middle = (low + high) / 2;  // exact: both have few bits
      EXPECT_EQ(float_to_fp8(low, type, true), bits);
      EXPECT_EQ(float_to_fp8(middle, type, true), bits + bits % 2);
      EXPECT_EQ(float_to_fp8(std::nextafter(middle, 0.0F), type, true), bits);
      EXPECT_EQ(float_to_fp8(std::nextafter(middle, high), type, true), bits + 1);
      if (bits == 0) continue;
      EXPECT_EQ(float_to_fp8(-low, type, true), bits | 0x80U);
    }
  }
}

TEST(Fp8, AgreesWithTheNearestOfAllCodesOnEveryBfloat16) {
  // Every 16-bit float pattern against a search over all 256 codes: no exponent, sign or subnormal is left out.
  for (const Fp8Type type : kTypes) {
    std::vector<float> values;  // ascending magnitudes = ascending codes
    for (unsigned bits = 0; bits < 128; ++bits) {
      const float v = fp8_to_float(static_cast<std::uint8_t>(bits), type);
      if (std::isfinite(v)) values.push_back(v);
    }
    for (std::uint32_t pattern = 0; pattern < 0x7F80; ++pattern) {
      const float x = std::bit_cast<float>(pattern << 16);
      const auto above = std::lower_bound(values.begin(), values.end(), x);
      std::size_t code = values.size() - 1;
      if (above == values.begin()) {
        code = 0;
      } else if (above != values.end()) {
        code = static_cast<std::size_t>(above - values.begin());
        const double up = static_cast<double>(*above) - static_cast<double>(x);
        const double down = static_cast<double>(x) - static_cast<double>(*(above - 1));
        if (down < up || (down == up && code % 2 == 1)) --code;
      }
      ASSERT_EQ(float_to_fp8(x, type, true), code) << x;
      const bool sign_kept = code > 0 || type != Fp8Type::kE4M3Fnuz;
      ASSERT_EQ(float_to_fp8(-x, type, true), sign_kept ? code | 0x80U : 0U) << -x;
    }
  }
}

TEST(Fp8Format, ScalesOfTheGoldenExample) {
  const auto golden = golden_json("quantizer/fp8.json")["scales"];
  const auto input = golden["input"].get<std::vector<std::vector<std::vector<float>>>>();
  float tensor_peak = 0;
  for (const auto& head : input) {
    for (const float v : head[0]) tensor_peak = std::max(tensor_peak, std::fabs(v));
  }
  const std::pair<const char*, ScaleScope> cases[] = {{"fixed 1.0", ScaleScope::kNone},
                                                      {"per tensor amax/448", ScaleScope::kTensor},
                                                      {"per head amax/448", ScaleScope::kHead},
                                                      {"per head amax/448", ScaleScope::kToken}};
  for (const auto& [name, scope] : cases) {
    for (std::size_t h = 0; h < 2; ++h) {
      const std::vector<float>& x = input[h][0];
      const float head_peak = std::fabs(
          *std::max_element(x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
      const float scale = fp8_scale(scope == ScaleScope::kTensor ? tensor_peak : head_peak, Fp8Type::kE4M3);
      const Fp8Format format(Fp8Type::kE4M3, 4, scope, scale, true);
      const std::vector<float> y = round_trip(format, x);
      for (std::size_t j = 0; j < 4; ++j) {
        // The golden scale is a double, ours its nearest float: one rounding of scale and one of the product.
        const double expected = golden["results"][name]["output"][h][0][j];
        EXPECT_NEAR(static_cast<double>(y[j]), expected, 0x1p-23 * std::fabs(expected)) << name << ' ' << h << ' ' << j;
      }
    }
  }
}

TEST(Fp8Format, BytesAndDescription) {
  EXPECT_EQ(Fp8Format(Fp8Type::kE4M3, 128, ScaleScope::kNone, 0, true).bytes_per_vector(), 128U);
  EXPECT_EQ(Fp8Format(Fp8Type::kE5M2, 128, ScaleScope::kHead, 2, true).bytes_per_vector(), 128U);
  const Fp8Format token(Fp8Type::kE4M3Fnuz, 128, ScaleScope::kToken, 0, false);
  EXPECT_EQ(token.bytes_per_vector(), 132U);
  EXPECT_EQ(token.describe(), "fp8:e4m3fnuz,scale=token,saturate=0");
  for (const float bad : {0.0F, -1.0F, INFINITY, NAN}) {
    EXPECT_THROW(Fp8Format(Fp8Type::kE4M3, 4, ScaleScope::kTensor, bad, true), InvalidArgument);
  }
}

TEST(Fp8Format, DegenerateRowsAreDefined) {
  for (const Fp8Type type : kTypes) {
    const Fp8Format token(type, 4, ScaleScope::kToken, 0, true);
    EXPECT_EQ(round_trip(token, std::vector<float>(4, 0.0F)), std::vector<float>(4, 0.0F));
    for (const float v : {1e-45F, 1e-40F, 1e30F, 3e38F}) {
      const std::vector<float> y = round_trip(token, std::vector<float>{v, -v, 0, v / 2});
      // The extreme meets the largest code; a subnormal scale has few bits, so its quotient is only near it.
      EXPECT_NEAR(y[0] / v, 1, v < 1e-37F ? 0.25 : 1e-6) << v;
      EXPECT_EQ(y[1], -y[0]);
    }
    const Fp8Format fixed(type, 1, ScaleScope::kNone, 0, true);
    EXPECT_EQ(round_trip(fixed, std::vector<float>{1e30F})[0], fp8_max(type));
    const Fp8Format wrapping(type, 1, ScaleScope::kNone, 0, false);
    EXPECT_FALSE(std::isfinite(round_trip(wrapping, std::vector<float>{1e30F})[0]));
    EXPECT_THROW(encode_one(fixed, std::vector<float>{NAN}), InvalidArgument);
    EXPECT_THROW(encode_one(fixed, std::vector<float>{-INFINITY}), InvalidArgument);
  }
}

TEST(Fp8Format, CodingIsIdempotentAndErrorStaysBelowHalfAStep) {
  for (const Fp8Type type : kTypes) {
    const Fp8Format format(type, 64, ScaleScope::kNone, 0, true);
    const float half_step = type == Fp8Type::kE5M2 ? 0x1p-3F : 0x1p-4F;  // relative, in the normal range
    for (std::uint64_t trial = 0; trial < 100; ++trial) {
      const std::vector<float> x = normal_vector(64, trial, 10);
      const std::vector<float> y = round_trip(format, x);
      EXPECT_EQ(round_trip(format, y), y);
      for (std::size_t j = 0; j < 64; ++j) {
        EXPECT_LE(std::fabs(y[j] - x[j]), std::max(half_step * std::fabs(x[j]), 0x1p-10F));
      }
    }
  }
}

}  // namespace
}  // namespace orthant::quantizer
