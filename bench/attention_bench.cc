// Decode of one token: 8 KV heads of 32768 tokens, GQA groups of 4, keys and values in the same format; on one thread
// and on all. The bfloat16 path is the reference of the ratios.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "cases.h"
#include "environment.h"
#include "orthant/cache/attention.h"
#include "orthant/cache/target.h"
#include "orthant/core/parallel_for.h"

namespace orthant::bench {
namespace {

constexpr std::size_t kHeads = 8;
constexpr std::size_t kGroup = 4;
constexpr std::size_t kDim = 128;
constexpr std::size_t kTokens = 32768;

void decode(benchmark::State& state, const std::string& format, int threads) {
  std::vector<cache::KeyCache> keys;
  std::vector<cache::ValueCache> values;
  for (std::size_t i = 0; i < kHeads; ++i) {
    keys.push_back(make_keys({format, kDim, kTokens}, {}));
    values.push_back(make_values({format, kDim, kTokens}, {}));
  }
  const Matrix<float> queries = normal_rows(kGroup, kDim);
  std::vector<Matrix<float>> outputs(kHeads, Matrix<float>(kGroup, kDim));
  std::vector<cache::AttentionHead> heads;
  for (std::size_t i = 0; i < kHeads; ++i) heads.push_back({&keys[i], &values[i], queries.view(), outputs[i].view()});
  cache::Attention attention(threads);
  const float scale = 1 / std::sqrt(static_cast<float>(kDim));
  attention.run(heads, scale);
  for (const float x : outputs[0].row(0)) {
    if (!std::isfinite(x)) return state.SkipWithError("the output is not finite");
  }
  for (auto _ : state) {
    attention.run(heads, scale);
    benchmark::ClobberMemory();
  }
  report(state, kHeads * kTokens, kHeads * (keys[0].tiles().size() + values[0].tiles().size()));
}

void register_all() {
  for (const char* format : {"b2", "b4", "int8", "bf16"}) {
    for (int threads = 1; threads <= default_threads(); threads *= 2) {
      benchmark::RegisterBenchmark((name("attention", cache::chosen_target(), {format, kDim, kTokens}, kGroup) +
                                    "/threads" + std::to_string(threads))
                                       .c_str(),
                                   [=](benchmark::State& state) { decode(state, format, threads); })
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace orthant::bench

int main(int argc, char** argv) { return orthant::bench::run(argc, argv, orthant::bench::register_all); }
