#include "orthant/cache/value_cache.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "cache/append_checks.h"
#include "cache/section_plan.h"
#include "orthant/cache/tile_layout.h"
#include "orthant/core/error.h"
#include "orthant/core/half.h"

namespace orthant::cache {
namespace {

constexpr std::size_t kTokens = TileLayout::kLanes;  // of a tile
constexpr std::size_t kLanes = TileLayout::kLanes;

// As in the key cache: tiles beyond the second-level cache are fetched ahead.
constexpr std::size_t kPrefetchBytes = 4096;
constexpr std::size_t kCachedBytes = std::size_t{1} << 20;

/// Lanes of all sections, each rounded up to whole lane tiles.
std::size_t padded_lanes(const RowFormat& format) {
  std::size_t lanes = 0;
  for (const RowFormat::Section& section : format.sections()) lanes += ValueLayout::lane_tiles(section.dims) * kLanes;
  return lanes;
}

/// The codes of one token of a section, into lanes whose bits of that token are still zero.
void put_token(std::span<const std::uint8_t> codes, int bits, std::size_t token, std::byte* rows) {
  for (const TileLayout::Piece& piece : TileLayout::pieces(bits, token)) {
    for (std::size_t first = 0; first < codes.size(); first += kLanes) {
      std::byte* to = rows + first / kLanes * ValueLayout::lane_tile_bytes(bits) + piece.offset;
      for (const unsigned code : codes.subspan(first, std::min(kLanes, codes.size() - first))) {
        *to |= static_cast<std::byte>((code >> piece.from & piece.mask()) << piece.shift);
        to += 4;
      }
    }
  }
}

}  // namespace

std::size_t ValueLayout::lane_tile_bytes(int bits) { return TileLayout::rows(bits, kTokens) * TileLayout::kRowBytes; }

std::size_t ValueLayout::offset_offset(std::size_t s) const { return scale_offset(s) + TileLayout::kScaleBytes; }

ValueLayout::ValueLayout(const RowFormat& format) {
  for (const RowFormat::Section& section : format.sections()) {
    offsets_.push_back(tile_bytes_);
    tile_bytes_ += lane_tiles(section.dims) * lane_tile_bytes(section.bits);
  }
  scales_begin_ = tile_bytes_;
  scale_stride_ = format.has_offsets() ? 2 * TileLayout::kScaleBytes : TileLayout::kScaleBytes;
  tile_bytes_ += format.scales() * scale_stride_;
}

ValueCache::ValueCache(RowFormat format, CacheOptions options)
    : format_(std::move(format)),
      options_(std::move(options)),
      layout_(format_),
      plan_(SectionPlan::for_values(format_, options_)),
      windows_(dim(), options_.first_exact, options_.last_exact) {}

std::string_view ValueCache::target() const { return plan_->table().name; }

void ValueCache::reserve(std::size_t tokens) { tiles_.reserve(TileLayout::tiles(tokens) * layout_.tile_bytes()); }

void ValueCache::append(MatrixView<const std::uint8_t> codes, MatrixView<const float> scales,
                        MatrixView<const float> offsets, MatrixView<const float> exact) {
  require_coded_rows("ValueCache::append", format_, windows_.any(), codes, scales, offsets, exact);
  const std::size_t n = codes.rows();
  tiles_.grow(TileLayout::tiles(size_ + n) * layout_.tile_bytes());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t token = (size_ + i) % kTokens;
    const std::span<std::byte> tile(tiles_.own_data() + (size_ + i) / kTokens * layout_.tile_bytes(),
                                    layout_.tile_bytes());
    for (std::size_t s = 0; s < format_.sections().size(); ++s) {
      const RowFormat::Section& section = format_.sections()[s];
      std::byte* const rows = tile.data() + layout_.section_offset(s);
      put_token(codes.row(i).subspan(section.first, section.dims), section.bits, token, rows);
    }
    for (std::size_t s = 0; s < format_.scales(); ++s) {
      TileLayout::put_half(tile, layout_.scale_offset(s), token, float_to_half(scales(i, s)));
      if (format_.has_offsets()) {
        TileLayout::put_half(tile, layout_.offset_offset(s), token, float_to_half(offsets(i, s)));
      }
    }
  }
  windows_.append(size_, exact);
  size_ += n;
}

void ValueCache::append(MatrixView<const float> values) {
  require_plain_rows("ValueCache::append", format_, values);
  tiles_.grow(TileLayout::tiles(size_ + values.rows()) * layout_.tile_bytes());
  constexpr int kBits = RowFormat::kBfloat16Bits;
  for (std::size_t i = 0; i < values.rows(); ++i) {
    const std::size_t token = (size_ + i) % kTokens;
    const std::span<std::byte> tile(tiles_.own_data() + (size_ + i) / kTokens * layout_.tile_bytes(),
                                    layout_.tile_bytes());
    for (std::size_t j = 0; j < dim(); ++j) {
      const std::size_t row = j / kLanes * ValueLayout::lane_tile_bytes(kBits) + token / 2 * TileLayout::kRowBytes;
      TileLayout::put_half(tile, row + 4 * (j % kLanes) + 2 * (token % 2), 0, float_to_bfloat16(values(i, j)));
    }
  }
  if (windows_.any()) windows_.append(size_, values);
  size_ += values.rows();
}

void ValueCache::decode(std::size_t first, MatrixView<float> values) const {
  require_size("ValueCache::decode", "columns of values", values.cols(), dim());
  require_range("ValueCache::decode", first, values.rows(), size_);
  for (std::size_t i = 0; i < values.rows(); ++i) {
    const std::size_t token = (first + i) % kTokens;
    const std::span<const std::byte> tile(tiles_.data() + (first + i) / kTokens * layout_.tile_bytes(),
                                          layout_.tile_bytes());
    for (std::size_t s = 0; s < format_.sections().size(); ++s) {
      const RowFormat::Section& section = format_.sections()[s];
      const std::size_t lane_tile_bytes = ValueLayout::lane_tile_bytes(section.bits);
      if (section.bits == RowFormat::kBfloat16Bits) {
        for (std::size_t j = 0; j < section.dims; ++j) {
          const std::size_t row = j / kLanes * lane_tile_bytes + token / 2 * TileLayout::kRowBytes;
          values(i, j) = bfloat16_to_float(TileLayout::get_half(tile, row + 4 * (j % kLanes) + 2 * (token % 2), 0));
        }
        continue;
      }
      const std::vector<TileLayout::Piece> pieces = TileLayout::pieces(section.bits, token);
      const float scale = half_to_float(TileLayout::get_half(tile, layout_.scale_offset(section.scale), token));
      const float offset = format_.has_offsets()
                               ? half_to_float(TileLayout::get_half(tile, layout_.offset_offset(section.scale), token))
                               : 0.0F;
      for (std::size_t j = 0; j < section.dims; ++j) {
        unsigned code = 0;
        for (const TileLayout::Piece& piece : pieces) {
          const std::byte byte =
              tile[layout_.section_offset(s) + j / kLanes * lane_tile_bytes + piece.offset + 4 * (j % kLanes)];
          code |= (std::to_integer<unsigned>(byte) >> piece.shift & piece.mask()) << piece.from;
        }
        values(i, section.first + j) = scale * section.levels[code] + offset;
      }
    }
  }
}

std::size_t ValueCache::workspace_bytes(std::size_t queries) const {
  const std::size_t batch = plan_->batch(queries);
  return 2 * Workspace::bytes_for<float>(batch * kTokens) + Workspace::bytes_for<float>(kTokens) +
         Workspace::bytes_for<float>(batch * padded_lanes(format_)) +
         Workspace::bytes_for<float>(batch * plan_->parts().size()) +
         Workspace::bytes_for<std::byte>(plan_->query_bytes(batch));
}

bool ValueCache::take_weights(MatrixView<const float> weights, std::size_t first, std::size_t begin,
                              MatrixView<float> of_tile) const {
  const std::size_t count = std::min(kTokens, first + weights.cols() - begin);
  const bool in_windows = begin < windows_.first() || begin + count > windows_.last_begin(size_);
  bool any = false;
  for (std::size_t h = 0; h < weights.rows(); ++h) {
    const std::span<float> to = of_tile.row(h);
    std::ranges::copy(weights.row(h).subspan(begin - first, count), to.begin());
    std::ranges::fill(to.subspan(count), 0.0F);
    for (std::size_t t = 0; t < count && in_windows; ++t) {
      if (windows_.holds(begin + t, size_)) to[t] = 0;
    }
    std::uint32_t bits = 0;  // of all magnitudes: an integer reduction vectorises, one of floats does not
    for (const float w : to) bits |= std::bit_cast<std::uint32_t>(w) << 1;
    any = any || bits != 0;
  }
  return any;
}

void ValueCache::sum_batch(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums,
                           Workspace& work) const {
  const std::size_t batch = weights.rows();
  const std::size_t lanes = padded_lanes(format_);
  const std::size_t part_count = plan_->parts().size();
  const kernels::KernelTable& table = plan_->table();
  const Workspace::Scope scope(work);
  const MatrixView<float> of_tile(work.take<float>(batch * kTokens).data(), batch, kTokens);
  const MatrixView<float> scaled(work.take<float>(batch * kTokens).data(), batch, kTokens);
  const std::span<float> factors = work.take<float>(kTokens);
  const std::span<float> totals = work.take<float>(batch * lanes);
  const MatrixView<float> offset_sums(work.take<float>(batch * part_count).data(), batch, part_count);
  const std::span<std::byte> prepared = work.take<std::byte>(plan_->query_bytes(batch));
  std::ranges::fill(totals, 0.0F);
  std::fill_n(offset_sums.data(), batch * part_count, 0.0F);

  const std::size_t end = first + weights.cols();
  const std::size_t bytes = (end - first) * layout_.tile_bytes() / kTokens;
  const std::size_t prefetch = bytes > kCachedBytes ? kPrefetchBytes : 0;
  for (std::size_t begin = first; begin < end; begin += kTokens) {
    if (!take_weights(weights, first, begin, of_tile)) continue;
    const std::byte* const tile = tiles_.data() + begin / kTokens * layout_.tile_bytes();
    std::size_t lane = 0;
    for (std::size_t s = 0; s < part_count; ++s) {
      const SectionPart& part = plan_->parts()[s];
      MatrixView<float> section_weights = of_tile;
      if (format_.scales() > 0) {
        table.load_halves(tile + layout_.scale_offset(part.scale), factors.data());
        for (std::size_t h = 0; h < batch; ++h) {
          for (std::size_t t = 0; t < kTokens; ++t) scaled(h, t) = of_tile(h, t) * factors[t];
        }
        section_weights = scaled;
      }
      table.prepare(part.section, {section_weights.data(), kTokens, batch, 1.0F}, plan_->exact(), prepared.data());
      const std::size_t lane_tiles = ValueLayout::lane_tiles(format_.sections()[s].dims);
      table.find_scorer(part.section, plan_->exact(), batch)(
          part.section, prepared.data(),
          {tile + layout_.section_offset(s), lane_tiles, totals.data() + lane, lanes, true, prefetch});
      lane += lane_tiles * kLanes;
      if (!format_.has_offsets()) continue;
      table.load_halves(tile + layout_.offset_offset(part.scale), factors.data());
      for (std::size_t h = 0; h < batch; ++h) {
        for (std::size_t t = 0; t < kTokens; ++t) offset_sums(h, s) += of_tile(h, t) * factors[t];
      }
    }
  }
  for (std::size_t h = 0; h < batch; ++h) {
    std::size_t lane = 0;
    for (std::size_t s = 0; s < part_count; ++s) {
      const RowFormat::Section& section = format_.sections()[s];
      const float* const total = totals.data() + h * lanes + lane;
      for (std::size_t j = 0; j < section.dims; ++j) sums(h, section.first + j) = total[j] + offset_sums(h, s);
      lane += ValueLayout::lane_tiles(section.dims) * kLanes;
    }
  }
}

void ValueCache::add_exact(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums) const {
  const auto add = [&](std::size_t token) {
    const std::span<const float> row = windows_.row(token);
    for (std::size_t h = 0; h < weights.rows(); ++h) {
      const float w = weights(h, token - first);
      const std::span<float> sum = sums.row(h);
      for (std::size_t j = 0; j < row.size(); ++j) sum[j] += w * row[j];
    }
  };
  const std::size_t end = first + weights.cols();
  std::size_t token = first;
  for (; token < std::min(end, windows_.first()); ++token) add(token);
  for (token = std::max(token, windows_.last_begin(size_)); token < end; ++token) add(token);
}

void ValueCache::weighted_sum(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums,
                              Workspace& work) const {
  constexpr const char* kWhere = "ValueCache::weighted_sum";
  require_size(kWhere, "rows of sums", sums.rows(), weights.rows());
  require_size(kWhere, "columns of sums", sums.cols(), dim());
  if (first % kTokens != 0) {
    throw_invalid_argument(kWhere, "first token", std::to_string(first), "a multiple of " + std::to_string(kTokens));
  }
  require_range(kWhere, first, weights.cols(), size_);
  require_finite(kWhere, "weight", weights);
  std::size_t batch = 0;
  for (std::size_t h = 0; h < weights.rows(); h += batch) {
    batch = plan_->batch(weights.rows() - h);
    sum_batch(weights.middle_rows(h, batch), first, sums.middle_rows(h, batch), work);
  }
  if (windows_.any()) add_exact(weights, first, sums);
}

}  // namespace orthant::cache
