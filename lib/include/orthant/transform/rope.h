#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orthant/core/matrix_view.h"

namespace orthant::transform {

/// How the coordinates of a head pair up (m = rotary dimensions, pair i < m / 2).
enum class RopeLayout {
  kNone,         ///< no rotary embedding: turning changes nothing
  kHalf,         ///< (x_i, x_{i + m/2}): GPT-NeoX, Llama as converted for transformers, Gemma, Qwen
  kInterleaved,  ///< (x_{2i}, x_{2i+1}): the paper, GPT-J, Llama as published
};

/// "none", "half" or "interleaved".
const char* name(RopeLayout layout);

/// Rotary position embedding R_t (Su et al. 2021): pair i turns by the angle t * frequency_i,
///   (a, b) -> (a cos - b sin, a sin + b cos).
/// R_s R_t = R_{s+t} and R_t^T = R_{-t}, so <R_s q, R_t k> = <R_{s-t} q, k>: a key turned back by t0 gives the same
/// scores with a query turned back by t0. Coordinates from m on are left alone. Angles are taken in double: relative
/// accuracy of position * frequency 2^-53, so an angle error of at most 1e-9 up to position 10^7.
/// Immutable; calls may run concurrently and do not allocate.
class Rope {
 public:
  /// All of dim turns, frequency_i = theta^(-2i / dim). Throws InvalidArgument unless dim is even and theta > 0
  /// (neither matters to kNone).
  Rope(RopeLayout layout, std::size_t dim, double theta);
  /// Frequencies as a model scales them; 2 * frequencies.size() <= dim coordinates turn.
  Rope(RopeLayout layout, std::size_t dim, std::vector<double> frequencies);

  std::size_t dim() const { return dim_; }
  RopeLayout layout() const { return layout_; }
  std::span<const double> frequencies() const { return frequencies_; }

  struct Pair {
    std::size_t a;
    std::size_t b;
  };
  /// The two coordinates that frequency i turns.
  Pair pair(std::size_t i) const {
    return layout_ == RopeLayout::kHalf ? Pair{i, i + frequencies_.size()} : Pair{2 * i, 2 * i + 1};
  }

  /// y_i = R_position x_i for every row; x and y (n, dim) may be the same memory, otherwise they must not overlap.
  void turn(MatrixView<const float> x, double position, MatrixView<float> y) const;
  void turn(MatrixView<const double> x, double position, MatrixView<double> y) const;
  /// Cosines, then sines, of the pairs' angles at a position: what the next function turns by. phases: (2 pairs).
  void phases(double position, std::span<float> phases) const;
  /// y_i = R_position x_i for the position of `phases`, without a trigonometric function: for hot paths.
  void turn(MatrixView<const float> x, std::span<const float> phases, MatrixView<float> y) const;
  /// y += factor R_position x for one vector.
  void add_turned(std::span<const float> x, double position, float factor, std::span<float> y) const;
  /// S <- R S R^T, the moment of turned vectors, for the (dim, dim) second moment S of vectors.
  void turn_moment(MatrixView<double> s, double position) const;

 private:
  template <class T>
  void turn_rows(MatrixView<const T> x, double position, MatrixView<T> y) const;

  RopeLayout layout_;
  std::size_t dim_;
  std::vector<double> frequencies_;
};

}  // namespace orthant::transform
