// Scores straight from matched codes beside those of a plain cache: the same codes, widths and kernels, once with one
// rotated query for all keys, once with a query turned, scaled and rotated for each tile. Both are timed in turn within
// every iteration, from the query as attention has it to its scores; x_plain is the median of the ratios.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cases.h"
#include "environment.h"
#include "orthant/cache/matched_key_cache.h"
#include "orthant/cache/target.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/transform/make_rotation.h"
#include "orthant/transform/matched_transform.h"

namespace orthant::bench {
namespace {

constexpr double kRopeTheta = 1e6;
// One round: on matched keys of a real model as good as three or as a Haar rotation (docs/matched-keys.md).
constexpr const char* kRotation = "hadamard:1";

struct Case {
  std::size_t d;
  int bits;
  std::size_t tile;  ///< of the frame; 0: one query for all keys
  std::size_t rows;
  std::size_t queries;
};

/// A diagonal map with scales from 1/8 to 8, a mean as long as a key, one segment.
std::shared_ptr<const cache::MatchedKeyCoder> make_coder(const Case& c) {
  Matrix<double> keys(c.d, c.d);
  Matrix<double> queries(c.d, c.d);
  for (std::size_t j = 0; j < c.d; ++j) {
    keys(j, j) = std::exp2(static_cast<double>(j % 13) - 6);
    queries(j, j) = std::exp2(static_cast<double>(j % 7) - 3);
  }
  const auto map = std::make_shared<transform::MatchedTransform>(
      transform::in_channel_order(transform::matching_map(transform::Match::kDiagonal, keys.view(), queries.view())));
  const auto turbo =
      std::make_shared<quantizer::TurboMse>(transform::make_rotation(kRotation, c.d, 1, 0),
                                            codebook::sphere_codebook(static_cast<std::int64_t>(c.d), c.bits));
  return std::make_shared<cache::MatchedKeyCoder>(
      transform::KeyFrame(transform::Rope(transform::RopeLayout::kHalf, c.d, kRopeTheta), {c.tile}),
      std::vector<float>(c.d, 1.0F), map, std::vector<cache::MatchedKeyCoder::Segment>{{c.d, turbo}});
}

cache::MatchedKeyCache make_matched(const Case& c) {
  cache::MatchedKeyCache cache(make_coder(c));
  cache.reserve(c.rows);
  const Matrix<float> block = normal_rows(std::min<std::size_t>(c.rows, 4096), c.d);
  Workspace work(cache.append_workspace_bytes());
  for (std::size_t n = 0; n < c.rows; n += block.rows()) cache.append(block.view(), work);
  return cache;
}

/// The first scores against the products of the transformed query and the codes as decoded, within KeyCache's bound and
/// the rounding of the mean's term.
bool agrees(const cache::MatchedKeyCache& cache, const Matrix<float>& queries, const Matrix<float>& scores) {
  const cache::MatchedKeyCoder& coder = cache.coder();
  const std::size_t d = coder.dim();
  const std::size_t n = std::min<std::size_t>(cache.size(), 64);
  // The second tile of the frame, or of the cache when it has none.
  const std::size_t tile = coder.frame().alignment().tile;
  const std::size_t first = tile == 0 ? 64 : tile;
  Matrix<float> framed(queries.rows(), d);
  Matrix<float> p(queries.rows(), d);
  Matrix<float> y(n, d);
  Matrix<float> bounds(queries.rows(), n);
  Workspace work(coder.workspace_bytes(queries.rows()));
  coder.frame().enter_queries(queries.view(), tile == 0 ? 0 : first, framed.view());
  coder.transform_queries(framed.view(), p.view(), work);
  cache.codes().decode(first, y.view());
  cache.codes().score_error_bounds(p.view(), 1, first, bounds.view());
  for (std::size_t h = 0; h < queries.rows(); ++h) {
    double mean = 0;
    double size = 0;
    for (std::size_t j = 0; j < d; ++j) {
      mean += double{framed(h, j)} * double{coder.mean()[j]};
      size += std::abs(double{framed(h, j)} * double{coder.mean()[j]});
    }
    for (std::size_t i = 0; i < n; ++i) {
      double sum = mean;
      for (std::size_t j = 0; j < d; ++j) sum += double{p(h, j)} * double{y(i, j)};
      // Twice the bound: the phases that the cache keeps round differently from the frame's.
      if (!(std::abs(double{scores(h, first + i)} - sum) <= 2 * double{bounds(h, i)} + 1e-5 * size)) return false;
    }
  }
  return true;
}

/// Of this thread: what other processes take from it does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Call>
double seconds_of(const Call& call) {
  const double start = thread_seconds();
  call();
  benchmark::ClobberMemory();
  return thread_seconds() - start;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void matched(benchmark::State& state, const Case& c) {
  const cache::MatchedKeyCache cache = make_matched(c);
  const cache::KeyCache& plain = cache.codes();
  const auto rotation = transform::make_rotation(kRotation, c.d, 1, 0);
  const Matrix<float> queries = normal_rows(c.queries, c.d);
  Matrix<float> rotated(c.queries, c.d);
  Matrix<float> out(c.queries, c.rows);
  Matrix<float> plain_out(c.queries, c.rows);
  Workspace work(cache.workspace_bytes(c.queries));
  cache.scores(queries.view(), 1, out.view(), work);
  if (!agrees(cache, queries, out)) return state.SkipWithError("scores differ from the decoded product");
  std::vector<double> times;
  std::vector<double> plain_times;
  std::vector<double> ratios;
  for (auto _ : state) {
    const double plain_time = seconds_of([&] {
      rotation->apply_queries(queries.view(), rotated.view(), work);
      plain.scores(rotated.view(), 1, 0, plain_out.view(), work);
    });
    const double time = seconds_of([&] { cache.scores(queries.view(), 1, out.view(), work); });
    times.push_back(time);
    plain_times.push_back(plain_time);
    ratios.push_back(time / plain_time);
    state.SetIterationTime(time);
  }
  const double to_ns = 1e9 / static_cast<double>(c.rows);
  state.counters["ns_per_key"] = to_ns * median(times);
  state.counters["plain_ns"] = to_ns * median(plain_times);
  state.counters["x_plain"] = median(ratios);
}

void add(const Case& c) {
  const std::string align = c.tile == 0 ? "none" : std::to_string(c.tile);
  benchmark::RegisterBenchmark(
      (name("matched", cache::chosen_target(), {"b" + std::to_string(c.bits), c.d, c.rows}, c.queries) + "/align-" +
       align)
          .c_str(),
      [=](benchmark::State& state) { matched(state, c); })
      ->UseManualTime()
      ->Iterations(c.rows == kCached ? 4000 : 25);  // a fixed number: filling a cache takes longer than scoring it
}

void register_all() {
  for (const std::size_t d : {std::size_t{128}, std::size_t{256}})
    for (const int bits : {3, 4})
      for (const std::size_t tile : {std::size_t{0}, std::size_t{1024}, std::size_t{256}}) {
        add({d, bits, tile, kCached, 1});
        add({d, bits, tile, kFromMemory * 128 / d, 1});
        add({d, bits, tile, kCached, 8});
      }
}

}  // namespace
}  // namespace orthant::bench

int main(int argc, char** argv) { return orthant::bench::run(argc, argv, orthant::bench::register_all); }
