#include "orthant/montecarlo/experiment.h"

#include <algorithm>

#include "orthant/core/error.h"

namespace orthant::montecarlo {
namespace {

constexpr std::size_t kFields = 5;  // of a Moments, as numbers

void pack(const Moments& m, std::span<double> out) {
  out[0] = static_cast<double>(m.count());
  out[1] = m.mean();
  out[2] = m.sum_of_squares();
  out[3] = m.min();
  out[4] = m.max();
}

Moments unpack(std::span<const double> in) { return {static_cast<std::uint64_t>(in[0]), in[1], in[2], in[3], in[4]}; }

}  // namespace

std::vector<ChunkMoments> run_block(const Experiment& experiment, std::uint64_t seed, std::uint64_t block,
                                    std::uint64_t trials, Workers& workers) {
  if (experiment.channels == 0 || !experiment.trial) {
    throw InvalidArgument("run_block: experiment '" + experiment.name + "' has no channels or no trial");
  }
  const std::uint64_t first = block * kBlockTrials;
  const std::uint64_t last = std::min(first + kBlockTrials, trials);
  if (first >= last) return {};
  const std::size_t chunks = (last - first + kChunkTrials - 1) / kChunkTrials;
  const std::size_t channels = experiment.channels;
  const std::size_t width = channels * kFields;
  std::vector<double> results(chunks * width);
  workers.map(
      chunks, width,
      [&](std::size_t chunk, std::span<double> out) {
        std::vector<Moments> moments(channels);
        std::vector<double> values(channels);
        const std::uint64_t begin = first + chunk * kChunkTrials;
        for (std::uint64_t t = begin; t < std::min(begin + kChunkTrials, last); ++t) {
          RngStream rng(seed, claim_domain(experiment.name), t);
          experiment.trial(t, rng, values);
          for (std::size_t c = 0; c < channels; ++c) moments[c].add(values[c]);
        }
        for (std::size_t c = 0; c < channels; ++c) pack(moments[c], out.subspan(c * kFields, kFields));
      },
      results);
  std::vector<ChunkMoments> parts(chunks, ChunkMoments(channels));
  for (std::size_t k = 0; k < chunks; ++k) {
    for (std::size_t c = 0; c < channels; ++c) {
      parts[k][c] = unpack(std::span<const double>(results).subspan(k * width + c * kFields, kFields));
    }
  }
  return parts;
}

std::vector<Moments> run_trials(const Experiment& experiment, std::uint64_t seed, std::uint64_t trials,
                                Workers& workers) {
  std::vector<Moments> all(experiment.channels);
  for (std::uint64_t block = 0; block * kBlockTrials < trials; ++block) {
    for (const ChunkMoments& chunk : run_block(experiment, seed, block, trials, workers)) {
      for (std::size_t c = 0; c < all.size(); ++c) all[c].merge(chunk[c]);
    }
  }
  return all;
}

}  // namespace orthant::montecarlo
