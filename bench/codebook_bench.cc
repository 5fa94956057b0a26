// Optimal codebooks: our solver beside plain Lloyd sweeps taken to the same residual.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "orthant/codebook/certificate.h"
#include "orthant/codebook/codebook_io.h"
#include "orthant/codebook/lloyd_max.h"

namespace {

using orthant::codebook::lloyd_max;
using orthant::density::CellMoments;
using orthant::density::SphereCoordinate;

constexpr double kResidual = 1e-13;  // standard deviations

void BM_Newton(benchmark::State& state) {
  const SphereCoordinate law(state.range(0));
  const int bits = static_cast<int>(state.range(1));
  double residual = 0;
  for (auto _ : state) {
    const auto result = lloyd_max(law, {.bits = bits});
    residual = result.residual;
    benchmark::DoNotOptimize(result);
  }
  if (residual > kResidual) state.SkipWithError("not converged");
  state.counters["residual"] = residual;
}

/// The positive half only, the same integrals, the same start up to rounding: the sweeps are all that differs.
void BM_Lloyd(benchmark::State& state) {
  const SphereCoordinate law(state.range(0));
  const int bits = static_cast<int>(state.range(1));
  const std::size_t n = std::size_t{1} << (bits - 1);
  const double sigma = std::sqrt(law.variance());
  double residual = 0;
  double sweeps = 0;
  for (auto _ : state) {
    const auto start = lloyd_max(law, {.bits = bits, .max_iterations = 1}).codebook;
    std::vector<long double> c(start.centroids().begin() + static_cast<std::ptrdiff_t>(n), start.centroids().end());
    sweeps = 0;
    do {
      residual = 0;
      std::vector<long double> next(n);
      for (std::size_t k = 0; k < n; ++k) {
        const CellMoments cell =
            law.cell_moments(c[k], k == 0 ? 0 : (c[k - 1] + c[k]) / 2, k + 1 == n ? 1 : (c[k] + c[k + 1]) / 2);
        const long double move = cell.first / cell.mass;
        next[k] = c[k] + move;
        residual = std::max(residual, static_cast<double>(std::abs(move)) / sigma);
      }
      c = next;
      ++sweeps;
    } while (residual > kResidual);
    benchmark::DoNotOptimize(c);
  }
  state.counters["sweeps"] = sweeps;
  state.counters["residual"] = residual;
}

void BM_PublishedGrid(benchmark::State& state) {
  for (auto _ : state) {
    for (const std::int64_t d :
         {2, 3, 4, 8, 16, 32, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512, 576, 768, 1024, 1536, 3072, 4096}) {
      for (int bits = 1; bits <= 8; ++bits) benchmark::DoNotOptimize(lloyd_max(SphereCoordinate(d), {.bits = bits}));
    }
    for (int bits = 1; bits <= 8; ++bits) {
      benchmark::DoNotOptimize(lloyd_max(orthant::density::Gaussian(), {.bits = bits}));
    }
  }
}

void BM_ThreeHeadSizes(benchmark::State& state) {
  for (auto _ : state) {
    for (const std::int64_t d : {64, 128, 256}) {
      for (int bits = 1; bits <= 8; ++bits) benchmark::DoNotOptimize(lloyd_max(SphereCoordinate(d), {.bits = bits}));
    }
  }
}

void BM_Certified(benchmark::State& state) {
  if (!orthant::codebook::proofs_available()) return state.SkipWithError("built without Arb");
  for (auto _ : state) {
    benchmark::DoNotOptimize(orthant::codebook::certified_codebook(state.range(0), static_cast<int>(state.range(1))));
  }
}

}  // namespace

BENCHMARK(BM_Newton)
    ->ArgNames({"d", "bits"})
    ->ArgsProduct({{128}, {1, 2, 3, 4, 5, 6, 8}})
    ->Unit(benchmark::kMicrosecond);
// Wider ones take a minute and more.
BENCHMARK(BM_Lloyd)->ArgNames({"d", "bits"})->ArgsProduct({{128}, {2, 3, 4, 5, 6}})->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ThreeHeadSizes)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PublishedGrid)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Certified)->ArgNames({"d", "bits"})->ArgsProduct({{128}, {4, 8}})->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
