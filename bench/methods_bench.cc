// Time to encode vectors of 128 and 256 coordinates, one thread, by method: every family of the grammar and the options
// that change the work. Bits as packed.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "orthant/core/rng.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/make_streaming.h"

namespace {

using orthant::Matrix;
using orthant::MatrixView;
using orthant::Workspace;
namespace quantizer = orthant::quantizer;

constexpr std::size_t kRows = 512;

Matrix<float> normal_rows(std::size_t d) {
  Matrix<float> x(kRows, d);
  for (std::size_t i = 0; i < kRows; ++i) orthant::RngStream(1, orthant::Domain::kData, i).fill_normal(x.row(i));
  return x;
}

/// First right, then fast: over all rows <x, x_hat> is between 0.6 and 1.1 of |x|^2, as every width from one bit on
/// makes it (one-bit centroids 0.64, unbiased codes 1); a dead stage or a lost scale leaves the interval.
bool decodes_to(MatrixView<const float> x, MatrixView<const float> x_hat) {
  double along = 0;
  double energy = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < x.cols(); ++j) {
      along += static_cast<double>(x(i, j)) * static_cast<double>(x_hat(i, j));
      energy += static_cast<double>(x(i, j)) * static_cast<double>(x(i, j));
    }
  }
  return along > 0.6 * energy && along < 1.1 * energy;
}

void report(benchmark::State& state, double bits) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
  state.counters["us_per_vector"] = benchmark::Counter(static_cast<double>(state.iterations()) * kRows * 1e-6,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bits"] = bits;
}

quantizer::QuantizerContext context_of(const quantizer::Method& method) {
  quantizer::QuantizerContext context;
  context.largest_magnitude = 6;
  if (method.has("channels"))
    for (long long c = 0; c < method.integer("channels"); ++c)
      context.outlier_channels.push_back(2 * static_cast<std::size_t>(c));
  return context;
}

void encode_vectors(benchmark::State& state, const quantizer::Method& method) {
  const auto d = static_cast<std::size_t>(state.range(0));
  const auto codec = quantizer::make_quantizer(method, d, context_of(method));
  const Matrix<float> x = normal_rows(d);
  Matrix<std::uint8_t> packed(kRows, codec->bytes_per_vector());
  Matrix<float> x_hat(kRows, d);
  Workspace work(codec->workspace_bytes(kRows));
  codec->encode(x.view(), packed.view(), work);
  codec->decode(packed.view(), x_hat.view(), work);
  if (!decodes_to(x.view(), x_hat.view())) return state.SkipWithError("decoded vectors are not the encoded ones");
  for (auto _ : state) {
    codec->encode(x.view(), packed.view(), work);
    benchmark::ClobberMemory();
  }
  report(state, codec->bits_per_element());
}

/// Keys appended token by token to an empty stream, flushes and a calibrated frame included.
void append_tokens(benchmark::State& state, const quantizer::Method& method) {
  const auto d = static_cast<std::size_t>(state.range(0));
  const Matrix<float> x = normal_rows(d);
  quantizer::StreamContext context;
  context.vectors = context_of(method);
  context.rope.emplace(orthant::transform::RopeLayout::kHalf, d, 10000.0);
  context.calibration = x.view();
  const auto codec = quantizer::make_streaming(method, quantizer::CacheSide::kKeys, d, context);
  Workspace work(codec->workspace_bytes());
  Matrix<float> x_hat(kRows, d);
  quantizer::TokenStream stream(*codec, kRows);
  const auto fill = [&] {
    for (std::size_t i = 0; i < kRows; ++i) stream.append(x.view().middle_rows(i, 1), work);
    stream.settle(work);
  };
  fill();
  stream.decode(0, x_hat.view(), work);
  if (!decodes_to(x.view(), x_hat.view())) return state.SkipWithError("decoded tokens are not the appended ones");
  const double bits = 8 * static_cast<double>(stream.bytes().total()) / static_cast<double>(kRows * d);
  for (auto _ : state) {
    state.PauseTiming();
    stream = quantizer::TokenStream(*codec, kRows);
    state.ResumeTiming();
    fill();
    benchmark::ClobberMemory();
  }
  report(state, bits);
}

constexpr const char* kMethods[] = {"turbo-mse:4",
                                    "turbo-mse:4,rotation=hadamard:3",
                                    "turbo-mse:8,rotation=hadamard:3",
                                    "turbo-mse:4,rotation=kac:4",
                                    "eden:4,rotation=hadamard:3",
                                    "eden:4,scale=mse,rotation=hadamard:3",
                                    "turbo-prod:4",
                                    "turbo-prod:4,sketch=hadamard,rotation=hadamard:3",
                                    "qjl:256",
                                    "qjl:256,sketch=hadamard",
                                    "qjl:256,sketch=orthogonal,outliers=8,residual=128",
                                    "rabitq:1,rotation=hadamard:3",
                                    "rabitq:4,search=fast,rotation=hadamard:3",
                                    "rabitq:4,rotation=none",
                                    "rabitq:4,rotation=hadamard:3",
                                    "rabitq:4",
                                    "rabitq:8,rotation=hadamard:3",
                                    "polar:4,rotation=hadamard:3",
                                    "split:3+2,rotation=hadamard:3",
                                    "uniform:4",
                                    "uniform:4,rotation=hadamard:3",
                                    "uniform:4,axis=channel,group=32",
                                    "kivi:2",
                                    "kvquant:3",
                                    "fp8:e4m3",
                                    "fp8:e5m2,scale=token",
                                    "nvfp4",
                                    "mxfp4",
                                    "q8_0",
                                    "q5_1",
                                    "q5_0",
                                    "q4_1",
                                    "q4_0",
                                    "iq4_nl",
                                    "bf16",
                                    "f16",
                                    "f32"};

}  // namespace

int main(int argc, char** argv) {
  for (const char* text : kMethods) {
    const quantizer::Method method = quantizer::parse_method(text);
    const auto run = quantizer::codes_single_vectors(method) ? encode_vectors : append_tokens;
    benchmark::RegisterBenchmark(text, run, method)->Arg(128)->Arg(256);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
