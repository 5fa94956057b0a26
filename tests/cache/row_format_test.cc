#include "orthant/cache/row_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/core/error.h"

namespace orthant::cache {
namespace {

TEST(RowFormat, FactoriesCoverTheirCoordinates) {
  const RowFormat groups = RowFormat::uniform(100, 4, 32);
  ASSERT_EQ(groups.sections().size(), 4U);
  EXPECT_EQ(groups.sections()[3].first, 96U);
  EXPECT_EQ(groups.sections()[3].dims, 4U);
  EXPECT_EQ(groups.scales(), 4U);
  EXPECT_TRUE(groups.has_offsets());
  EXPECT_FALSE(RowFormat::q8_0(64).has_offsets());
  EXPECT_EQ(RowFormat::bfloat16(7).scales(), 0U);
  EXPECT_EQ(RowFormat::segmented({{3, 0, {0.0F}}, {5, 1, {-1, 1}}}).dim(), 8U);
}

// The values of OCP 8-bit floating point (OFP8) E4M3: largest 448, smallest 2^-9.
TEST(RowFormat, Fp8LevelsAreTheStandards) {
  const RowFormat format = RowFormat::fp8_e4m3(4);
  const std::vector<float>& levels = format.sections()[0].levels;
  EXPECT_EQ(levels[0x7E], 448.0F);
  EXPECT_EQ(levels[0xFE], -448.0F);
  EXPECT_EQ(levels[0x01], 0x1p-9F);
  EXPECT_EQ(levels[0x08], 0x1p-6F);
  EXPECT_EQ(levels[0x38], 1.0F);
  EXPECT_EQ(levels[0x00], 0.0F);
}

TEST(RowFormat, ContradictionsAreRefused) {
  EXPECT_THROW(RowFormat::codebook(8, 2, {1, 2, 3}), InvalidArgument);
  EXPECT_THROW(RowFormat::codebook(0, 1, {-1, 1}), InvalidArgument);
  EXPECT_THROW(RowFormat::codebook(8, 9, std::vector<float>(512)), InvalidArgument);
  EXPECT_THROW(RowFormat::codebook(8, 1, {0, std::numeric_limits<float>::infinity()}), InvalidArgument);
  EXPECT_THROW(RowFormat::codebook(RowFormat::kMaxDim + 1, 1, {-1, 1}), InvalidArgument);
  EXPECT_THROW(RowFormat::uniform(8, 4, 0), InvalidArgument);
  EXPECT_THROW(RowFormat::segmented({}), InvalidArgument);
  EXPECT_THROW(RowFormat({{0, 4, 1, {-1, 1}, 1}}, 1, false), InvalidArgument);  // no such scale
  EXPECT_THROW(RowFormat({{1, 4, 1, {-1, 1}, 0}}, 1, false), InvalidArgument);  // a gap
}

}  // namespace
}  // namespace orthant::cache
