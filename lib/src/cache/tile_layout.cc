#include "orthant/cache/tile_layout.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <string>

#include "orthant/core/error.h"

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

TileLayout::TileLayout(const RowFormat& format) {
  for (const RowFormat::Section& section : format.sections()) {
    sections_.push_back({section.first, section.dims, section.bits, tile_bytes_});
    tile_bytes_ += rows(section.bits, section.dims) * kRowBytes;
  }
  scales_begin_ = tile_bytes_;
  scale_stride_ = format.has_offsets() ? 2 * kScaleBytes : kScaleBytes;
  tile_bytes_ += format.scales() * scale_stride_;
}

void TileLayout::put_codes(std::span<std::byte> tile, std::size_t lane, std::span<const std::uint8_t> codes) const {
  assert(tile.size() == tile_bytes_ && lane < kLanes);
  for (const Section& section : sections_) {
    for (std::size_t j = 0; j < section.dims; ++j) {
      const unsigned code = codes[section.first + j];
      for (int i = 0; i < section.bits; ++i) {
        const BitPlace at = place(section.bits, j, i);
        std::byte& byte = tile[section.offset + at.row * kRowBytes + 4 * lane + at.bit / 8];
        byte |= static_cast<std::byte>((code >> i & 1U) << at.bit % 8);
      }
    }
  }
}

void TileLayout::get_codes(std::span<const std::byte> tile, std::size_t lane, std::span<std::uint8_t> codes) const {
  assert(tile.size() == tile_bytes_ && lane < kLanes);
  for (const Section& section : sections_) {
    for (std::size_t j = 0; j < section.dims; ++j) {
      unsigned code = 0;
      for (int i = 0; i < section.bits; ++i) {
        const BitPlace at = place(section.bits, j, i);
        const std::byte byte = tile[section.offset + at.row * kRowBytes + 4 * lane + at.bit / 8];
        code |= (std::to_integer<unsigned>(byte) >> at.bit % 8 & 1U) << i;
      }
      codes[section.first + j] = static_cast<std::uint8_t>(code);
    }
  }
}

void TileLayout::put_bfloat16(std::span<std::byte> tile, std::size_t lane,
                              std::span<const std::uint16_t> values) const {
  for (std::size_t j = 0; j < values.size(); ++j) {
    std::memcpy(&tile[j / 2 * kRowBytes + 4 * lane + 2 * (j % 2)], &values[j], sizeof(values[j]));
  }
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
