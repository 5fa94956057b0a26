#include "orthant/cache/value_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
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

// Sections of a row are summed in turn over this many tiles, which stay in the first-level cache meanwhile.
constexpr std::size_t kTilesTogether = 4;

/// Halves added to halves.
float sum_of(std::span<float, kernels::kConstantChains> chains) {
  for (std::size_t half = chains.size() / 2; half > 0; half /= 2) {
    for (std::size_t c = 0; c < half; ++c) chains[c] += chains[c + half];
  }
  return chains[0];
}

/// Lanes of all sections, each rounded up to whole lane tiles.
std::size_t padded_lanes(const RowFormat& format) {
  std::size_t lanes = 0;
  for (const RowFormat::Section& section : format.sections()) lanes += ValueLayout::lane_tiles(section.dims) * kLanes;
  return lanes;
}

/// The codes of one token of a section, into lanes whose bits of that token are still zero.
void put_token(std::span<const std::uint8_t> codes, std::span<const TileLayout::Piece> pieces,
               std::size_t lane_tile_bytes, std::byte* rows) {
  for (const TileLayout::Piece& piece : pieces) {
    const std::size_t shift = 8 * (piece.offset % 4) + piece.shift;  // in the word of a lane
    for (std::size_t first = 0; first < codes.size(); first += kLanes, rows += lane_tile_bytes) {
      const std::size_t count = std::min(kLanes, codes.size() - first);
      std::array<std::uint32_t, kLanes> words{};
      std::byte* const row = rows + piece.offset / 4 * 4;
      std::memcpy(words.data(), row, sizeof(words));
      for (std::size_t j = 0; j < count; ++j) {
        words[j] |= (unsigned{codes[first + j]} >> piece.from & piece.mask()) << shift;
      }
      std::memcpy(row, words.data(), sizeof(words));
    }
    rows -= (codes.size() + kLanes - 1) / kLanes * lane_tile_bytes;
  }
}

}  // namespace

std::size_t ValueLayout::lane_tile_bytes(int bits) { return TileLayout::rows(bits, kTokens) * TileLayout::kRowBytes; }

std::size_t ValueLayout::offset_offset(std::size_t s) const { return scale_offset(s) + TileLayout::kScaleBytes; }

ValueLayout::ValueLayout(const RowFormat& format) {
  for (const RowFormat::Section& section : format.sections()) {
    offsets_.push_back(tile_bytes_);
    std::vector<std::vector<TileLayout::Piece>>& pieces = pieces_.emplace_back();
    for (std::size_t t = 0; t < kTokens && section.bits <= 8; ++t)
      pieces.push_back(TileLayout::pieces(section.bits, t));
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
      plan_(SectionPlan::for_values(format_, layout_, options_)),
      windows_(dim(), options_.first_exact, options_.last_exact) {}

std::string_view ValueCache::target() const { return plan_->table().name; }

void ValueCache::reserve(std::size_t tokens) { tiles_.reserve(TileLayout::tiles(tokens) * layout_.tile_bytes()); }

void ValueCache::append(const MatrixView<const std::uint8_t>& codes, const MatrixView<const float>& scales,
                        const MatrixView<const float>& offsets, const MatrixView<const float>& exact) {
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
      put_token(codes.row(i).subspan(section.first, section.dims), layout_.pieces(s, token),
                ValueLayout::lane_tile_bytes(section.bits), rows);
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
      const std::span<const TileLayout::Piece> pieces = layout_.pieces(s, token);
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
  return Workspace::bytes_for<float>(batch * kTokens) + Workspace::bytes_for<float>(batch * padded_lanes(format_)) +
         Workspace::bytes_for<float>(batch * plan_->parts().size() * kernels::kConstantChains);
}

bool ValueCache::whole_tile(std::size_t begin, std::size_t end) const {
  if (begin + kTokens > end) return false;
  return !windows_.any() || (begin >= windows_.first() && begin + kTokens <= windows_.last_begin(size_));
}

void ValueCache::take_weights(MatrixView<const float> weights, std::size_t first, std::size_t begin,
                              MatrixView<float> of_tile) const {
  const std::size_t count = std::min(kTokens, first + weights.cols() - begin);
  for (std::size_t h = 0; h < weights.rows(); ++h) {
    const std::span<float> to = of_tile.row(h);
    std::ranges::copy(weights.row(h).subspan(begin - first, count), to.begin());
    std::ranges::fill(to.subspan(count), 0.0F);
    for (std::size_t t = 0; t < count && windows_.any(); ++t) {
      if (windows_.holds(begin + t, size_)) to[t] = 0;
    }
  }
}

void ValueCache::sum_batch(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums,
                           Workspace& work) const {
  const std::size_t batch = weights.rows();
  const std::size_t lanes = padded_lanes(format_);
  const std::size_t part_count = plan_->parts().size();
  const Workspace::Scope scope(work);
  const MatrixView<float> of_tile(work.take<float>(batch * kTokens).data(), batch, kTokens);
  const std::span<float> totals = work.take<float>(batch * lanes);
  const std::span<float> constants = work.take<float>(part_count * batch * kernels::kConstantChains);
  std::ranges::fill(totals, 0.0F);
  std::ranges::fill(constants, 0.0F);

  const std::size_t end = first + weights.cols();
  const std::size_t together = part_count == 1 ? end : kTilesTogether * kTokens;
  kernels::ValueRun run{.tiles = nullptr,
                        .count = 0,
                        .lane_tiles = 0,
                        .weights = nullptr,
                        .weight_stride = 0,
                        .totals = totals.data(),
                        .stride = lanes,
                        .constants = constants.data(),
                        .prefetch = plan_->prefetch_distance(tiles_.size(), batch)};
  for (std::size_t begin = first; begin < end; begin += run.count * kTokens) {
    run.tiles = tiles_.data() + begin / kTokens * layout_.tile_bytes();
    run.count = 1;
    if (whole_tile(begin, end)) {
      while (run.count * kTokens < together && whole_tile(begin + run.count * kTokens, end)) ++run.count;
      run.weights = weights.data() + (begin - first);
      run.weight_stride = weights.stride();
    } else {
      take_weights(weights, first, begin, of_tile);
      run.weights = of_tile.data();
      run.weight_stride = kTokens;
    }
    plan_->sum(batch, run);
  }
  for (std::size_t h = 0; h < batch; ++h) {
    const float* total = totals.data() + h * lanes;
    for (std::size_t s = 0; s < part_count; ++s) {
      const RowFormat::Section& section = format_.sections()[s];
      const float constant =
          sum_of(constants.subspan((s * batch + h) * kernels::kConstantChains).first<kernels::kConstantChains>());
      for (std::size_t j = 0; j < section.dims; ++j) sums(h, section.first + j) = total[j] + constant;
      total += ValueLayout::lane_tiles(section.dims) * kLanes;
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
  require_finite(kWhere, "weight", weights, plan_->table());
  sum_weights(weights, first, sums, work);
}

void ValueCache::sum_weights(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums,
                             Workspace& work) const {
  std::size_t batch = 0;
  for (std::size_t h = 0; h < weights.rows(); h += batch) {
    batch = plan_->batch(weights.rows() - h);
    sum_batch(weights.middle_rows(h, batch), first, sums.middle_rows(h, batch), work);
  }
  if (windows_.any()) add_exact(weights, first, sums);
}

}  // namespace orthant::cache
