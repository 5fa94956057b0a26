#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orthant/core/rng.h"
#include "orthant/transform/rotation.h"

namespace orthant::transform {

/// A rotation made of cheap steps, each orthogonal by itself, hence orthogonal for every d:
///   signs            x_j <- s_j x_j,  s_j = +1 or -1
///   hadamard         x_[first, first + n) <- H_n x / sqrt(n),  n a power of two,  H_ij = (-1)^popcount(i & j)
///   halves           (x_i, x_k) <- (x_i + x_k, x_i - x_k) / sqrt 2,  i < floor(d/2),  k = i + ceil(d/2)
///   planes           (x_i, x_k) <- (c x_i - s x_k, s x_i + c x_k),  c^2 + s^2 = 1, over pairs of a random matching
/// Applied in place, row by row, in float: O(d log d) a vector and no workspace; |y - R x|_2 <= s eps |x|_2 with s the
/// number of steps times 2 log2 d (each butterfly is orthogonal, so rounding errors do not grow). Same bits on every
/// machine and for any batch. Immutable.
///
/// The constructions are the free functions below. Random numbers come from RngStream(seed, Domain::kRotation, index).
class FastRotation final : public Rotation {
 public:
  /// Starts as the identity of R^dim; throws InvalidArgument for dim = 0. `name` is what describe() returns.
  FastRotation(std::size_t dim, std::string name, std::string guarantee);

  /// Each appends one step, to be applied after those already there.
  void add_signs(RngStream& rng);
  /// Throws InvalidArgument unless size is a power of two and [first, first + size) lies in [0, dim).
  void add_hadamard(std::size_t first, std::size_t size);
  void add_halves();
  /// floor(d/2) disjoint pairs, uniform among all matchings, each turned by its own uniform angle.
  void add_random_planes(RngStream& rng);

  std::size_t dim() const override { return dim_; }
  std::string describe() const override { return name_; }
  std::string guarantee() const override { return guarantee_; }
  std::size_t workspace_bytes(std::size_t) const override { return 0; }
  void apply_keys(MatrixView<const float> x, MatrixView<float> y, Workspace& work) const override;
  void invert_keys(MatrixView<const float> y, MatrixView<float> x, Workspace& work) const override;
  void rotate(std::span<double> x) const override;
  void rotate_back(std::span<double> x) const override;

  /// The signs of every signs step in order, dim() each: what an audit of the randomness looks at.
  std::span<const float> signs() const { return signs_; }
  /// S when this is H_d S / sqrt(d), one round on a power of two; else empty.
  std::span<const float> single_round_signs() const;

 private:
  enum class Kind { kSigns, kHadamard, kHalves, kPlanes };
  struct Step {
    Kind kind;
    std::size_t first;  // kHadamard: first coordinate; kSigns, kPlanes: first element of signs_, planes_
    std::size_t count;  // kHadamard: size; kSigns: dim; kPlanes: number of pairs
  };
  struct Plane {
    std::uint32_t i;
    std::uint32_t k;
    double cosine;
    double sine;
  };
  template <class T>
  void forward(std::span<T> x) const;
  template <class T>
  void backward(std::span<T> x) const;

  std::size_t dim_;
  std::string name_;
  std::string guarantee_;
  std::vector<Step> steps_;
  std::vector<float> signs_;
  std::vector<Plane> planes_;
};

/// "hadamard:r": r >= 1 rounds, fresh signs each (SORF; Ailon & Chazelle 2009). With n the largest power of two <= d,
///   d = n:   x <- H_n S x / sqrt(n)
///   d > n:   signs, hadamard on the first n coordinates, signs, hadamard on the last n, halves.
/// The two windows cover every coordinate; the halves step carries energy between those that only one window sees.
/// r = 1 has no worst-case guarantee: it takes e_1 to a vector of equal magnitudes, and a codebook made for the sphere
/// misses Theorem 1's bound on it (d = 128, 2 bits: 0.2552 > 0.1700). r >= 2 with fresh signs repairs that; 3 is usual.
FastRotation randomized_hadamard(std::size_t dim, int rounds, std::uint64_t seed, std::uint64_t index = 0);
/// The same with signs from any stream.
FastRotation randomized_hadamard(std::size_t dim, int rounds, RngStream rng);

/// "fht-kac": RaBitQ's fast rotation: four rounds of signs, hadamard on the first n coordinates (even rounds) or the
/// last n (odd rounds), then halves when d > n.
FastRotation fht_kac(std::size_t dim, std::uint64_t seed, std::uint64_t index = 0);

/// "kac:r": Kac's walk in its parallel form (Jain et al. 2022): r ceil(log2 d) steps of random planes. As r grows R x
/// tends to the uniform law on the sphere for every fixed unit x; at d = 1 it is the identity.
FastRotation kac_walk(std::size_t dim, int rounds, std::uint64_t seed, std::uint64_t index = 0);

/// "block-hadamard:B": signs once, then one Hadamard matrix in each block of B coordinates, B a power of two. A tail
/// shorter than B is cut into descending powers of two.
FastRotation block_hadamard(std::size_t dim, std::size_t block, std::uint64_t seed, std::uint64_t index = 0);

/// "hadamard": no randomness; one Hadamard matrix in each block of n coordinates, n the largest power of two that
/// divides d. Vectors exist that it makes as uneven as can be (its own rows).
FastRotation plain_hadamard(std::size_t dim);

}  // namespace orthant::transform
