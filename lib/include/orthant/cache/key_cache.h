#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "orthant/cache/cache_options.h"
#include "orthant/cache/exact_windows.h"
#include "orthant/cache/row_format.h"
#include "orthant/cache/tile_buffer.h"
#include "orthant/cache/tile_layout.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::kernels {
struct TurnedQueries;  // private: queries before they are turned
}

namespace orthant::cache {

class SectionPlan;  // private: sections as the kernels see them
struct SectionPart;
struct CacheParts;  // private: what files of caches hold

/// The keys of one KV head, coded; scores of queries against all of them straight from the codes.
///
/// Keys and queries are those of the transformed space: the caller applies Transform::apply_keys before coding and
/// apply_queries before scoring, so that one query serves all keys, or another one each run of tiles (see scores).
/// Memory is a TileLayout of the row format; key i is lane i % 64 of tile i / 64. Appending writes one lane and never
/// packs again.
///
/// Score error against the exact product with the decoded key (half-precision scale and offset included), a sum over
/// the sections S of n coordinates. With a the key's scale, o its offset, s the softmax scale, Q = max_S |q_j|,
/// C half the range of the levels and m the middle of it:
///   |error| <= s sum_S [ |a| E + R ],    R = (n/2 + 16) 2^-24 (|a| (C + |m|) + |o|) sum_S |q_j|
///   exact mode  E = 0: chains of n/4 fused multiply-adds, n/2 for bfloat16 (Higham 2002, section 3.1)
///   fast mode   E = C (sum_S |q_j| / 126 + n Q' / 254)      one byte for levels and queries, Q' = Q; on AVX2 and on
///                                                           AVX-512 without VNNI the larger of Q and 127/256 of
///                                                           the largest sum of one sign's |q_j| among j, j+1, j+4, j+5
///                                                           (j = 0 or 2 mod 8): their products meet in 16 bits
///               E = n' C Q / 62, or n'' C Q / 126           8-bit tables of 1-bit codes, or 2-bit codes (AVX-512 with
///                                                           VBMI); n' and n'' are n rounded up to whole 16 and 8
///               E = n C Q / 32130                           evenly spaced levels of 8 bits, two-byte queries
///               E = n C Q / 254                             the same with one-byte queries
///               E = C (sum_S |q_j| / 15876 + n Q / 16065)   two bytes for both
/// and for bfloat16 rows with C the largest coordinate of the key and a = 1:
///               E = 0, or C sum_S |q_j| / 256 in fast mode (queries may be rounded to bfloat16 too)
/// Each term is a distance to the nearest grid point (levels on 127 steps to either side of m, 63 where only 7 bits
/// fit; queries on 127 or 127 * 128; partial scores on 31 or 63, so that four or two of them fit a byte) times the
/// largest value of the other factor. These are worst cases: the roundings
/// of different coordinates are as good as independent, so the typical error is smaller by about sqrt(n).
/// Nothing underflows as long as queries are zero or their largest coordinate is 2^-90 or more; smaller ones give
/// scores that are finite and as small. Exact mode gives the same bits on every target; fast mode gives the same bits
/// on all targets whose dot product takes 8-bit levels, and stays within the bound on the others. A score depends
/// neither on the number of queries scored together nor on threads.
///
/// Const calls may run concurrently, each thread with its own Workspace; they do not allocate.
class KeyCache {
 public:
  /// Throws InvalidArgument when the target is unknown or not supported by this CPU.
  explicit KeyCache(RowFormat format, CacheOptions options = {});

  std::size_t size() const { return size_; }
  std::size_t dim() const { return format_.dim(); }
  const RowFormat& format() const { return format_; }
  const CacheOptions& options() const { return options_; }
  const TileLayout& layout() const { return layout_; }
  /// The instruction set in use.
  std::string_view target() const;
  /// Whole tiles, in the layout of TileLayout.
  std::span<const std::byte> tiles() const { return tiles_.bytes(); }
  /// Bytes held for keys: whole tiles and the exact windows.
  std::size_t bytes() const { return tiles_.size() + windows_.bytes(); }
  void reserve(std::size_t keys);

  /// Appends n keys: codes (n, d), one byte each, below 2^bits of their section; scales (n, format().scales()), rounded
  /// to half precision; offsets alike when the format has them, else empty; exact (n, d), the keys themselves, when the
  /// options keep a window, else empty. Throws InvalidArgument, before anything is changed, on a wrong shape, a code
  /// out of range, or a scale or offset that is not finite in half precision. Scales below 2^-25 become zero.
  void append(const MatrixView<const std::uint8_t>& codes, const MatrixView<const float>& scales,
              const MatrixView<const float>& offsets = {}, const MatrixView<const float>& exact = {});
  /// Appends keys of a bfloat16 cache: (n, d) finite floats, rounded.
  void append(MatrixView<const float> keys);

  /// keys: (n, d) receives keys first, first + 1, ... as coded: scale * level + offset, in float.
  void decode(std::size_t first, MatrixView<float> keys) const;

  /// Workspace for calls with up to `queries` queries.
  std::size_t workspace_bytes(std::size_t queries) const;

  /// scores(h, i) = scale * <queries_h, k_(first + i)> [+ terms(h, i)]
  /// queries: (h, d), a GQA group decoded once for all; scores: (h, n), n keys from `first`, which is a multiple of 64.
  /// terms: empty, (h, n), or (h, 1) for one term a query. A cache whose queries change from run to run of tiles
  /// (phase-aligned keys) is scored by one call for each run. Rows of scores that start at multiples of 64 bytes, as
  /// those of a Matrix of such a width do, are written fastest. Throws InvalidArgument on a shape mismatch, keys beyond
  /// size(), or queries that are not finite.
  void scores(MatrixView<const float> queries, float scale, std::size_t first, MatrixView<float> scores,
              Workspace& work, MatrixView<const float> terms = {}) const;

  /// The bound above for every score of the same call; slow.
  void score_error_bounds(MatrixView<const float> queries, float scale, std::size_t first,
                          MatrixView<float> bounds) const;

 private:
  friend struct CacheParts;
  friend class MatchedKeyCache;

  struct KeyReach {
    double error_range;  ///< |a| C
    double largest;      ///< of the section's coordinates, |a| (C + |m|) + |o|
  };
  KeyReach reach_of(std::size_t key, const SectionPart& part) const;
  std::span<std::byte> tile_of(std::size_t key);
  std::span<const std::byte> tile_of(std::size_t key) const;
  /// Consecutive runs of keys, each scored with queries of its own: the same number of heads, prepared run after run.
  struct Runs {
    std::size_t count;
    std::size_t keys;  ///< of each run but the last, a multiple of 64
    std::size_t heads;
  };
  /// Throws InvalidArgument unless queries, which are `what` to the caller, and scale are finite.
  void require_scorable(std::string_view where, std::string_view what, const MatrixView<const float>& queries,
                        float scale) const;
  /// Of one run's prepared queries.
  std::size_t prepared_bytes(std::size_t heads) const;
  std::size_t workspace_bytes(std::size_t queries, std::size_t runs) const;
  /// Finite queries (count * heads, d) of runs made ready for score_runs; terms: empty, or (count * heads, 1).
  void prepare_runs(const Runs& runs, const MatrixView<const float>& queries, float scale,
                    const MatrixView<const float>& terms, std::span<std::byte> prepared) const;
  /// The same from queries as they are before they are turned to the frames of the runs, for plans that take them.
  void prepare_turned_runs(const Runs& runs, const kernels::TurnedQueries& queries,
                           std::span<std::byte> prepared) const;
  /// Scores (heads, n) of n keys from `first`, for shapes that fit: nothing is checked.
  void score_runs(std::span<const std::byte> prepared, const Runs& runs, std::size_t first,
                  const MatrixView<float>& scores, Workspace& work, bool accumulate) const;
  /// One batch's prepared queries, run after run.
  struct PreparedRuns {
    std::span<const std::byte> blocks;
    std::size_t stride;
    std::size_t tiles_each;
  };
  void score_tiles(const PreparedRuns& prepared, std::size_t first, const MatrixView<float>& scores, Workspace& work,
                   bool accumulate) const;
  void score_windows(MatrixView<const float> queries, float scale, std::size_t first, MatrixView<float> scores,
                     MatrixView<const float> terms) const;

  RowFormat format_;
  CacheOptions options_;
  TileLayout layout_;
  std::shared_ptr<const SectionPlan> plan_;
  TileBuffer tiles_;
  ExactWindows windows_;
  std::size_t size_ = 0;
};

}  // namespace orthant::cache
