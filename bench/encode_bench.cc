// From float rows to a cache: rotate, normalise, quantize, pack; in batches and one token at a time. Beside it the
// rotation alone and the plain way: sgemm, then the nearest of all centroids.
#include <benchmark/benchmark.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "baseline.h"
#include "cases.h"
#include "environment.h"
#include "orthant/cache/row_encoder.h"
#include "orthant/cache/target.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/make_rotation.h"

namespace orthant::bench {
namespace {

constexpr std::size_t kDim = 128;
constexpr std::size_t kRows = 4096;

std::shared_ptr<const quantizer::TurboMse> turbo(const std::string& rotation, int bits) {
  return std::make_shared<const quantizer::TurboMse>(transform::make_rotation(rotation, kDim, 1),
                                                     codebook::sphere_codebook(kDim, bits));
}

void encode(benchmark::State& state, const std::string& rotation, int bits, std::size_t batch) {
  const cache::RowEncoder encoder(turbo(rotation, bits));
  const Matrix<float> x = normal_rows(kRows, kDim);
  Workspace work(encoder.workspace_bytes());
  const auto append_all = [&](cache::KeyCache& cache) {
    for (std::size_t i = 0; i < kRows; i += batch) encoder.append(x.view().middle_rows(i, batch), cache, work);
  };
  // Proof: the decoded keys lie as far from the rotated rows as the codebook says, within a tenth.
  cache::KeyCache check(encoder.format());
  append_all(check);
  Matrix<float> decoded(kRows, kDim);
  Matrix<float> rotated(kRows, kDim);
  Workspace rotation_work(encoder.quantizer().rotation().workspace_bytes(kRows));
  check.decode(0, decoded.view());
  encoder.quantizer().rotation().apply_keys(x.view(), rotated.view(), rotation_work);
  double error = 0;
  double square = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kDim; ++j) {
      error += std::pow(double{decoded(i, j)} - double{rotated(i, j)}, 2);
      square += std::pow(double{rotated(i, j)}, 2);
    }
  }
  const double expected = encoder.quantizer().book().distortion() * kDim;
  if (!(std::abs(error / square / expected - 1) < 0.1)) return state.SkipWithError("distortion is not the codebook's");
  for (auto _ : state) {
    cache::KeyCache cache(encoder.format());
    cache.reserve(kRows);
    append_all(cache);
    benchmark::ClobberMemory();
  }
  report(state, kRows, kRows * kDim * sizeof(float));
}

void rotate(benchmark::State& state, const std::string& rotation) {
  const auto map = transform::make_rotation(rotation, kDim, 1);
  const Matrix<float> x = normal_rows(kRows, kDim);
  Matrix<float> y(64, kDim);
  Workspace work(map->workspace_bytes(64));
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; i += 64) map->apply_keys(x.view().middle_rows(i, 64), y.view(), work);
    benchmark::ClobberMemory();
  }
  report(state, kRows, kRows * kDim * sizeof(float));
}

/// What a first implementation does: sgemm of all rows, then for each coordinate the nearest centroid by trying all.
void plain(benchmark::State& state, int bits) {
  const auto quantizer = turbo("haar", bits);
  const std::span<const float> centroids = quantizer->table().centroids();
  const Matrix<float> x = normal_rows(kRows, kDim);
  const Matrix<float> rotation = normal_rows(kDim, kDim);  // any dense matrix costs the same
  Matrix<float> y(kRows, kDim);
  Matrix<std::uint8_t> packed(kRows, kDim * static_cast<std::size_t>(bits) / 8);
  std::vector<float> norms(kRows);
  for (auto _ : state) {
    blas_scores(rotation.view(), x.view(), y.view());
    for (std::size_t i = 0; i < kRows; ++i) {
      float square = 0;
      for (std::size_t j = 0; j < kDim; ++j) square += x(i, j) * x(i, j);
      norms[i] = std::sqrt(square);
      const std::span<std::uint8_t> to = packed.row(i);
      std::uint32_t pending = 0;
      int held = 0;
      std::size_t out = 0;
      for (std::size_t j = 0; j < kDim; ++j) {
        const float value = y(i, j) / norms[i];
        std::uint32_t best = 0;
        float distance = std::numeric_limits<float>::infinity();
        for (std::uint32_t k = 0; k < centroids.size(); ++k) {
          const float delta = std::abs(value - centroids[k]);
          if (delta < distance) {
            distance = delta;
            best = k;
          }
        }
        pending |= best << held;
        held += bits;
        for (; held >= 8; held -= 8, pending >>= 8) to[out++] = static_cast<std::uint8_t>(pending);
      }
    }
    benchmark::ClobberMemory();
  }
  report(state, kRows, kRows * kDim * sizeof(float));
}

void register_all() {
  for (const char* rotation : {"haar", "hadamard:1", "hadamard:3"}) {
    const std::string prefix = std::string("/") + rotation;
    for (const int bits : {1, 2, 3, 4, 8}) {
      for (const std::size_t batch : {kRows, std::size_t{1}}) {
        benchmark::RegisterBenchmark(
            ("encode" + prefix + "/b" + std::to_string(bits) + "/batch" + std::to_string(batch)).c_str(),
            [=](benchmark::State& state) { encode(state, rotation, bits, batch); });
      }
    }
    benchmark::RegisterBenchmark(("rotation" + prefix).c_str(),
                                 [=](benchmark::State& state) { rotate(state, rotation); });
  }
  for (const int bits : {2, 4}) {
    benchmark::RegisterBenchmark(("plain/haar/b" + std::to_string(bits)).c_str(),
                                 [=](benchmark::State& state) { plain(state, bits); });
  }
}

}  // namespace
}  // namespace orthant::bench

int main(int argc, char** argv) { return orthant::bench::run(argc, argv, orthant::bench::register_all); }
