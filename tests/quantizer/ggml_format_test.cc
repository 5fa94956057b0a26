#include "orthant/quantizer/ggml_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "golden_json.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"
#include "quantizer/coding.h"

namespace orthant::quantizer {
namespace {

constexpr GgmlType kTypes[] = {GgmlType::kQ8_0, GgmlType::kQ5_1, GgmlType::kQ5_0,
                               GgmlType::kQ4_1, GgmlType::kQ4_0, GgmlType::kIq4Nl};

std::string hex(const std::vector<std::uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

TEST(GgmlFormat, BytesAreThoseOfTheReferenceCode) {
  const auto golden = golden_json("quantizer/ggml_blocks.json")["blocks"];
  ASSERT_EQ(golden.size(), 40U);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    std::vector<float> x;
    for (const std::string digits : golden[i]["x"]) x.push_back(std::strtof(digits.c_str(), nullptr));
    for (const GgmlType type : kTypes) {
      const GgmlFormat format(type, 32);
      EXPECT_EQ(hex(encode_one(format, x)), golden[i][format.describe()].get<std::string>())
          << "block " << i << ' ' << format.describe();
    }
  }
}

TEST(GgmlFormat, WorkedExample) {
  const auto golden = golden_json("quantizer/fp4_ggml.json");
  const std::vector<float> x = golden["x"];
  for (const GgmlType type : {GgmlType::kQ8_0, GgmlType::kQ4_0}) {
    const GgmlFormat format(type, 32);
    const auto& expected = golden[format.describe()];
    const std::vector<std::uint8_t> packed = encode_one(format, x);
    EXPECT_EQ(half_to_float(static_cast<std::uint16_t>(packed[0] | packed[1] << 8)), expected["d"].get<float>());
    EXPECT_EQ(decode_one(format, packed), expected["output"].get<std::vector<float>>());
    EXPECT_DOUBLE_EQ(format.bits_per_element(), expected["bits"].get<double>());
  }
}

TEST(GgmlFormat, Q8RoundsTiesAwayFromZeroAsRoundfDoes) {
  std::vector<float> x(32, 0.0F);
  x[0] = 127;  // the scale is 1
  const std::vector<std::pair<float, std::int8_t>> ties = {{0.5F, 1},   {1.5F, 2},     {2.5F, 3},      {-0.5F, -1},
                                                           {-2.5F, -3}, {126.5F, 127}, {-126.5F, -127}};
  for (std::size_t j = 0; j < ties.size(); ++j) x[j + 1] = ties[j].first;
  const std::vector<std::uint8_t> packed = encode_one(GgmlFormat(GgmlType::kQ8_0, 32), x);
  for (std::size_t j = 0; j < ties.size(); ++j) {
    EXPECT_EQ(static_cast<std::int8_t>(packed[2 + j + 1]), ties[j].second) << ties[j].first;
  }
}

TEST(GgmlFormat, BitsPerElement) {
  const double bits[] = {8.5, 6, 5.5, 5, 4.5, 4.5};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(GgmlFormat(kTypes[i], 128).bits_per_element(), bits[i]);
  }
}

TEST(GgmlFormat, BlocksAreIndependent) {
  for (const GgmlType type : kTypes) {
    const GgmlFormat one(type, 32);
    const GgmlFormat four(type, 128);
    const std::vector<float> x = normal_vector(128, 3);
    std::vector<std::uint8_t> blocks;
    for (std::size_t b = 0; b < 4; ++b) {
      const auto part = encode_one(one, std::span(x).subspan(32 * b, 32));
      blocks.insert(blocks.end(), part.begin(), part.end());
    }
    EXPECT_EQ(encode_one(four, x), blocks) << one.describe();
  }
}

TEST(GgmlFormat, ErrorIsAtMostOneStep) {
  // Half a step on the grid, half a step more where q4_0 and q5_0 cut their short end, and what rounding D (2^-11
  // relative, on up to 127 steps) and M (2^-11 of |min|) adds. One code and a sign error both leave this bound.
  for (const GgmlType type : {GgmlType::kQ8_0, GgmlType::kQ5_1, GgmlType::kQ5_0, GgmlType::kQ4_1, GgmlType::kQ4_0}) {
    const GgmlFormat format(type, 32);
    for (std::uint64_t trial = 0; trial < 200; ++trial) {
      const std::vector<float> x = normal_vector(32, trial);
      const auto [low, high] = std::minmax_element(x.begin(), x.end());
      const float peak = std::max(-*low, *high);
      const float step = type == GgmlType::kQ8_0   ? peak / 127
                         : type == GgmlType::kQ5_0 ? peak / 16
                         : type == GgmlType::kQ4_0 ? peak / 8
                         : type == GgmlType::kQ5_1 ? (*high - *low) / 31
                                                   : (*high - *low) / 15;
      const bool cut = type == GgmlType::kQ5_0 || type == GgmlType::kQ4_0;
      const float bound = (cut ? 1.0F : 0.5F) * step + 0x1p-11F * (peak + (*high - *low)) + 1e-5F * peak;
      const std::vector<float> y = round_trip(format, x);
      for (std::size_t j = 0; j < 32; ++j) EXPECT_LE(std::fabs(y[j] - x[j]), bound) << format.describe();
    }
  }
}

TEST(GgmlFormat, ErrorOnUnitVectorsMatchesThePublishedFigures) {
  // Relative squared error on isotropic vectors, d = 128, as ggml itself was measured: .0018, .0074, .0062.
  // 4000 vectors: the spread of the mean is below 0.3 %; the figures are given to two digits, hence 5 %.
  const std::pair<GgmlType, double> cases[] = {
      {GgmlType::kQ5_0, .0018}, {GgmlType::kQ4_0, .0074}, {GgmlType::kIq4Nl, .0062}};
  for (const auto& [type, expected] : cases) {
    const GgmlFormat format(type, 128);
    double error = 0;
    double square = 0;
    for (std::uint64_t trial = 0; trial < 4000; ++trial) {
      const std::vector<float> x = normal_vector(128, trial);
      const std::vector<float> y = round_trip(format, x);
      for (std::size_t j = 0; j < 128; ++j) {
        error += std::pow(static_cast<double>(y[j] - x[j]), 2);
        square += std::pow(static_cast<double>(x[j]), 2);
      }
    }
    EXPECT_NEAR(error / square, expected, 0.05 * expected) << format.describe();
  }
}

TEST(GgmlFormat, DegenerateBlocksAreDefined) {
  for (const GgmlType type : kTypes) {
    const GgmlFormat format(type, 32);
    const std::string name = format.describe();
    EXPECT_EQ(round_trip(format, std::vector<float>(32, 0.0F)), std::vector<float>(32, 0.0F)) << name;
    for (const float tiny : {1e-45F, 1e-39F, 1e-30F, 1e-10F}) {
      for (const float v : round_trip(format, std::vector<float>(32, tiny))) {
        EXPECT_LE(std::fabs(v - tiny), tiny) << name;
      }
    }
    std::vector<float> one_hot(32, 0.0F);
    one_hot[7] = -8.0F;
    const std::vector<float> y = round_trip(format, one_hot);
    EXPECT_NEAR(y[7], -8.0F, 0x1p-11F * 16) << name;
    EXPECT_THROW(encode_one(format, std::vector<float>(32, 1e30F)), InvalidArgument) << name;
    for (const float bad : {INFINITY, NAN}) {
      EXPECT_THROW(encode_one(format, std::vector<float>(32, bad)), InvalidArgument) << name;
    }
  }
  EXPECT_THROW(GgmlFormat(GgmlType::kQ8_0, 80), InvalidArgument);
}

TEST(GgmlFormat, AConstantBlockIsExactWhereTheFormatHasAMinimum) {
  for (const GgmlType type : {GgmlType::kQ4_1, GgmlType::kQ5_1}) {
    for (const float c : {100.0F, -3.5F}) {
      EXPECT_EQ(round_trip(GgmlFormat(type, 32), std::vector<float>(32, c)), std::vector<float>(32, c));
    }
  }
}

}  // namespace
}  // namespace orthant::quantizer
