#include "orthant/cache/tile_layout.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "orthant/core/rng.h"

namespace orthant::cache {
namespace {

std::vector<float> levels(int bits) {
  std::vector<float> values(std::size_t{1} << bits);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k);
  return values;
}

// Every bit of every code has a place of its own, and rows are as few as documented.
TEST(TileLayout, PlacesAreDistinctAndFillTheRows) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (std::size_t d = 1; d <= 200; ++d) {
      std::set<std::pair<std::size_t, unsigned>> taken;
      const std::size_t rows = TileLayout::rows(bits, d);
      for (std::size_t j = 0; j < d; ++j) {
        for (int i = 0; i < bits; ++i) {
          const TileLayout::BitPlace at = TileLayout::place(bits, j, i);
          ASSERT_LT(at.row, rows) << "bits " << bits << " d " << d << " coordinate " << j;
          ASSERT_LT(at.bit, 32U);
          ASSERT_TRUE(taken.emplace(at.row, at.bit).second) << "bits " << bits << " coordinate " << j << " bit " << i;
        }
      }
      if (d % 32 == 0) {
        EXPECT_EQ(rows * 32, d * static_cast<std::size_t>(bits)) << bits << ' ' << d;  // no padding at all
      }
    }
  }
}

// The format, frozen: where a few codes lie. A change of these numbers is a change of the file format.
TEST(TileLayout, PlacesAreThoseOfTheHeader) {
  const auto at = [](int bits, std::size_t j, int bit) {
    const TileLayout::BitPlace p = TileLayout::place(bits, j, bit);
    return std::pair<std::size_t, unsigned>(p.row, p.bit);
  };
  using P = std::pair<std::size_t, unsigned>;
  EXPECT_EQ(at(1, 33, 0), P(1, 8));      // group 8 starts the second row; coordinate 1 of it is byte 1
  EXPECT_EQ(at(2, 6, 1), P(0, 16 + 3));  // group 1 at bits 2..3
  EXPECT_EQ(at(4, 7, 2), P(0, 24 + 6));  // group 1 is the high nibble
  EXPECT_EQ(at(8, 9, 7), P(2, 8 + 7));   // a row for each group
  EXPECT_EQ(at(3, 4, 0), P(0, 3));       // second code of field 0
  EXPECT_EQ(at(3, 24, 1), P(0, 7));      // field 3: bits 0..1 above row 0,
  EXPECT_EQ(at(3, 24, 2), P(1, 6));      // then row 1,
  EXPECT_EQ(at(3, 28, 2), P(2, 7));      // then row 2
  EXPECT_EQ(at(6, 12, 5), P(2, 7));      // a field a group
  EXPECT_EQ(at(5, 5, 4), P(0, 8 + 1));   // top bits first
  EXPECT_EQ(at(5, 5, 0), P(1, 8 + 4));   // then nibbles
  EXPECT_EQ(at(5, 32, 3), P(6, 3));      // the second block starts at row 5
  EXPECT_EQ(at(7, 16, 5), P(4, 5));      // top row, three rows, then the second half of the block
}

TEST(TileLayout, CodesComeBackForEveryWidthAndLength) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const std::size_t d : std::vector<std::size_t>{1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 80, 100, 112, 127}) {
      const TileLayout layout(RowFormat::codebook(d, bits, levels(bits)));
      std::vector<std::byte> tile(layout.tile_bytes());
      std::vector<std::vector<std::uint8_t>> rows(TileLayout::kLanes, std::vector<std::uint8_t>(d));
      RngStream random(7, Domain::kData, d * 8 + static_cast<std::size_t>(bits));
      for (std::size_t lane = 0; lane < rows.size(); ++lane) {
        for (std::uint8_t& code : rows[lane]) code = static_cast<std::uint8_t>(random.below(1U << bits));
        layout.put_codes(tile, lane, rows[lane]);
      }
      for (std::size_t lane = 0; lane < rows.size(); lane += 21) {
        for (std::size_t j = 0; j < d; ++j) {
          for (int i = 0; i < bits; ++i) {
            const TileLayout::BitPlace at = TileLayout::place(bits, j, i);
            const auto byte = std::to_integer<unsigned>(tile[at.row * TileLayout::kRowBytes + 4 * lane + at.bit / 8]);
            ASSERT_EQ(byte >> at.bit % 8 & 1U, unsigned{rows[lane][j]} >> i & 1U)
                << "bits " << bits << " d " << d << ' ' << j;
          }
        }
      }
      std::vector<std::uint8_t> back(d);
      for (std::size_t lane = 0; lane < rows.size(); ++lane) {
        layout.get_codes(tile, lane, back);
        ASSERT_EQ(back, rows[lane]) << "bits " << bits << " d " << d << " lane " << lane;
      }
    }
  }
}

TEST(TileLayout, BytesPerKeyAreTheRateAndOneHalf) {
  // d = 128: 16 b bytes of codes and a two-byte scale.
  for (int bits = 1; bits <= 8; ++bits) {
    const TileLayout layout(RowFormat::codebook(128, bits, levels(bits)));
    EXPECT_EQ(layout.tile_bytes(), TileLayout::kLanes * (16 * static_cast<std::size_t>(bits) + 2));
  }
  EXPECT_EQ(TileLayout(RowFormat::bfloat16(128)).tile_bytes(), TileLayout::kLanes * 256);
  EXPECT_EQ(TileLayout(RowFormat::q8_0(128)).tile_bytes(), TileLayout::kLanes * (128 + 4 * 2));
  EXPECT_EQ(TileLayout(RowFormat::uniform(128, 4, 64)).tile_bytes(), TileLayout::kLanes * (64 + 2 * 4));
}

}  // namespace
}  // namespace orthant::cache
