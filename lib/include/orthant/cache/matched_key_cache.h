#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "orthant/cache/cache_options.h"
#include "orthant/cache/key_cache.h"
#include "orthant/cache/row_format.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/key_frame.h"
#include "orthant/transform/transform.h"

namespace orthant::cache {

/// How the keys of one KV head are matched and coded; fitted once, shared by the caches of every sequence.
///   y = A (F k - mean)      F: the frame, A: the map, then codes of each segment with its own rotation, book and norm
/// Immutable; calls may run concurrently.
class MatchedKeyCoder {
 public:
  /// Consecutive coordinates of A x. A segment without coder stores nothing and decodes to zeros.
  struct Segment {
    std::size_t dim = 0;
    std::shared_ptr<const quantizer::TurboMse> coder;
  };

  /// mean: (d), zeros for none; map: A, or null for the identity. Throws InvalidArgument unless dimensions agree, a
  /// segment has a coder, and the frame's tile is 0 or a multiple of 64: keys coded before RoPE have no scores
  /// straight from the codes.
  MatchedKeyCoder(transform::KeyFrame frame, std::vector<float> mean, std::shared_ptr<const transform::Transform> map,
                  std::vector<Segment> segments);

  std::size_t dim() const { return mean_.size(); }
  const transform::KeyFrame& frame() const { return frame_; }
  std::span<const float> mean() const { return mean_; }
  /// One section and one scale for each segment.
  RowFormat format() const;
  /// Of encode and of queries with up to `rows` rows.
  std::size_t workspace_bytes(std::size_t rows) const;

  /// keys (n, d) at positions first, first + 1, ...; codes (n, d), scales (n, format().scales()); exact (n, d) or
  /// empty: the rotated y themselves.
  void encode(MatrixView<const float> keys, std::size_t first, MatrixView<std::uint8_t> codes, MatrixView<float> scales,
              MatrixView<float> exact, Workspace& work) const;
  /// Queries as a cache of these codes takes them, p = R A^-T framed, for queries that are in the frame of a tile.
  void transform_queries(MatrixView<const float> framed, MatrixView<float> p, Workspace& work) const;
  /// h queries after RoPE turned back to the start of each of some tiles and transformed in one go; row t h + q of p
  /// and means is query q for tile t, means = <framed, mean>. phases: Rope::phases of minus the start of every tile,
  /// one after the other; p: (tiles * h, d); means: (tiles * h).
  void transform_queries(const MatrixView<const float>& queries, std::span<const float> phases,
                         const MatrixView<float>& p, std::span<float> means, Workspace& work) const;
  /// Whether transformed queries of any tile are sure to be finite for such queries; false when that is not known.
  bool transforms_stay_finite(MatrixView<const float> queries) const;

 private:
  friend class MatchedKeyCache;

  void rotate_keys(MatrixView<float> y, Workspace& work) const;
  void rotate_queries(const MatrixView<float>& p, Workspace& work) const;

  transform::KeyFrame frame_;
  std::vector<float> mean_;
  std::shared_ptr<const transform::Transform> map_;
  std::vector<Segment> segments_;
  // For maps that scale channels in their order, under a rotary embedding of halves that turns every channel: 1 / A_jj,
  // so that turning, scaling and the mean's term are one pass over a query. Empty for other maps.
  std::vector<float> query_scales_;
  // The same times S_jj / sqrt(d) when the only rotation is H S / sqrt(d): what is left of it are additions.
  std::vector<float> signed_scales_;
  std::vector<float> pair_reaches_;  // hypot of the signed scales of each pair that is turned; empty without them
  float reach_ = 0;  // no coordinate of a transformed query and no mean's term is larger than reach_ |q|
};

/// The matched keys of one KV head as tokens arrive, and scores straight from their codes.
/// One map serves a whole tile of keys: a query is turned, mapped and rotated once for each tile (once in all when the
/// frame has none), and the mean adds one number for each query and tile, or, when it rotates, one for each key.
/// Keys outside the tile grid (after eviction) need the frame without tiles. Const calls may run concurrently, each
/// thread with its own Workspace; they do not allocate.
///
/// Scores have KeyCache's error bound B, for the transformed query p. Fast scores of frames with tiles, of one segment
/// of n = 64, 128 or 256 coordinates rotated by one round of Hadamard, under a diagonal map, with one-byte queries and
/// integer kernels, come from queries that are rotated as 16-bit integers, at a third of the time. With
/// L = sum_i hypot(w_i, w_{i+n/2}) |(q_i, q_{i+n/2})|, w_j = 1 / (sqrt(n) |A_jj|), C half the range of the levels and
/// a the key's scale, s the softmax scale:
///   |error| <= 1.02 B + s |a| C n (sqrt(n) / 2 + 1.6) u,   u = 1.083 max(L, 2^-100) / 32000
/// for e_j <= u / 2 before and |H e| <= n u / 2 after the rotation (Cauchy-Schwarz: sum_j |(H e)_j| <= n sqrt(n) u /
/// 2), and steps of a byte that are at most 1/127 longer, and u (1 + n / 128), than those of p.
class MatchedKeyCache {
 public:
  /// first_position: of key 0; a multiple of the frame's tile, else InvalidArgument.
  MatchedKeyCache(std::shared_ptr<const MatchedKeyCoder> coder, const CacheOptions& options = {},
                  std::size_t first_position = 0);

  std::size_t size() const { return keys_.size(); }
  const MatchedKeyCoder& coder() const { return *coder_; }
  const KeyCache& codes() const { return keys_; }
  void reserve(std::size_t keys) { keys_.reserve(keys); }

  std::size_t append_workspace_bytes() const;
  /// keys: (n, d) as a plain cache takes them (after RoPE), the next n positions. Throws InvalidArgument, before
  /// anything is changed, when one is not finite or a scale does not fit half precision. Up to 64 keys are coded in the
  /// workspace, more in memory of their own.
  void append(MatrixView<const float> keys, Workspace& work);

  std::size_t workspace_bytes(std::size_t queries) const;
  /// scores(h, i) = scale * <queries_h, k_i> for all keys; queries (h, d) after RoPE, scores (h, size()).
  void scores(MatrixView<const float> queries, float scale, MatrixView<float> scores, Workspace& work) const;

 private:
  /// Up to 64 keys.
  void append_block(const MatrixView<const float>& keys, Workspace& work);
  /// Phases for so many keys.
  void grow_phases(std::size_t keys);
  /// Without tiles: one transformed query for all keys.
  void scores_of_one_run(const MatrixView<const float>& queries, float scale, const MatrixView<float>& scores,
                         Workspace& work) const;
  /// With tiles: from the codes, of exact tokens too.
  void scores_of_runs(const MatrixView<const float>& queries, float scale, bool finite, const MatrixView<float>& scores,
                      Workspace& work) const;
  /// Overwrites the scores of the windows' tokens by exact ones.
  void score_exact_tokens(const MatrixView<const float>& queries, float scale, const MatrixView<float>& scores,
                          Workspace& work) const;
  void scores_with_rotating_mean(MatrixView<const float> queries, float scale, MatrixView<float> scores,
                                 Workspace& work) const;
  /// Whether queries of tiles are turned, rotated and rounded in one pass.
  bool turns_in_one_pass() const;
  /// Queries of `count` tiles from `tile`, all of one block of phases, made ready to score.
  void prepare_turned(const MatrixView<const float>& queries, float scale, std::size_t tile, std::size_t count,
                      std::span<std::byte> prepared) const;
  std::size_t phase_width() const { return 2 * coder_->frame().rope().frequencies().size(); }
  /// Of minus the starts of the frame's tiles tile, tile + 1, ...: phase_width() floats each.
  void put_phases(std::size_t tile, std::span<float> phases) const;

  std::shared_ptr<const MatchedKeyCoder> coder_;
  std::size_t first_position_;
  bool keeps_exact_;
  KeyCache keys_;
  // By which queries are turned back: to the first tile of each block, and from there to a tile of the block.
  std::vector<float> block_phases_;
  std::vector<float> tile_phases_;
  Matrix<float> turned_means_;  // R_delta mu_0 for each place in a tile; empty unless the mean rotates in tiles
};

}  // namespace orthant::cache
