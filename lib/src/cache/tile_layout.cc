#include "orthant/cache/tile_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::cache {

static_assert(std::endian::native == std::endian::little, "tiles are little-endian in memory");

namespace {

constexpr std::size_t kGroup = 4;
constexpr std::size_t kBlockGroups = 8;

/// Rows of n six-bit fields: three for every four, the fourth living in the spare bits of the other three.
std::size_t field_rows(std::size_t fields) { return fields / 4 * 3 + (fields % 4 < 3 ? fields % 4 : 3); }

std::size_t group_rows(int bits, std::size_t groups) {
  switch (bits) {
    case 3:
      return field_rows((groups + 1) / 2);
    case 6:
      return field_rows(groups);
    case 5:
    case 7:
      return group_rows(1, groups) + group_rows(bits - 1, groups);
    default:
      return (groups * static_cast<std::size_t>(bits) + 7) / 8;
  }
}

/// Bit `bit` of a six-bit field, in byte 0 of the word.
TileLayout::BitPlace field_place(std::size_t field, unsigned bit) {
  const std::size_t base = field / 4 * 3;
  if (field % 4 < 3) return {base + field % 4, bit};
  return {base + bit / 2, 6 + bit % 2};
}

/// The place of a bit of a group, in byte 0 of the word.
TileLayout::BitPlace group_place(int bits, std::size_t group, unsigned bit) {
  switch (bits) {
    case 3:
      return field_place(group / 2, static_cast<unsigned>(group % 2) * 3 + bit);
    case 6:
      return field_place(group, bit);
    case 5:
    case 7: {
      const std::size_t block = group / kBlockGroups;
      const std::size_t first = block * (1 + group_rows(bits - 1, kBlockGroups));
      const std::size_t g = group % kBlockGroups;
      if (bit == static_cast<unsigned>(bits) - 1) return {first, static_cast<unsigned>(g)};
      const TileLayout::BitPlace low = group_place(bits - 1, g, bit);
      return {first + 1 + low.row, low.bit};
    }
    default: {
      const std::size_t per_row = 8 / static_cast<std::size_t>(bits);
      return {group / per_row, static_cast<unsigned>(group % per_row) * static_cast<unsigned>(bits) + bit};
    }
  }
}

/// Words of one lane, 32 bits of four codes at a time: byte j of every word belongs to coordinate j of a group.
class LanePacker {
 public:
  LanePacker(std::span<const std::uint8_t> codes, int bits, std::byte* lane)
      : codes_(codes), mask_(((1U << bits) - 1) * 0x01010101U), lane_(lane) {}

  std::size_t groups() const { return (codes_.size() + kGroup - 1) / kGroup; }
  std::uint32_t group(std::size_t g) const {
    std::uint32_t word = 0;
    if ((g + 1) * kGroup <= codes_.size()) {
      std::memcpy(&word, codes_.data() + g * kGroup, kGroup);
    } else if (g * kGroup < codes_.size()) {
      std::memcpy(&word, codes_.data() + g * kGroup, codes_.size() - g * kGroup);
    }
    return word & mask_;
  }
  void put(std::uint32_t word) {
    std::memcpy(lane_, &word, sizeof(word));
    lane_ += TileLayout::kRowBytes;
  }

 private:
  std::span<const std::uint8_t> codes_;
  std::uint32_t mask_;
  std::byte* lane_;
};

/// Up to four fields in as many rows, or three.
void put_fields(LanePacker& lane, const std::array<std::uint32_t, 4>& fields, std::size_t count) {
  for (std::size_t k = 0; k < std::min<std::size_t>(count, 3); ++k) {
    lane.put(fields[k] | (fields[3] >> 2 * k & 0x03030303U) << 6);
  }
}

void pack_lane(std::span<const std::uint8_t> codes, int bits, std::byte* to) {
  LanePacker lane(codes, bits, to);
  const std::size_t groups = lane.groups();
  switch (bits) {
    case 0:
      return;
    case 3:
      for (std::size_t g = 0; g < groups; g += 8) {
        std::array<std::uint32_t, 4> fields{};
        for (std::size_t k = 0; k < 4; ++k) fields[k] = lane.group(g + 2 * k) | lane.group(g + 2 * k + 1) << 3;
        put_fields(lane, fields, (groups - g + 1) / 2);
      }
      return;
    case 6:
      for (std::size_t g = 0; g < groups; g += 4) {
        put_fields(lane, {lane.group(g), lane.group(g + 1), lane.group(g + 2), lane.group(g + 3)}, groups - g);
      }
      return;
    case 5:
    case 7:
      for (std::size_t g = 0; g < groups; g += kBlockGroups) {
        const std::size_t count = std::min(kBlockGroups, groups - g);
        const int low_bits = bits - 1;
        const std::uint32_t low = ((1U << low_bits) - 1) * 0x01010101U;
        std::uint32_t top = 0;
        for (std::size_t i = 0; i < count; ++i) top |= (lane.group(g + i) >> low_bits & 0x01010101U) << i;
        lane.put(top);
        for (std::size_t i = 0; bits == 5 && i < count; i += 2) {
          lane.put((lane.group(g + i) & low) | (lane.group(g + i + 1) & low) << 4);
        }
        for (std::size_t i = 0; bits == 7 && i < count; i += 4) {
          put_fields(lane,
                     {lane.group(g + i) & low, lane.group(g + i + 1) & low, lane.group(g + i + 2) & low,
                      lane.group(g + i + 3) & low},
                     count - i);
        }
      }
      return;
    default: {
      const std::size_t per_row = 8 / static_cast<std::size_t>(bits);
      for (std::size_t g = 0; g < groups; g += per_row) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < per_row; ++i) word |= lane.group(g + i) << (i * static_cast<std::size_t>(bits));
        lane.put(word);
      }
    }
  }
}

}  // namespace

std::size_t TileLayout::rows(int bits, std::size_t dims) {
  if (bits == RowFormat::kBfloat16Bits) return (dims + 1) / 2;
  return group_rows(bits, (dims + kGroup - 1) / kGroup);
}

TileLayout::BitPlace TileLayout::place(int bits, std::size_t coordinate, int bit) {
  BitPlace at = group_place(bits, coordinate / kGroup, static_cast<unsigned>(bit));
  at.bit += 8 * static_cast<unsigned>(coordinate % kGroup);
  return at;
}

std::vector<TileLayout::Piece> TileLayout::pieces(int bits, std::size_t coordinate) {
  std::vector<Piece> pieces;
  for (int i = 0; i < bits; ++i) {
    const BitPlace at = place(bits, coordinate, i);
    const std::size_t offset = at.row * kRowBytes + at.bit / 8;
    const auto shift = static_cast<std::uint8_t>(at.bit % 8);
    if (!pieces.empty() && pieces.back().offset == offset && pieces.back().shift + pieces.back().count == shift) {
      ++pieces.back().count;
    } else {
      pieces.push_back({offset, static_cast<std::uint8_t>(i), 1, shift});
    }
  }
  return pieces;
}

TileLayout::TileLayout(const RowFormat& format) {
  for (const RowFormat::Section& section : format.sections()) {
    Section& own = sections_.emplace_back(Section{section.first, section.dims, section.bits, tile_bytes_, {}});
    for (std::size_t j = 0; j < section.dims && section.bits <= 8; ++j) own.pieces.push_back(pieces(section.bits, j));
    tile_bytes_ += rows(section.bits, section.dims) * kRowBytes;
  }
  scales_begin_ = tile_bytes_;
  scale_stride_ = format.has_offsets() ? 2 * kScaleBytes : kScaleBytes;
  tile_bytes_ += format.scales() * scale_stride_;
}

void TileLayout::put_codes(std::span<std::byte> tile, std::size_t lane, std::span<const std::uint8_t> codes) const {
  assert(tile.size() == tile_bytes_ && lane < kLanes);
  for (const Section& section : sections_) {
    pack_lane(codes.subspan(section.first, section.dims), section.bits, &tile[section.offset + 4 * lane]);
  }
}

void TileLayout::get_codes(std::span<const std::byte> tile, std::size_t lane, std::span<std::uint8_t> codes) const {
  assert(tile.size() == tile_bytes_ && lane < kLanes);
  for (const Section& section : sections_) {
    for (std::size_t j = 0; j < section.dims; ++j) {
      unsigned code = 0;
      for (const Piece& piece : section.pieces[j]) {
        const auto byte = std::to_integer<unsigned>(tile[section.offset + piece.offset + 4 * lane]);
        code |= (byte >> piece.shift & piece.mask()) << piece.from;
      }
      codes[section.first + j] = static_cast<std::uint8_t>(code);
    }
  }
}

void TileLayout::put_bfloat16(std::span<std::byte> tile, std::size_t lane, std::span<const float> values) const {
  std::byte* word = &tile[4 * lane];  // of two coordinates
  std::size_t j = 0;
  for (; j + 2 <= values.size(); j += 2, word += kRowBytes) {
    const std::uint32_t both = float_to_bfloat16(values[j]) | std::uint32_t{float_to_bfloat16(values[j + 1])} << 16;
    std::memcpy(word, &both, sizeof(both));
  }
  if (j < values.size()) put_half(tile, j / 2 * kRowBytes, 2 * lane, float_to_bfloat16(values[j]));
}

void TileLayout::get_bfloat16(std::span<const std::byte> tile, std::size_t lane,
                              std::span<std::uint16_t> values) const {
  for (std::size_t j = 0; j < values.size(); ++j) {
    std::memcpy(&values[j], &tile[j / 2 * kRowBytes + 4 * lane + 2 * (j % 2)], sizeof(values[j]));
  }
}

void TileLayout::put_half(std::span<std::byte> tile, std::size_t offset, std::size_t lane, std::uint16_t value) {
  std::memcpy(&tile[offset + 2 * lane], &value, sizeof(value));
}

std::uint16_t TileLayout::get_half(std::span<const std::byte> tile, std::size_t offset, std::size_t lane) {
  std::uint16_t value = 0;
  std::memcpy(&value, &tile[offset + 2 * lane], sizeof(value));
  return value;
}

}  // namespace orthant::cache
