#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/cache/row_format.h"

namespace orthant::cache {

/// The bytes of a tile: 64 cached rows ("lanes"), stored so that a kernel reads them once, front to back, and finds one
/// lane in each 32-bit word. All integers are little-endian.
///
///   tile   = code rows of section 0, of section 1, ... ; then for each scale: 64 scales [, 64 offsets] as binary16
///   row    = 64 words of 32 bits, one for each lane (256 bytes); byte j of a word belongs to coordinate j of a group
///   group  = 4 consecutive coordinates of a section (the last one padded with code 0)
///   block  = 8 consecutive groups
///
/// Which bits of a byte hold which group, by width:
///   1, 2, 4, 8  a row holds 8, 4, 2, 1 groups, the first in the lowest bits
///   3, 6        6-bit fields: a field holds two groups of 3 bits (the first low) or one of 6. Four fields fill three
///               rows: field k < 3 is bits 0..5 of row k; field 3 lies in bits 6..7 of the rows, its two lowest bits in
///               row 0, the next two in row 1, the highest two in row 2. One or two left-over fields take as many rows.
///   5, 7        block by block: one row with the top bit of every code, laid out as width 1, then rows of the low 4 or
///               6 bits, laid out as width 4 or 6
///   16          a word holds two consecutive bfloat16 coordinates, the first in the low half
///   0           no rows
/// Only rows that hold at least one coordinate exist. Bits that hold none are zero, and so are lanes not yet written.
/// A tile is a multiple of 64 bytes long; tiles follow each other without gaps.
class TileLayout {
 public:
  static constexpr std::size_t kLanes = 64;
  static constexpr std::size_t kRowBytes = 4 * kLanes;
  static constexpr std::size_t kScaleBytes = 2 * kLanes;

  /// Rows that a section of `dims` coordinates takes at `bits` bits.
  static std::size_t rows(int bits, std::size_t dims);

  explicit TileLayout(const RowFormat& format);

  std::size_t tile_bytes() const { return tile_bytes_; }
  /// Tiles that hold n lanes: ceil(n / 64).
  static std::size_t tiles(std::size_t n) { return (n + kLanes - 1) / kLanes; }
  /// Offset in the tile of the first row of a section, and of the 64 scales or offsets of scale s.
  std::size_t section_offset(std::size_t section) const { return sections_[section].offset; }
  std::size_t scale_offset(std::size_t s) const { return scales_begin_ + s * scale_stride_; }
  std::size_t offset_offset(std::size_t s) const { return scale_offset(s) + kScaleBytes; }

  /// Writes the codes of one lane, one byte a coordinate; bits beyond the width of a section are dropped.
  void put_codes(std::span<std::byte> tile, std::size_t lane, std::span<const std::uint8_t> codes) const;
  void get_codes(std::span<const std::byte> tile, std::size_t lane, std::span<std::uint8_t> codes) const;
  /// The same for bfloat16 rows; writing rounds.
  void put_bfloat16(std::span<std::byte> tile, std::size_t lane, std::span<const float> values) const;
  void get_bfloat16(std::span<const std::byte> tile, std::size_t lane, std::span<std::uint16_t> values) const;
  /// A half-precision value at scale_offset or offset_offset.
  static void put_half(std::span<std::byte> tile, std::size_t offset, std::size_t lane, std::uint16_t value);
  static std::uint16_t get_half(std::span<const std::byte> tile, std::size_t offset, std::size_t lane);

  /// Where bit `bit` of the code of coordinate j of a section lies: row, and bit of the lane's word.
  struct BitPlace {
    std::size_t row;
    unsigned bit;
  };
  static BitPlace place(int bits, std::size_t coordinate, int bit);

  /// Bits of a code that lie together: bits from .. from + count of it start at bit `shift` of a byte.
  struct Piece {
    std::size_t offset;  ///< of the byte of lane 0, from the section's first row; 4 bytes from lane to lane
    std::uint8_t from;
    std::uint8_t count;
    std::uint8_t shift;
    std::uint8_t mask() const { return static_cast<std::uint8_t>((1U << count) - 1); }
  };
  /// The pieces of coordinate j, at most four.
  static std::vector<Piece> pieces(int bits, std::size_t coordinate);

 private:
  struct Section {
    std::size_t first;
    std::size_t dims;
    int bits;
    std::size_t offset;
    std::vector<std::vector<Piece>> pieces;  // of each coordinate
  };
  std::vector<Section> sections_;
  std::size_t scales_begin_ = 0;
  std::size_t scale_stride_ = 0;
  std::size_t tile_bytes_ = 0;
};

}  // namespace orthant::cache
