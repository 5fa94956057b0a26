#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orthant/core/matrix_view.h"
#include "orthant/montecarlo/workers.h"
#include "orthant/validation/subject.h"

namespace orthant::validation {

/// The symmetric comparison: every method on the same vectors and queries, with the same seeds, at the bits it really
/// takes. docs/league.md states the protocol.
struct LeagueOptions {
  std::size_t dim = 128;
  std::vector<int> bits = {1, 2, 3, 4};
  std::uint64_t seed = 1;
  std::size_t seeds = 10;     ///< independent repetitions, data and random maps fresh in each
  std::size_t keys = 2000;    ///< uniform unit vectors
  std::size_t queries = 200;  ///< every other one has cosine 0.7 with a key, the rest are uniform or rows left over
  /// Unit rows to draw the vectors from, different ones within a seed: a user's tensor. Null: uniform unit vectors.
  std::shared_ptr<const Matrix<float>> vectors;
  SubjectMaker subject = shipped_subjects();
};

/// Mean over seeds and standard deviation between them.
struct Spread {
  double mean = 0;
  double deviation = 0;
};

struct LeagueRow {
  std::string method;
  int nominal_bits = 0;
  double true_bits = 0;       ///< 8 bytes_per_vector / d: norms, scales and padding included
  Spread distortion;          ///< |x - x_hat|^2 of unit vectors
  double converse = 0;        ///< no code of true_bits lies below: cap converse at that rate
  Spread slope;               ///< of estimates on true products; 1 is unbiased
  Spread variance;            ///< d Var of the estimates beside that slope
  double variance_floor = 0;  ///< of unbiased codes of true_bits: D/(1 - D) at the converse
  Spread error_999;           ///< 99.9 % quantile of sqrt(d) |estimate - product|
  Spread recall_1;            ///< recall@1@1, @10: the true nearest key is among the k best by estimate
  Spread recall_10;
  double encode_ns = 0;  ///< a vector, one thread, best of the seeds; not reproducible
};

/// The methods that enter at b bits: TurboQuant_mse and _prod (three sketches), EDEN with two scales, RaBitQ, QJL with
/// b rows a coordinate, the uniform grid; at 4, 5 and 8 bits PolarQuant and the block and float formats of about that
/// rate.
std::vector<std::string> league_methods(std::size_t dim, int bits);

/// Throws InvalidArgument for no seed, fewer than two queries or 10 keys, vectors of another dimension or fewer than
/// keys. Runs the league; rows in the order of bits, then of league_methods. A method that refuses the dimension is
/// left out. `progress` is called on the root with the rows done and all. All but encode_ns is the same for any
/// workers.
std::vector<LeagueRow> run_league(const LeagueOptions& options, montecarlo::Workers& workers,
                                  const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace orthant::validation
