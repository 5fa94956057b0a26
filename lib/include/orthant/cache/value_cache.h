#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "orthant/cache/cache_options.h"
#include "orthant/cache/exact_windows.h"
#include "orthant/cache/row_format.h"
#include "orthant/cache/tile_buffer.h"
#include "orthant/cache/tile_layout.h"
#include "orthant/core/matrix_view.h"
#include "orthant/core/workspace.h"

namespace orthant::cache {

class Attention;
class SectionPlan;  // private: sections as the kernels see them
struct CacheParts;  // private: what files of caches hold

/// Where the bytes of a value tile, 64 tokens, lie. Values are summed over tokens, so tokens and coordinates change
/// places against TileLayout: a lane holds one coordinate of 64 tokens.
///
///   tile = for each section, for each 64 coordinates of it (the last ones padded with zero lanes):
///            code rows of a TileLayout section of 64 dims: lane = coordinate, dim = token of the tile
///          then for each scale: 64 scales [, 64 offsets] as binary16, one for each token
/// Every section starts new lanes, so sections should hold multiples of 64 coordinates.
class ValueLayout {
 public:
  explicit ValueLayout(const RowFormat& format);

  std::size_t tile_bytes() const { return tile_bytes_; }
  std::size_t section_offset(std::size_t section) const { return offsets_[section]; }
  /// Bytes of the rows of 64 coordinates at this width.
  static std::size_t lane_tile_bytes(int bits);
  /// 64-coordinate pieces of a section of `dims` coordinates.
  static std::size_t lane_tiles(std::size_t dims) { return (dims + 63) / 64; }
  std::size_t scale_offset(std::size_t s) const { return scales_begin_ + s * scale_stride_; }
  std::size_t offset_offset(std::size_t s) const;
  /// Where the code of token t lies in a lane of a section, as TileLayout::pieces has it; not for bfloat16.
  std::span<const TileLayout::Piece> pieces(std::size_t section, std::size_t t) const { return pieces_[section][t]; }

 private:
  std::vector<std::size_t> offsets_;
  std::vector<std::vector<std::vector<TileLayout::Piece>>> pieces_;  // of each section and token
  std::size_t scales_begin_ = 0;
  std::size_t scale_stride_ = 0;
  std::size_t tile_bytes_ = 0;
};

/// The values of one KV head, coded; sums over tokens straight from the codes, in the space the values were coded in
/// (a rotation is undone once, on the sum).
///
///   sums(h, :) = sum_i weights(h, i) v_(first + i)
///
/// Error against the exact sum of decoded values. For one coordinate of a section with levels of half range C around m,
/// W = max_i |weights_i scale_i|, L = sum_i |weights_i scale_i|, R = max(0, max_i weights_i scale_i) - min(0, min_i ..)
/// over a tile of 64 tokens, summed over tiles:
///   exact mode  0                                  + rounding
///   fast mode   C (L / 126 + 56 R / 254)           + rounding     up to 4 bits: one byte for levels and weights
///               C (L / 126 + 64 W / 32130)         + rounding     one byte for levels (5 bits, or 16-bit weights)
///               64 C W / 32130                     + rounding     evenly spaced levels of 8 bits
///               C (L / 15876 + 64 W / 16065)       + rounding     other levels of 6 bits and more
///               bfloat16 rows: max |v| sum |weights| / 256
/// One-byte weights hand what they round off, at most half a step of R / 254, to the token sixteen places on: the sum
/// of all weights keeps its value, and an error is half a step times differences of levels, 7 C for each of 16 chains.
/// Above, rounding is at most (16 + n / 32) 2^-24 ((C + |m|) L + sum_i |weights_i offset_i|), n tokens, W and L of them
/// all.
///
/// Const calls may run concurrently, each thread with its own Workspace; they do not allocate.
class ValueCache {
 public:
  /// Throws InvalidArgument when the target is unknown or not supported by this CPU.
  explicit ValueCache(RowFormat format, CacheOptions options = {});

  std::size_t size() const { return size_; }
  std::size_t dim() const { return format_.dim(); }
  const RowFormat& format() const { return format_; }
  const CacheOptions& options() const { return options_; }
  std::string_view target() const;
  std::span<const std::byte> tiles() const { return tiles_.bytes(); }
  std::size_t bytes() const { return tiles_.size() + windows_.bytes(); }
  void reserve(std::size_t tokens);

  /// As KeyCache::append.
  void append(const MatrixView<const std::uint8_t>& codes, const MatrixView<const float>& scales,
              const MatrixView<const float>& offsets = {}, const MatrixView<const float>& exact = {});
  void append(MatrixView<const float> values);

  /// values: (n, d) receives tokens first, first + 1, ... as coded.
  void decode(std::size_t first, MatrixView<float> values) const;

  /// Workspace for calls with up to `queries` rows of weights.
  std::size_t workspace_bytes(std::size_t queries) const;

  /// weights: (h, n) for tokens from `first`, a multiple of 64; sums: (h, d), overwritten. Tiles whose weights are all
  /// zero are not read. Throws InvalidArgument on a shape mismatch, tokens beyond size(), or weights that are not
  /// finite.
  void weighted_sum(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums, Workspace& work) const;

 private:
  friend struct CacheParts;

  friend class Attention;  // its weights are finite by construction

  /// weighted_sum of arguments that fit.
  void sum_weights(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums, Workspace& work) const;
  /// True when the tile that starts at token `begin` lies before `end` and outside the windows.
  bool whole_tile(std::size_t begin, std::size_t end) const;
  /// Weights of the tile that starts at token `begin`, zero where there is none or a window holds the token.
  void take_weights(MatrixView<const float> weights, std::size_t first, std::size_t begin,
                    MatrixView<float> of_tile) const;
  void sum_batch(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums, Workspace& work) const;
  void add_exact(MatrixView<const float> weights, std::size_t first, MatrixView<float> sums) const;

  RowFormat format_;
  CacheOptions options_;
  ValueLayout layout_;
  std::shared_ptr<const SectionPlan> plan_;
  TileBuffer tiles_;
  ExactWindows windows_;
  std::size_t size_ = 0;
};

}  // namespace orthant::cache
