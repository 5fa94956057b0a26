#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "orthant/core/moments.h"
#include "orthant/core/rng.h"
#include "orthant/montecarlo/workers.h"

namespace orthant::montecarlo {

/// A random experiment with `channels` numbers a trial. Trial t may depend on (seed, t) and on nothing else.
struct Experiment {
  std::string name;  ///< names the random streams, with the seed: claim_domain(name)
  std::size_t channels = 1;
  /// Writes every channel. Called from many threads at once; rng is RngStream(seed, claim_domain(name), trial).
  std::function<void(std::uint64_t trial, RngStream& rng, std::span<double> out)> trial;
};

/// Trials come in chunks, chunks in blocks, both of fixed size: chunks are shared out among threads and ranks, moments
/// are merged in the order of chunks, so results do not depend on who did what. Decisions and checkpoints come after
/// blocks.
inline constexpr std::uint64_t kChunkTrials = 32;
inline constexpr std::uint64_t kBlockChunks = 16;
inline constexpr std::uint64_t kBlockTrials = kChunkTrials * kBlockChunks;

/// Moments of the trials of block b, [b * kBlockTrials, min((b + 1) * kBlockTrials, trials)): a vector of chunks in
/// order, each with one Moments a channel. Throws InvalidArgument for an experiment without channels or trial.
using ChunkMoments = std::vector<Moments>;
std::vector<ChunkMoments> run_block(const Experiment& experiment, std::uint64_t seed, std::uint64_t block,
                                    std::uint64_t trials, Workers& workers);

/// All of `trials` trials at once, one Moments a channel.
std::vector<Moments> run_trials(const Experiment& experiment, std::uint64_t seed, std::uint64_t trials,
                                Workers& workers);

}  // namespace orthant::montecarlo
