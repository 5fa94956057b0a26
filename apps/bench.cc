#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "common_options.h"
#include "orthant/cache/key_cache.h"
#include "orthant/cache/row_encoder.h"
#include "orthant/cache/target.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/kv/dump.h"
#include "orthant/quantizer/turbo_mse.h"
#include "orthant/report/report.h"
#include "orthant/report/table.h"
#include "orthant/transform/make_rotation.h"

namespace orthant::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 86400;

struct Options {
  CommonOptions common;
  std::string dump;
  std::size_t dim = 128;
  std::size_t cached = 4096;
  std::size_t memory = std::size_t{1} << 20;
  double seconds = 10;
  std::string target;
};

/// The rows whose codes are scored: keys of the dump's first layer, or standard normal ones.
Matrix<float> source_rows(const Options& options) {
  if (!options.dump.empty()) {
    const kv::Dump dump = kv::Dump::open(options.dump);
    return dump.read(0, kv::DumpTensor::kKeys, 0);
  }
  Matrix<float> rows(4096, options.dim);
  for (std::size_t i = 0; i < rows.rows(); ++i)
    RngStream(options.common.seed, Domain::kData, i).fill_normal(rows.row(i));
  return rows;
}

/// Codes of the source rows in one format, with what stands beside them.
struct CodedRows {
  cache::RowFormat format;
  Matrix<std::uint8_t> codes;
  Matrix<float> scales;
  Matrix<float> offsets;  ///< no column where the format has none
};

CodedRows int8_rows(const Matrix<float>& rows) {
  const std::size_t d = rows.cols();
  CodedRows coded{cache::RowFormat::uniform(d, 8, d), Matrix<std::uint8_t>(rows.rows(), d),
                  Matrix<float>(rows.rows(), 1), Matrix<float>(rows.rows(), 1)};
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto [low, high] = std::ranges::minmax(rows.row(i));
    coded.scales(i, 0) = std::max((high - low) / 255, 1e-6F);
    coded.offsets(i, 0) = low;
    for (std::size_t j = 0; j < d; ++j) {
      const float level = std::clamp((rows(i, j) - low) / coded.scales(i, 0) + 0.5F, 0.0F, 255.0F);
      coded.codes(i, j) = static_cast<std::uint8_t>(level);
    }
  }
  return coded;
}

CodedRows turbo_rows(int bits, const Matrix<float>& rows, const Options& options) {
  const std::size_t d = rows.cols();
  const cache::RowEncoder encoder(
      std::make_shared<const quantizer::TurboMse>(transform::make_rotation("hadamard:3", d, options.common.seed),
                                                  codebook::sphere_codebook(static_cast<std::int64_t>(d), bits)),
      options.target);
  CodedRows coded{encoder.format(), Matrix<std::uint8_t>(rows.rows(), d), Matrix<float>(rows.rows(), 1), {}};
  constexpr std::size_t kBlock = 64;  // what the encoder's workspace is for
  Matrix<float> rotated(kBlock, d);
  Workspace work(encoder.workspace_bytes());
  for (std::size_t first = 0; first < rows.rows(); first += kBlock) {
    const std::size_t n = std::min(kBlock, rows.rows() - first);
    encoder.encode(rows.view().middle_rows(first, n), coded.codes.view().middle_rows(first, n),
                   coded.scales.view().middle_rows(first, n), rotated.view().middle_rows(0, n), work);
  }
  return coded;
}

/// `keys` keys in a format, the source rows again and again: coded once, since only the time of reading them counts.
cache::KeyCache make_cache(const std::string& format, std::size_t keys, const Matrix<float>& rows,
                           const Options& options) {
  const auto repeat = [&](const cache::RowFormat& row_format, const auto& append) {
    cache::KeyCache cache(row_format, {.target = options.target});
    cache.reserve(keys);
    while (cache.size() < keys) append(cache, std::min(rows.rows(), keys - cache.size()));
    return cache;
  };
  if (format == "bf16") {
    return repeat(cache::RowFormat::bfloat16(rows.cols()),
                  [&](cache::KeyCache& cache, std::size_t n) { cache.append(rows.view().middle_rows(0, n)); });
  }
  const CodedRows coded =
      format == "int8" ? int8_rows(rows) : turbo_rows(std::stoi(format.substr(format.find(':') + 1)), rows, options);
  return repeat(coded.format, [&](cache::KeyCache& cache, std::size_t n) {
    cache.append(coded.codes.view().middle_rows(0, n), coded.scales.view().middle_rows(0, n),
                 coded.offsets.rows() == 0 ? MatrixView<const float>() : coded.offsets.view().middle_rows(0, n));
  });
}

/// One thing to time; `seconds` holds one measurement a round.
struct Job {
  std::function<void()> run;
  std::vector<double> seconds;

  void measure() {
    int count = 0;
    const Clock::time_point begin = Clock::now();
    double elapsed = 0;
    do {
      run();
      ++count;
      elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    } while (elapsed < 0.002);
    seconds.push_back(elapsed / count);
  }
  double median() {
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
  }
  /// What the middle half of the rounds spans, over the median.
  double spread() {
    const double middle = median();
    return (seconds[seconds.size() * 3 / 4] - seconds[seconds.size() / 4]) / middle;
  }
};

/// All jobs of one place: caches of every format, each with one query and eight, and a plain read of the same bytes.
struct Row {
  std::string format;
  std::string place;
  std::shared_ptr<const cache::KeyCache> cache;
  Job one;
  Job eight;
  Job read;
};

Row make_row(const std::string& format, const std::string& place, std::size_t keys, const Matrix<float>& rows,
             const Options& options) {
  Row row{format, place, std::make_shared<const cache::KeyCache>(make_cache(format, keys, rows, options)), {}, {}, {}};
  const auto job = [&](std::size_t count) {
    const auto cache = row.cache;
    const auto queries = std::make_shared<Matrix<float>>(count, cache->dim());
    for (std::size_t h = 0; h < count; ++h) {
      RngStream(options.common.seed, Domain::kData, 1000000 + h).fill_normal(queries->row(h));
    }
    const auto scores = std::make_shared<Matrix<float>>(count, keys);
    const auto work = std::make_shared<Workspace>(cache->workspace_bytes(count));
    return [=] { cache->scores(queries->view(), 1, 0, scores->view(), *work); };
  };
  row.one.run = job(1);
  row.eight.run = job(8);
  row.read.run = [cache = row.cache, target = options.target] { cache::read_through(cache->tiles(), target); };
  return row;
}

report::Table to_table(std::vector<Row>& rows) {
  using report::Type;
  report::Table table({{"keys", "keys", Type::kInteger},
                       {"place", "from", Type::kText},
                       {"format", "format", Type::kText},
                       {"bytes_per_key", "bytes/key", Type::kReal, 4},
                       {"ns_per_key", "1 query ns/key", Type::kReal, 3},
                       {"gigabytes_per_second", "GB/s", Type::kReal, 3},
                       {"share_of_read", "of read", Type::kReal, 2},
                       {"speed_over_bf16", "x bf16", Type::kReal, 3},
                       {"ns_per_key_8", "8 queries ns/key", Type::kReal, 3},
                       {"speed_over_bf16_8", "x bf16", Type::kReal, 3}});
  std::map<std::string, std::pair<double, double>> bf16;
  for (Row& row : rows) {
    if (row.format == "bf16") bf16[row.place] = {row.one.median(), row.eight.median()};
  }
  for (Row& row : rows) {
    const auto keys = static_cast<double>(row.cache->size());
    const auto bytes = static_cast<double>(row.cache->tiles().size());
    const double one = row.one.median();
    const double eight = row.eight.median();
    table.add_row({static_cast<std::int64_t>(row.cache->size()), row.place, row.format, bytes / keys, one / keys * 1e9,
                   bytes / one * 1e-9, row.read.median() / one, bf16[row.place].first / one, eight / keys * 1e9,
                   bf16[row.place].second / eight});
  }
  return table;
}

double worst_spread(std::vector<Row>& rows) {
  double worst = 0;
  for (Row& row : rows) worst = std::max({worst, row.one.spread(), row.eight.spread(), row.read.spread()});
  return worst;
}

/// How far to trust the table: few rounds on a busy machine give ratios of anything.
std::string trust(std::vector<Row>& rows) {
  constexpr std::size_t kFewRounds = 5;
  constexpr double kWideSpread = 0.2;
  const std::size_t rounds = rows.front().one.seconds.size();
  const double worst = worst_spread(rows);
  std::string text = fmt::format("rounds: the middle half of them spans at most {:.0f} % of the median", 100 * worst);
  if (rounds < kFewRounds || worst > kWideSpread)
    text += fmt::format("; {} - measure longer (--seconds) or on a quieter machine",
                        rounds < kFewRounds ? "too few to tell" : "something disturbs them");
  return text + ".\n";
}

constexpr const char* kFormats[] = {"turbo-mse:1", "turbo-mse:2", "turbo-mse:3", "turbo-mse:4",
                                    "turbo-mse:8", "int8",        "bf16"};

/// Refuses more keys than fit half of this machine's memory, before any is made.
void require_memory(const Options& options, std::size_t dim) {
  constexpr double kBytesPerCoordinate = (1 + 2 + 3 + 4 + 8) / 8.0 + 1 + 2;  // of all formats together
  constexpr double kGiB = 1 << 30;
  const double keys = static_cast<double>(options.cached) + static_cast<double>(options.memory);
  const double needed = keys * kBytesPerCoordinate * static_cast<double>(dim) / kGiB;
  const double most =
      0.5 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kGiB;
  if (needed <= most) return;
  throw_invalid_argument("bench", fmt::format("keys of {} coordinates, {} and {}", dim, options.cached, options.memory),
                         fmt::format("{:.3g} GiB in all formats", needed),
                         fmt::format("at most {:.3g} GiB, half of this machine's memory", most));
}

/// Rounds of all jobs in turn: what disturbs one disturbs the others too. The first warms up and is not kept; at least
/// one is, and none begins once the time is up.
void measure(std::vector<Row>& rows, double seconds) {
  const Clock::time_point begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (int round = 0; round < 2 || elapsed() < seconds; ++round) {
    for (Row& row : rows) {
      for (Job* job : {&row.read, &row.one, &row.eight}) {
        job->measure();
        if (round == 0) job->seconds.clear();
      }
    }
  }
}

int run(const Options& options, Streams streams, const Invocation& invocation) {
  if (options.cached == 0 || options.memory == 0) {
    throw_invalid_argument("bench", "--cached or --memory", "0", "1 or more keys");
  }
  if (!(options.seconds > 0 && options.seconds <= kMostSeconds)) {
    throw_invalid_argument("bench", "--seconds", fmt::format("{}", options.seconds),
                           fmt::format("more than 0, up to {}", kMostSeconds));
  }
  const std::string target = options.target.empty() ? cache::chosen_target() : options.target;
  cache::read_through({}, target);  // an unusable target is refused before any work
  if (options.dump.empty()) require_memory(options, options.dim);
  const Matrix<float> source = source_rows(options);
  require_memory(options, source.cols());
  std::vector<Row> rows;
  for (const auto& [place, keys] :
       {std::pair<const char*, std::size_t>{"cache", options.cached}, {"memory", options.memory}}) {
    for (const char* format : kFormats) {
      if (streams.err_is_terminal)
        streams.err << fmt::format("\rfilling {} keys in {}      ", keys, format) << std::flush;
      rows.push_back(make_row(format, place, keys, source, options));
    }
  }
  if (streams.err_is_terminal) streams.err << "\rmeasuring                              \n";
  measure(rows, options.seconds);
  const report::Table table = to_table(rows);
  streams.out << fmt::format("{}, target {}, d = {}, one thread, medians of {} rounds\n\n", report::processor_name(),
                             target, source.cols(), rows.front().one.seconds.size());
  streams.out << report::to_text(table);
  streams.out << "\nof read: time of a plain read of the same bytes over the time of one query's scores.\n"
              << trust(rows);
  if (!options.common.json.empty()) {
    report::Provenance provenance = apps::provenance("bench", options.common, invocation);
    provenance.target = target;
    provenance.settings = {{"dim", static_cast<std::int64_t>(source.cols())},
                           {"seconds", options.seconds},
                           {"rounds", static_cast<std::int64_t>(rows.front().one.seconds.size())},
                           {"worst_spread", worst_spread(rows)}};
    if (!options.dump.empty()) provenance.inputs.push_back(report::describe_input(options.dump));
    write_file(options.common.json, report::to_json(provenance, table));
  }
  return kDone;
}

}  // namespace

Run add_bench(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CommandLine command(app, "bench", "Measure how fast this machine scores coded keys");
  Argument dump = command.add("dump", options->dump, "KV dump whose first layer's keys are used; default: random keys")
                      .type("DUMP");
  command.add("--dim", options->dim, "Coordinates of a random key")
      .type("N")
      .within(2, cache::RowFormat::kMaxDim)
      .show_default()
      .excludes(dump);
  command.add("--cached", options->cached, "Keys that fit the processor's cache").type("N").show_default();
  command.add("--memory", options->memory, "Keys that do not").type("N").show_default();
  command.add("--seconds", options->seconds, "Time to measure, once the keys are made; at least one round")
      .type("X")
      .show_default();
  command.add("--target", options->target, "Instruction set; default: the fastest, or ORTHANT_TARGET").type("NAME");
  add_report_options(command, options->common);
  command.footer(
      "Prints nanoseconds per key for one query and for eight, the share of read bandwidth, and the speed against\n"
      "bfloat16 keys, with keys in cache and from memory.\n"
      "Example:  orthant bench --dim 64 --seconds 3");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
