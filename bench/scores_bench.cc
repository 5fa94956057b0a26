// Scores of one query or a GQA group of eight against all keys of a head, straight from the codes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "baseline.h"
#include "cases.h"
#include "environment.h"
#include "orthant/cache/key_cache.h"
#include "orthant/cache/target.h"

namespace orthant::bench {
namespace {

/// The first scores against the decoded keys, within the stated bound.
bool agrees(const cache::KeyCache& cache, const Matrix<float>& queries, const Matrix<float>& scores) {
  const std::size_t n = std::min<std::size_t>(cache.size(), 256);
  Matrix<float> keys(n, cache.dim());
  Matrix<float> bounds(queries.rows(), n);
  cache.decode(0, keys.view());
  cache.score_error_bounds(queries.view(), 1, 0, bounds.view());
  for (std::size_t h = 0; h < queries.rows(); ++h) {
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < cache.dim(); ++j) sum += double{queries(h, j)} * double{keys(i, j)};
      if (!(std::abs(double{scores(h, i)} - sum) <= double{bounds(h, i)})) return false;
    }
  }
  return true;
}

/// Scores leave in runs of at most this many, into one buffer: a caller uses them while they are in cache.
constexpr std::size_t kRun = std::size_t{1} << 16;

void scores(benchmark::State& state, const Shape& shape, const cache::CacheOptions& options, std::size_t query_count) {
  const cache::KeyCache cache = make_keys(shape, options);
  const Matrix<float> queries = normal_rows(query_count, shape.d);
  const std::size_t run = std::min(kRun, shape.rows);
  Matrix<float> out(query_count, run);
  Workspace work(cache.workspace_bytes(query_count));
  cache.scores(queries.view(), 1, 0, out.view(), work);
  if (!agrees(cache, queries, out)) return state.SkipWithError("scores differ from the decoded product");
  for (auto _ : state) {
    for (std::size_t first = 0; first < shape.rows; first += run) {
      cache.scores(queries.view(), 1, first, out.view(), work);
      benchmark::ClobberMemory();
    }
  }
  report(state, shape.rows, cache.tiles().size());
}

void read(benchmark::State& state, const Shape& shape) {
  const cache::KeyCache cache = make_keys(shape, {});
  for (auto _ : state) benchmark::DoNotOptimize(cache::read_through(cache.tiles()));
  report(state, shape.rows, cache.tiles().size());
}

void blas(benchmark::State& state, const Shape& shape, std::size_t query_count) {
  const Matrix<float> keys = normal_rows(shape.rows, shape.d);
  const Matrix<float> queries = normal_rows(query_count, shape.d);
  Matrix<float> out(query_count, shape.rows);
  for (auto _ : state) {
    blas_scores(keys.view(), queries.view(), out.view());
    benchmark::ClobberMemory();
  }
  report(state, shape.rows, shape.rows * shape.d * sizeof(float));
}

void add_scores(const Shape& shape, const std::string& target, int query_bits, std::size_t queries) {
  benchmark::RegisterBenchmark(
      name(query_bits == 8 ? "scores_q8" : "scores", target, shape, queries).c_str(),
      [=](benchmark::State& state) { scores(state, shape, {.query_bits = query_bits, .target = target}, queries); });
}

void register_all() {
  const std::vector<std::string> formats = {"b1", "b2", "b3",   "b4",   "b5",  "b6",
                                            "b7", "b8", "int8", "q8_0", "fp8", "bf16"};
  const std::string chosen = cache::chosen_target();
  for (const std::size_t d : {std::size_t{128}, std::size_t{64}, std::size_t{80}, std::size_t{96}, std::size_t{256}}) {
    for (const std::size_t rows : {kCached, kBeyondCaches}) {
      if (rows == kBeyondCaches && d != 128) continue;
      for (const std::string& format : formats) {
        const Shape shape{format, d, rows};
        for (const std::size_t queries : {std::size_t{1}, std::size_t{8}}) {
          add_scores(shape, chosen, 0, queries);
          if (format == "int8") add_scores(shape, chosen, 8, queries);
        }
        benchmark::RegisterBenchmark(name("read", chosen, shape, 1).c_str(),
                                     [=](benchmark::State& state) { read(state, shape); });
      }
      for (const std::size_t queries : {std::size_t{1}, std::size_t{8}}) {
        const Shape shape{"f32", d, std::min(rows, std::size_t{1} << 18)};
        benchmark::RegisterBenchmark(name("blas", "openblas", shape, queries).c_str(),
                                     [=](benchmark::State& state) { blas(state, shape, queries); });
      }
    }
  }
  for (const std::string& target : cache::usable_targets()) {
    if (target == chosen) continue;
    for (const std::string& format : formats) {
      for (const std::size_t queries : {std::size_t{1}, std::size_t{8}}) {
        add_scores({format, 128, kCached}, target, 0, queries);
      }
    }
  }
}

}  // namespace
}  // namespace orthant::bench

int main(int argc, char** argv) { return orthant::bench::run(argc, argv, orthant::bench::register_all); }
