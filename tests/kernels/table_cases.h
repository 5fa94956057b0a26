#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/guarded_bytes.h"
#include "kernels/kernel_table.h"
#include "kernels/level_grid.h"
#include "orthant/cache/tile_layout.h"
#include "orthant/core/half.h"
#include "orthant/core/rng.h"

// Kernels on random tiles whose buffers end at protected pages; free of any test framework, so that cross-compiled
// programs can use it.
namespace orthant::kernels {

struct Setting {
  int bits = 4;
  bool even = false;
  int query_planes = 1;
  bool exact = false;
  bool offsets = false;
  std::string text() const {
    return std::to_string(bits) + " bits" + (even ? ", even levels" : "") + ", query planes " +
           std::to_string(query_planes) + (exact ? ", exact" : "") + (offsets ? ", offsets" : "");
  }
};

inline std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (int bits = 1; bits <= 8; ++bits) {
    for (const bool even : {false, true}) {
      if (bits <= 5 || (bits == 8 && even)) all.push_back({bits, even, 1, false, even});
      all.push_back({bits, even, 2, false, !even});
    }
    all.push_back({bits, false, 1, true, false});
  }
  all.push_back({16, false, 1, true, false});
  return all;
}

inline std::vector<float> levels_for(const Setting& setting) {
  std::vector<float> levels(256);
  const std::size_t n = std::size_t{1} << (setting.bits == 16 ? 1 : setting.bits);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const auto x = static_cast<float>(k % n);
    levels[k] = setting.even ? x - 1 : std::sin(x * 3.7F / static_cast<float>(n)) + 0.1F * x / static_cast<float>(n);
  }
  return levels;
}

/// Scores of one setting by one table; tiles and scores end at protected pages.
inline std::vector<float> scores_by(const KernelTable& table, const Setting& setting, std::size_t dims,
                                    std::size_t queries, std::size_t misalignment, std::size_t prefetch,
                                    bool accumulate) {
  constexpr std::size_t kTiles = 2;
  const std::vector<float> levels = levels_for(setting);
  const std::span<const float> distinct(levels.data(), std::size_t{1} << (setting.bits == 16 ? 0 : setting.bits));
  const LevelGrid grid = make_level_grid(distinct, setting.bits == 16 ? 0 : setting.bits, table.arithmetic);
  const auto [low, high] = std::ranges::minmax(distinct);
  Section section;
  section.bits = setting.bits;
  section.dims = dims;
  section.rows = cache::TileLayout::rows(setting.bits, dims);
  section.offset = 0;
  section.scales = section.rows * kRowBytes;
  if (setting.offsets) section.offsets = section.scales + 2 * kLanes;
  section.tile_bytes = section.scales + (setting.offsets ? 4 : 2) * kLanes;
  section.query_planes = setting.query_planes;
  section.half_range = (high - low) / 2;
  section.grid = &grid;
  section.levels = levels.data();

  RngStream random(1, Domain::kData, dims * 64 + static_cast<std::size_t>(setting.bits));
  GuardedBytes tiles(kTiles * section.tile_bytes + misalignment);  // shifted from its alignment, ending at the page
  std::byte* const first_tile = tiles.data();
  for (std::size_t i = 0; i < kTiles * section.tile_bytes; ++i) {
    first_tile[i] = static_cast<std::byte>(random.below(256));
  }
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    std::byte* const begin = first_tile + tile * section.tile_bytes;
    const auto put_halves = [&](std::size_t offset) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint16_t half = float_to_half(static_cast<float>(random.normal()));
        std::memcpy(begin + offset + 2 * lane, &half, sizeof(half));
      }
    };
    put_halves(section.scales);
    if (setting.offsets) put_halves(section.offsets);
    if (setting.bits == 16) {
      for (std::size_t i = 0; i < section.rows * kRowBytes; i += 2) {
        const std::uint16_t value = float_to_bfloat16(static_cast<float>(random.normal()));
        std::memcpy(begin + i, &value, sizeof(value));
      }
    }
  }
  std::vector<float> query(queries * dims);
  random.fill_normal(std::span<float>(query));

  const std::size_t prepared_bytes = query_bytes(section, table.arithmetic, setting.exact, queries);
  GuardedBytes prepared(prepared_bytes);
  table.prepare(section, {query.data(), dims, queries, 0.5F}, setting.exact, prepared.data());
  GuardedBytes out(queries * kTiles * kLanes * sizeof(float));
  auto* const scores = reinterpret_cast<float*>(out.data());
  std::fill_n(scores, queries * kTiles * kLanes, 1.5F);
  table.find_scorer(section, setting.exact, queries)(
      section, prepared.data(), {first_tile, kTiles, scores, kTiles * kLanes, accumulate, prefetch});
  return {scores, scores + queries * kTiles * kLanes};
}

/// What prepare_turned takes for random queries, all angles their own.
struct TurnedCase {
  std::size_t dims;
  std::size_t queries;
  std::size_t tiles;
  std::vector<float> levels = levels_for({.bits = 4, .even = true});
  std::vector<float> rows, scales, reaches, mean, block_phases, tile_phases;
  LevelGrid grid;
  Section section;

  TurnedCase(std::size_t dims_of_query, std::size_t query_count, std::size_t tile_count, Arithmetic arithmetic)
      : dims(dims_of_query), queries(query_count), tiles(tile_count) {
    for (std::size_t k = 0; k < 16; ++k) levels[k] = static_cast<float>(k) - 7.5F;  // around zero
    grid = make_level_grid({levels.data(), 16}, 4, arithmetic);
    section = {.bits = 4, .dims = dims, .grid = &grid, .levels = levels.data()};
    RngStream random(4, Domain::kData, dims);
    const auto normals = [&](std::vector<float>& to, std::size_t n) {
      to.resize(n);
      random.fill_normal(std::span<float>(to));
    };
    normals(rows, queries * dims);
    normals(scales, dims);
    normals(mean, dims);
    reaches.resize(dims / 2);
    for (std::size_t i = 0; i < dims / 2; ++i) reaches[i] = std::hypot(scales[i], scales[dims / 2 + i]);
    const auto angles = [&](std::vector<float>& to, std::size_t count) {
      to.resize(count * dims);
      for (std::size_t t = 0; t < count; ++t) {
        for (std::size_t i = 0; i < dims / 2; ++i) {
          const double angle = 7 * random.uniform();
          to[t * dims + i] = static_cast<float>(std::cos(angle));
          to[t * dims + dims / 2 + i] = static_cast<float>(std::sin(angle));
        }
      }
    };
    angles(block_phases, 1);
    angles(tile_phases, tiles);
  }

  /// Blocks of `stride` bytes, one for each tile, of `count` queries from the first on.
  std::size_t stride(const KernelTable& table, std::size_t count) const {
    return query_bytes(section, table.arithmetic, false, count);
  }
  void prepare(const KernelTable& table, std::size_t first, std::size_t count, std::byte* to) const {
    table.prepare_turned(section,
                         {.rows = {rows.data() + first * dims, dims, count, 0.5F},
                          .scales = scales.data(),
                          .reaches = reaches.data(),
                          .mean = mean.data(),
                          .block_phases = block_phases.data(),
                          .tile_phases = tile_phases.data(),
                          .tiles = tiles},
                         to, stride(table, count));
  }
};

/// Scores of three random tiles, each by queries turned to it, in one run; prepared queries end at a protected page.
inline std::vector<float> turned_by(const KernelTable& table, std::size_t dims, std::size_t queries) {
  TurnedCase c(dims, queries, 3, table.arithmetic);
  c.section.rows = cache::TileLayout::rows(4, dims);
  c.section.tile_bytes = c.section.rows * kRowBytes;
  std::vector<std::byte> tiles(c.tiles * c.section.tile_bytes);
  RngStream random(5, Domain::kData, dims);
  for (std::byte& x : tiles) x = static_cast<std::byte>(random.below(256));
  std::vector<float> scores(queries * c.tiles * kLanes);
  // The portable kernels have no batches.
  const std::size_t batch = table.find_scorer(c.section, false, queries) != nullptr ? queries : 1;
  for (std::size_t q = 0; q < queries; q += batch) {
    GuardedBytes prepared(c.tiles * c.stride(table, batch));
    c.prepare(table, q, batch, prepared.data());
    table.find_scorer(c.section, false, batch)(c.section, prepared.data(),
                                               {.tiles = tiles.data(),
                                                .count = c.tiles,
                                                .out = scores.data() + q * c.tiles * kLanes,
                                                .stride = c.tiles * kLanes,
                                                .accumulate = false,
                                                .prefetch = 0,
                                                .tiles_each = 1,
                                                .prepared_stride = c.stride(table, batch)});
  }
  return scores;
}

/// Totals and constants of weighted sums over three value tiles of 128 coordinates; tiles end at a protected page. One
/// weight stands out, the second tile has none, and the third has some below zero.
inline std::vector<float> sums_by(const KernelTable& table, const Setting& setting, std::size_t queries,
                                  std::size_t misalignment, std::size_t prefetch) {
  constexpr std::size_t kTiles = 3;
  constexpr std::size_t kLaneTiles = 2;
  const std::vector<float> levels = levels_for(setting);
  const int bits = setting.bits == 16 ? 0 : setting.bits;
  const LevelGrid grid = make_level_grid({levels.data(), std::size_t{1} << bits}, bits, table.arithmetic);
  Section section;
  section.bits = setting.bits;
  section.dims = kLanes;
  section.rows = cache::TileLayout::rows(setting.bits, kLanes);
  section.scales = kLaneTiles * section.rows * kRowBytes;
  if (setting.offsets) section.offsets = section.scales + 2 * kLanes;
  section.tile_bytes = section.scales + (setting.offsets ? 4 : 2) * kLanes;
  section.query_planes = setting.bits <= 4 ? setting.query_planes : 2;
  section.grid = &grid;
  section.levels = levels.data();

  RngStream random(2, Domain::kData, static_cast<std::uint64_t>(setting.bits));
  GuardedBytes tiles(kTiles * section.tile_bytes + misalignment);
  for (std::size_t i = 0; i < kTiles * section.tile_bytes; i += 2) {
    // Every pair of bytes is a small half and a small bfloat16 too: scales, offsets and rows alike.
    const auto pair = static_cast<std::uint16_t>(random.below(0x3C00) | random.below(2) << 15);
    std::memcpy(tiles.data() + i, &pair, sizeof(pair));
  }
  std::vector<float> weights(queries * kTiles * kLanes);
  for (float& w : weights) w = static_cast<float>(std::exp(random.normal()));
  for (std::size_t q = 0; q < queries; ++q) {
    float* const own = weights.data() + q * kTiles * kLanes;
    own[17] = 400;
    std::fill_n(own + kLanes, kLanes, 0.0F);
    if (q % 4 != 3) continue;  // tiles with weights below zero, and tiles without, in batches of both kinds
    for (std::size_t t = 0; t < kLanes; t += 2) own[2 * kLanes + t] *= -1;
  }
  GuardedBytes totals(queries * kLaneTiles * kLanes * sizeof(float));
  GuardedBytes constants(queries * kConstantChains * sizeof(float));
  auto* const sums = reinterpret_cast<float*>(totals.data());
  auto* const chains = reinterpret_cast<float*>(constants.data());
  std::fill_n(sums, queries * kLaneTiles * kLanes, 0.25F);
  std::fill_n(chains, queries * kConstantChains, 0.5F);
  table.find_summer(section, setting.exact, queries)(section, {.tiles = tiles.data(),
                                                               .count = kTiles,
                                                               .lane_tiles = kLaneTiles,
                                                               .weights = weights.data(),
                                                               .weight_stride = kTiles * kLanes,
                                                               .totals = sums,
                                                               .stride = kLaneTiles * kLanes,
                                                               .constants = chains,
                                                               .prefetch = prefetch});
  std::vector<float> result(sums, sums + queries * kLaneTiles * kLanes);
  result.insert(result.end(), chains, chains + queries * kConstantChains);
  return result;
}

inline std::vector<float> even_thresholds(int bits) {
  const std::size_t count = (std::size_t{1} << bits) - 1;
  std::vector<float> thresholds(count);
  for (std::size_t k = 0; k < count; ++k) {
    thresholds[k] = 4 * (static_cast<float>(k) - static_cast<float>(count - 1) / 2) / static_cast<float>(count);
  }
  return thresholds;
}

/// Codes at every length, matrix products and sums of squares: what encoding is made of.
inline std::vector<float> encoded_by(const KernelTable& table) {
  std::vector<float> result;
  RngStream random(3, Domain::kData, 0);
  for (int bits = 1; bits <= 8; ++bits) {
    const CodeSearch search = make_code_search(even_thresholds(bits), bits);
    for (std::size_t n = 1; n <= 70; ++n) {
      GuardedBytes codes(n);
      std::vector<float> y(n);
      random.fill_normal(std::span<float>(y));
      y[0] = search.thresholds[static_cast<std::size_t>(1) << (bits - 1)] / 0.5F;  // on a threshold: not below it
      auto* const to = reinterpret_cast<std::uint8_t*>(codes.data());
      table.find_codes(search, y.data(), n, 0.5F, to);
      result.insert(result.end(), to, to + n);
    }
  }
  for (const std::size_t d : {1U, 5U, 64U, 80U, 128U, 200U}) {
    std::vector<float> matrix(PanelMatrix::size(d));
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        matrix[PanelMatrix::place(d, i, j)] = static_cast<float>(random.normal());
      }
    }
    for (const std::size_t n : {1U, 2U, 7U, 9U}) {
      GuardedBytes rows(n * d * sizeof(float));
      GuardedBytes products(n * d * sizeof(float));
      auto* const x = reinterpret_cast<float*>(rows.data());
      auto* const y = reinterpret_cast<float*>(products.data());
      random.fill_normal(std::span<float>(x, n * d));
      table.multiply_rows({matrix.data(), d}, x, d, n, y, d);
      result.insert(result.end(), y, y + n * d);
      result.push_back(table.sum_of_squares(x, n * d));
    }
  }
  return result;
}

}  // namespace orthant::kernels
