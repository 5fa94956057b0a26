// Weighted sums of values: one row of weights, or those of a GQA group, over all tokens of a head.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cases.h"
#include "environment.h"
#include "orthant/cache/target.h"
#include "orthant/cache/value_cache.h"

namespace orthant::bench {
namespace {

Matrix<float> weights_for(std::size_t count, std::size_t n) {
  Matrix<float> weights = normal_rows(count, n);
  for (std::size_t h = 0; h < count; ++h) {
    for (float& w : weights.row(h)) w = std::exp(w) / static_cast<float>(n);
  }
  return weights;
}

/// Against the decoded values: within the roundings of levels and weights, 1 / 126 + 64 / 32130 of the sum of |w v|.
bool agrees(const cache::ValueCache& cache, const Matrix<float>& weights, const Matrix<float>& sums) {
  const std::size_t n = std::min<std::size_t>(cache.size(), 4096);
  if (n != cache.size()) return true;
  Matrix<float> values(n, cache.dim());
  cache.decode(0, values.view());
  for (std::size_t h = 0; h < weights.rows(); ++h) {
    float largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (const float v : values.row(i)) largest = std::max(largest, std::abs(v));
    }
    for (std::size_t j = 0; j < cache.dim(); ++j) {
      double sum = 0;
      double weight = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += double{weights(h, i)} * double{values(i, j)};
        weight += double{weights(h, i)};
      }
      if (!(std::abs(double{sums(h, j)} - sum) <= 0.05 * double{largest} * weight)) return false;
    }
  }
  return true;
}

void sums(benchmark::State& state, const Shape& shape, std::size_t count) {
  const cache::ValueCache cache = make_values(shape, {});
  const Matrix<float> weights = weights_for(count, shape.rows);
  Matrix<float> out(count, shape.d);
  Workspace work(cache.workspace_bytes(count));
  cache.weighted_sum(weights.view(), 0, out.view(), work);
  if (!agrees(cache, weights, out)) return state.SkipWithError("sums differ from the decoded ones");
  for (auto _ : state) {
    cache.weighted_sum(weights.view(), 0, out.view(), work);
    benchmark::ClobberMemory();
  }
  report(state, shape.rows, cache.tiles().size());
}

void read(benchmark::State& state, const Shape& shape) {
  const cache::ValueCache cache = make_values(shape, {});
  for (auto _ : state) benchmark::DoNotOptimize(cache::read_through(cache.tiles()));
  report(state, shape.rows, cache.tiles().size());
}

void register_all() {
  const std::string chosen = cache::chosen_target();
  for (const std::size_t rows : {kCached, kFromMemory}) {
    for (const char* format : {"b2", "b3", "b4", "int8", "fp8", "bf16"}) {
      const Shape shape{format, 128, rows};
      for (const std::size_t count : {std::size_t{1}, std::size_t{4}, std::size_t{8}}) {
        benchmark::RegisterBenchmark(name("values", chosen, shape, count).c_str(),
                                     [=](benchmark::State& state) { sums(state, shape, count); });
      }
      benchmark::RegisterBenchmark(name("read", chosen, shape, 1).c_str(),
                                   [=](benchmark::State& state) { read(state, shape); });
    }
  }
}

}  // namespace
}  // namespace orthant::bench

int main(int argc, char** argv) { return orthant::bench::run(argc, argv, orthant::bench::register_all); }
