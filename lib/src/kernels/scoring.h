#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

// What the caches and the per-target kernels share. A kernel sees tiles only as rows of 64 words (cache/tile_layout.h
// describes the bytes) and a section only as what is here.
namespace orthant::kernels {

inline constexpr std::size_t kLanes = 64;             // cached rows of a tile
inline constexpr std::size_t kRowBytes = 4 * kLanes;  // one word for each lane
inline constexpr std::size_t kMaxBatch = 8;           // queries that share one decode
inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// How integer kernels represent levels and queries.
///   kWide    levels in 8 bits, queries in 8 bits, four products at a time summed in 32 bits (VNNI, sdot)
///   kNarrow  levels in 7 bits: sums of two products must fit 16 bits (vpmaddubsw)
///   kTables  as kWide, but one-plane sections of 1 and 2 bits look up whole nibbles in 8-bit tables of partial scores
enum class Arithmetic { kWide, kNarrow, kTables };

/// Levels of one section on an integer grid: with h = high[k], l = low[k],
///   one plane   level_k ~ centre + step * (h - zero)
///   two planes  level_k ~ centre + step * ((h - zero) * base + l),   0 <= l < base
/// direct: one plane, high[k] = k, and the grid is exact: codes need no look-up.
struct LevelGrid {
  int planes = 1;
  bool direct = false;
  int zero = 128;
  int base = 256;
  float centre = 0;
  float step = 0;
  float max_error = 0;  ///< max_k |level_k - its grid value|
  // The 2^bits levels, again and again.
  alignas(64) std::uint8_t high[256] = {};
  alignas(64) std::uint8_t low[256] = {};
  alignas(64) std::uint8_t centred[256] = {};  ///< high less zero, signed
};

/// One section of all tiles of a cache.
struct Section {
  int bits = 0;  ///< 1 to 8, or 16
  std::size_t dims = 0;
  std::size_t rows = 0;
  std::size_t offset = 0;       ///< of its first row in the tile
  std::size_t tile_bytes = 0;   ///< from tile to tile
  std::size_t scales = kNone;   ///< offset of its 64 half-precision scales in the tile
  std::size_t offsets = kNone;  ///< offset of its 64 half-precision offsets
  int query_planes = 1;
  float half_range = 0;  ///< (largest - smallest level) / 2
  const LevelGrid* grid = nullptr;
  const float* levels = nullptr;  ///< 256 floats, the 2^bits levels repeated
};

/// Queries of one section made ready for a kernel: this header, then 64-byte aligned data.
///   score = ((factor_a * A + factor_b * B) + constant) * scale + term [+ sum * offset]
/// where A and B are integer sums that start at seed_a and seed_b. In exact kernels the bracket before the constant is
/// one float sum. prepare leaves the term 0: the caller may set one, the same for every row.
struct alignas(64) QueryHeader {
  static constexpr std::size_t kQueries = kMaxBatch + 1;  // sums of values have one more: see byte_sums
  float factor_a[kQueries];
  float factor_b[kQueries];
  float constant[kQueries];
  float sum[kQueries];  ///< of the query; not needed, and not computed, without offsets and with a centre of 0
  float term[kQueries];
  std::int32_t seed_a[kQueries];
  std::int32_t seed_b[kQueries];
};

/// n queries of one section: query i at data + i * stride, section.dims coordinates each.
struct QueryRows {
  const float* data;
  std::size_t stride;
  std::size_t count;
  float scale;  ///< multiplies every score (softmax scale)
};

/// Queries x after RoPE, to be scored against keys in the frames of several tiles that start at positions tau:
///   f_i = x_i cos phi_i - x_{i+d/2} sin phi_i,  f_{i+d/2} = x_i sin phi_i + x_{i+d/2} cos phi_i,  phi_i = -tau omega_i
///   p = H diag(scales) f,  score = <p, y> + <f, mean>
/// The angles of a tile are those of its block and those within the block, added; phases are the cosines of all angles,
/// then the sines.
/// p is rounded twice. diag(scales) f becomes 16-bit integers of `unit` = max(L, kLeastTurnedBound) / kTurnedTop,
///   L = sum_i hypot(scales_i, scales_{i+d/2}) (max + (sqrt 2 - 1) min)(|g_i|, |g_{i+d/2}|) >= sum_j |scales_j f_j|,
/// g the query in the frame of the block: butterflies cannot leave 16 bits. p becomes bytes of `step` =
/// unit max(1, max |p| / 127), or up to 1/127 more. Error of p_j: at most step / 2 + (H e)_j with |e_j| <= unit / 2, so
/// that |H e| <= unit d / 2. Where quads are limited, the step may be the one they ask for.
struct TurnedQueries {
  QueryRows rows;
  const float* scales;        ///< d
  const float* reaches;       ///< d / 2: hypot(scales_i, scales_{i+d/2})
  const float* mean;          ///< d
  const float* block_phases;  ///< d
  const float* tile_phases;   ///< d for each tile
  std::size_t tiles;
};
inline constexpr float kTurnedTop = 32000;             // 32767 less the roundings of d <= 256 coordinates
inline constexpr float kLeastTurnedBound = 0x1p-100F;  // below it all is rounded to units of nearly nothing

/// Consecutive tiles and where their scores go: lane t of tile i, query h to out[h * stride + 64 * i + t].
struct TileRun {
  const std::byte* tiles;
  std::size_t count;
  float* out;
  std::size_t stride;
  bool accumulate;           ///< add to what is there
  std::size_t prefetch = 0;  ///< bytes ahead to fetch; 0: the tiles are in cache
  /// So many tiles are scored by the same prepared queries, the next ones by those `prepared_stride` bytes further on.
  std::size_t tiles_each = kNone;
  std::size_t prepared_stride = 0;
};

/// One tile of a run after the other, with the prepared queries that score it and the place of its scores.
struct TileLoop {
  const std::byte* tile;
  float* out;

  TileLoop(const Section& section, const std::byte* prepared, const TileRun& run)
      : tile(run.tiles),
        out(run.out),
        prepared_(prepared),
        tile_bytes_(section.tile_bytes),
        left_(run.count),
        of_these_(run.tiles_each),
        each_(run.tiles_each),
        stride_(run.prepared_stride) {}
  bool any() const { return left_ > 0; }
  void advance() {
    tile += tile_bytes_;
    out += kLanes;
    --left_;
    if (--of_these_ > 0) return;
    of_these_ = each_;
    prepared_ += stride_;
  }
  const QueryHeader& header() const { return *reinterpret_cast<const QueryHeader*>(prepared_); }
  const std::byte* queries() const { return prepared_ + sizeof(QueryHeader); }

 private:
  const std::byte* prepared_;
  std::size_t tile_bytes_;
  std::size_t left_;
  std::size_t of_these_;
  std::size_t each_;
  std::size_t stride_;
};

inline constexpr std::size_t kConstantChains = 32;  // of a sum over tokens

/// Consecutive tiles of values and where their weighted sums go. The section has 64 dims, the tokens of a tile, and
/// `lane_tiles` runs of its rows, one for each 64 coordinates.
///   totals[h * stride + lane]  += sum over tokens of weight * scale * (level, less the middle of the levels if any)
///   constants[h * kConstantChains + c] += sum over tokens t = c mod kConstantChains of weight * (scale * middle +
///   offset)
struct ValueRun {
  const std::byte* tiles;
  std::size_t count;
  std::size_t lane_tiles;
  const float* weights;  ///< of token t of tile i for query h at h * weight_stride + 64 * i + t
  std::size_t weight_stride;
  float* totals;
  std::size_t stride;
  float* constants;
  std::size_t prefetch = 0;  ///< as in TileRun
};

/// Groups rounded up to whole blocks of eight: kernels may read queries to the end of the last block.
inline std::size_t padded_groups(std::size_t dims) { return (dims + 31) / 32 * 8; }

/// True when kernels add the products of two groups in 16 bits: four coordinates j, j + 1, j + 4, j + 5 (j = 0 or 2
/// mod 8) whose levels are at most 127. Query bytes of one sign among them must then not exceed 258 in sum.
inline bool limits_quads(const Section& section, Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kNarrow && section.bits <= 5 && section.query_planes == 1;
}
/// What the sum may be before the four are rounded.
inline constexpr int kQuadTop = 256;
/// The largest sum of magnitudes of one sign among such four coordinates.
float largest_quad(const float* query, std::size_t dims);

/// True when a fast kernel of this arithmetic scores the section by tables.
inline bool uses_tables(const Section& section, Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kTables && section.bits <= 2 && section.query_planes == 1;
}

/// True when prepare_turned serves fast kernels of this arithmetic for the section: one plane of query bytes, levels
/// around zero, 64, 128 or 256 dims.
bool takes_turned(const Section& section, Arithmetic arithmetic);

/// A square matrix in panels of 64 columns, an even number of them, zeros beyond the last column: entry (i, j) at
/// (j / 64 * dim + i) * 64 + j % 64. A panel of 128 rows stays in the first-level cache.
struct PanelMatrix {
  static constexpr std::size_t kColumns = 64;
  const float* data;
  std::size_t dim;
  static constexpr std::size_t size(std::size_t d) {
    return (d + 2 * kColumns - 1) / (2 * kColumns) * 2 * kColumns * d;
  }
  static constexpr std::size_t place(std::size_t d, std::size_t i, std::size_t j) {
    return (j / kColumns * d + i) * kColumns + j % kColumns;
  }
};

/// Partial scores in a table are integers up to this: so many can be added before they leave a byte, all four nibbles
/// of two rows of 1-bit codes, or the two of a row of 2-bit codes.
constexpr int table_top(int bits) { return bits == 1 ? 127 / 4 : 127 / 2; }

/// Bytes of the header and data for `count` queries; a multiple of 64.
std::size_t query_bytes(const Section& section, Arithmetic arithmetic, bool exact, std::size_t count);

}  // namespace orthant::kernels
