#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/transform/rope.h"
#include "orthant/transform/second_moments.h"

namespace orthant::transform {

/// In which coordinates cached keys k_t = R_t kappa_t are centred and coded, so that one map serves many keys.
///   tile = 0   as cached ("align=none")
///   tile = N   the key at position t is turned back by t0 = t - t mod N: R_{t - t0} kappa_t ("align=N"). A query
///   turned
///              back by t0 scores every key of the tile from its codes.
///   tile = 1   turned back altogether: kappa_t itself ("align=pre"); the query must be turned for every key
struct Alignment {
  static constexpr std::size_t kNone = 0;
  static constexpr std::size_t kBeforeRope = 1;
  std::size_t tile = kNone;

  std::size_t tile_start(std::size_t position) const { return tile == 0 ? 0 : position - position % tile; }
  friend bool operator==(const Alignment&, const Alignment&) = default;
};

/// Which mean is taken off before coding.
enum class Centre {
  kNone,
  kMean,      ///< the mean in the frame, constant: its score is one number for each query and tile
  kRotating,  ///< R_t mu_0, mu_0 the mean before the rotary embedding: its score is one number for each query and key
};

/// Keys into their frame and back: x_t = R_{-t0} k_t, less R_{t - t0} mu_0 for a rotating centre. The constant mean is
/// not taken off here: it belongs to the coder, like the map.
/// Immutable; calls may run concurrently and do not allocate.
class KeyFrame {
 public:
  /// rotating_mean: mu_0, (d), or empty. Throws InvalidArgument unless its size is rope.dim() or 0.
  KeyFrame(Rope rope, Alignment alignment, std::vector<float> rotating_mean = {});

  const Rope& rope() const { return rope_; }
  Alignment alignment() const { return alignment_; }
  bool rotating() const { return !mean_.empty(); }

  /// keys (n, d) at positions first, first + 1, ...; out (n, d), the same memory or not overlapping.
  void enter(MatrixView<const float> keys, std::size_t first, MatrixView<float> out) const;
  void leave(MatrixView<const float> framed, std::size_t first, MatrixView<float> keys) const;
  /// The query's side for the keys of the tile that starts at tile_start: R_{-t0} q for every row.
  void enter_queries(MatrixView<const float> queries, std::size_t tile_start, MatrixView<float> out) const;
  /// out = R_{t - t0} mu_0, what enter takes off the key at `position`; zeros without a rotating centre.
  void mean_at(std::size_t position, std::span<float> out) const;

 private:
  void turn_tiles(MatrixView<const float> in, std::size_t first, double sign, MatrixView<float> out) const;
  void add_mean(MatrixView<float> rows, std::size_t first, float factor) const;

  Rope rope_;
  Alignment alignment_;
  std::vector<float> mean_;
};

/// Moments of keys and queries in a frame.
struct FrameMoments {
  std::vector<double> mean;       ///< of the keys; zero for kNone and, as enter takes it off, for kRotating
  Matrix<double> key_covariance;  ///< about that mean
  Matrix<double> query_moment;    ///< second moment of queries as they meet the keys of a tile
};

/// Frame moments from moments before the rotary embedding, of keys kappa and queries (turned back by their own
/// positions). Positions are taken to be independent of both: a key lies anywhere in its tile (with tile = 0, anywhere
/// in the context), a query sees keys at every distance below `distances` equally often. So one calibration serves
/// every alignment and any context length, and no frame's moments carry the accident of a few positions.
///   context: tokens of the cache; distances: min(context, sliding window). InvalidArgument when one is 0.
FrameMoments frame_moments(const SecondMoments& keys, const SecondMoments& queries, const Rope& rope,
                           Alignment alignment, Centre centre, std::uint64_t context, std::uint64_t distances);

}  // namespace orthant::transform
