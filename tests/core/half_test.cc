#include "orthant/core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace orthant {
namespace {

bool is_nan_half(std::uint16_t h) { return (h & 0x7FFFU) > 0x7C00U; }

TEST(Half, EveryCodeReturnsToItself) {
  for (std::uint32_t h = 0; h < 0x10000U; ++h) {
    const auto code = static_cast<std::uint16_t>(h);
    const float x = half_to_float(code);
    if (is_nan_half(code)) {
      EXPECT_TRUE(std::isnan(x));
      EXPECT_TRUE(is_nan_half(float_to_half(x)));
    } else {
      ASSERT_EQ(float_to_half(x), code) << "code " << h;
    }
  }
}

TEST(Half, ValuesFollowTheDefinition) {
  // (-1)^s 2^(e-15) (1 + f/1024), subnormal 2^-14 f/1024: IEEE 754-2008, 3.4.
  for (std::uint32_t h = 0; h < 0x7C00U; ++h) {
    const int exponent = static_cast<int>(h >> 10);
    const double fraction = (h & 0x3FFU) / 1024.0;
    const double value = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    ASSERT_EQ(static_cast<double>(half_to_float(static_cast<std::uint16_t>(h))), value) << "code " << h;
    ASSERT_EQ(static_cast<double>(half_to_float(static_cast<std::uint16_t>(h | 0x8000U))), -value) << "code " << h;
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (std::uint32_t h = 0; h < 0x7BFFU; ++h) {
    const auto low = static_cast<std::uint16_t>(h);
    const auto high = static_cast<std::uint16_t>(h + 1);
    const float middle = (half_to_float(low) + half_to_float(high)) / 2;  // exact: one more bit
    ASSERT_EQ(float_to_half(middle), (h & 1U) != 0 ? high : low) << "code " << h;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), low) << "code " << h;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), high) << "code " << h;
  }
  EXPECT_EQ(float_to_half(65519.996F), 0x7BFFU);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00U);  // halfway to 2^16: to even, which is infinity
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xFC00U);
  EXPECT_EQ(float_to_half(-0.0F), 0x8000U);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0U);
}

TEST(Bfloat16, EveryCodeReturnsToItselfAndTiesGoToEven) {
  for (std::uint32_t h = 0; h < 0x10000U; ++h) {
    const auto code = static_cast<std::uint16_t>(h);
    const float x = bfloat16_to_float(code);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(x), h << 16);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(x))));
      continue;
    }
    ASSERT_EQ(float_to_bfloat16(x), code);
    if (std::isinf(x)) continue;
    const float tie = std::bit_cast<float>(h << 16 | 0x8000U);
    ASSERT_EQ(float_to_bfloat16(tie), (h & 1U) != 0 ? h + 1 : h) << "code " << h;
    ASSERT_EQ(float_to_bfloat16(std::bit_cast<float>(h << 16 | 0x7FFFU)), h);
    ASSERT_EQ(float_to_bfloat16(std::bit_cast<float>(h << 16 | 0x8001U)), h + 1);
  }
}

}  // namespace
}  // namespace orthant
