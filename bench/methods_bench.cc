// Time to encode vectors of 128 and 256 coordinates, one thread, by method: vectors a second; bits as packed.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "orthant/core/rng.h"
#include "orthant/quantizer/make_quantizer.h"

namespace {

using orthant::Matrix;

void encode(benchmark::State& state, const std::string& text) {
  const auto d = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t kRows = 512;
  const auto quantizer = orthant::quantizer::make_quantizer(orthant::quantizer::parse_method(text), d);
  Matrix<float> x(kRows, d);
  for (std::size_t i = 0; i < kRows; ++i) orthant::RngStream(1, orthant::Domain::kData, i).fill_normal(x.row(i));
  Matrix<std::uint8_t> packed(kRows, quantizer->bytes_per_vector());
  Matrix<float> x_hat(kRows, d);
  orthant::Workspace work(quantizer->workspace_bytes(kRows));

  // First right, then fast: what is timed decodes to the vectors, within twice the error of a one-bit code.
  quantizer->encode(x.view(), packed.view(), work);
  quantizer->decode(packed.view(), x_hat.view(), work);
  double error = 0;
  double energy = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      error += std::pow(static_cast<double>(x(i, j)) - static_cast<double>(x_hat(i, j)), 2);
      energy += std::pow(static_cast<double>(x(i, j)), 2);
    }
  }
  if (!(error < 0.75 * energy)) return state.SkipWithError("decoded vectors are not the encoded ones");

  for (auto _ : state) {
    quantizer->encode(x.view(), packed.view(), work);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
  state.counters["us_per_vector"] = benchmark::Counter(static_cast<double>(state.iterations()) * kRows * 1e-6,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bits"] = quantizer->bits_per_element();
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* text :
       {"turbo-mse:4", "turbo-mse:4,rotation=hadamard:3", "turbo-mse:8,rotation=hadamard:3",
        "eden:4,rotation=hadamard:3", "turbo-prod:4,sketch=hadamard,rotation=hadamard:3",
        "rabitq:4,search=fast,rotation=hadamard:3", "rabitq:4,rotation=none", "rabitq:4,rotation=hadamard:3",
        "rabitq:8,rotation=hadamard:3", "polar:4,rotation=hadamard:3"}) {
    benchmark::RegisterBenchmark(text, encode, text)->Arg(128)->Arg(256);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
