#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "command.h"
#include "command_line.h"
#include "common_options.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"
#include "orthant/core/printable.h"
#include "orthant/kv/calibration.h"
#include "orthant/kv/matched_keys.h"
#include "orthant/report/plot.h"
#include "orthant/report/report.h"
#include "orthant/transform/score_error.h"

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using transform::Alignment;
using transform::Match;

struct Options {
  std::vector<std::string> dumps;
  std::string out;
  std::string svg;
  std::size_t tokens = 0;   // of each dump; 0: all
  std::size_t context = 0;  // 0: of the longest dump
  std::size_t skip = 16;
  double shrinkage = 0.02;
  int bits = 3;
  CommonOptions common;
};

constexpr std::size_t kSegments = 4;
constexpr std::size_t kLargestContext = std::size_t{1} << 31;  // as a dump's last position

/// What is forecast for each head; the text table shows those with a heading.
struct Setting {
  Match match;
  std::size_t tile;
  const char* name;     ///< in reports
  const char* heading;  ///< in the text table, or null
};
constexpr Setting kSettings[] = {
    {Match::kNone, Alignment::kNone, "centre=mean", "mean"},
    {Match::kDiagonal, Alignment::kNone, "match=diag", "diag"},
    {Match::kDiagonal, 1024, "match=diag,align=1024", nullptr},
    {Match::kDiagonal, 256, "match=diag,align=256", "diag 256"},
    {Match::kDiagonal, 64, "match=diag,align=64", nullptr},
    {Match::kDiagonal, Alignment::kBeforeRope, "match=diag,align=pre", "diag pre"},
    {Match::kFull, Alignment::kNone, "match=full", "full"},
    {Match::kFull, 1024, "match=full,align=1024", nullptr},
    {Match::kFull, 256, "match=full,align=256", "full 256"},
    {Match::kFull, 64, "match=full,align=64", nullptr},
    {Match::kFull, Alignment::kBeforeRope, "match=full,align=pre", "full pre"},
};

struct Gain {
  double matched = 0;
  double segmented = 0;
  double gaussian = 0;
};

struct HeadReport {
  int layer = 0;
  std::size_t head = 0;
  std::uint64_t tokens = 0;
  std::uint64_t queries = 0;
  double mean_share = 0;      ///< |mean|^2 / E |kappa|^2
  std::int64_t dead = 0;      ///< channels with less than 1e-4 of the average second moment
  std::int64_t dominant = 0;  ///< channels with more than 10 times the average second moment
  double dominant_share = 0;  ///< of the energy, in those
  std::vector<Gain> gains;    ///< one for each setting
};

/// Chosen limits: what a two-percent shrinkage has to rescue, and what a group scale would feel.
constexpr double kDead = 1e-4;
constexpr double kDominant = 10;

HeadReport describe_head(const kv::Calibration& calibration, const kv::CalibratedLayer& layer, std::size_t head,
                         const kv::KeyContext& context, int bits, std::span<const double> distortion) {
  const kv::HeadMoments& moments = layer.heads[head];
  HeadReport result{layer.index, head, moments.keys.count(), moments.queries.count(), 0, 0, 0, 0, {}};
  const Matrix<double> second = moments.keys.second_moment();
  double energy = 0;
  double mean = 0;
  for (std::size_t j = 0; j < second.rows(); ++j) {
    energy += second(j, j);
    mean += moments.keys.mean()[j] * moments.keys.mean()[j];
  }
  const double average = energy / static_cast<double>(second.rows());
  for (std::size_t j = 0; j < second.rows(); ++j) {
    if (second(j, j) <= kDead * average) ++result.dead;
    if (second(j, j) > kDominant * average) {
      ++result.dominant;
      result.dominant_share += second(j, j) / energy;
    }
  }
  result.mean_share = energy > 0 ? mean / energy : 0;
  std::map<std::size_t, double> gaussian;  // of each frame: maps do not change it
  for (const Setting& setting : kSettings) {
    const kv::MatchedKeyOptions options{setting.match, transform::Centre::kMean, {setting.tile}, 1};
    const kv::MatchedHead matched = kv::match_head(calibration, layer, head, options, context);
    const kv::ErrorForecast f = kv::forecast(matched, bits, kSegments, distortion);
    if (!gaussian.contains(setting.tile)) gaussian[setting.tile] = kv::gaussian_forecast(matched.moments, bits);
    const auto gain = [&](double error) { return f.plain > 0 && error > 0 ? transform::gain_bits(f.plain, error) : 0; };
    result.gains.push_back({gain(f.matched), gain(f.segmented), gain(gaussian[setting.tile])});
  }
  return result;
}

/// Sliding window of each layer, as the dumps have it.
std::map<int, std::size_t> windows(std::span<const kv::Dump> dumps, std::size_t context) {
  std::map<int, std::size_t> seen;
  for (const kv::Dump& dump : dumps)
    for (const kv::DumpLayer& layer : dump.layers())
      seen[layer.index] = std::min(context, layer.window.value_or(context));
  return seen;
}

/// Heads of one layer together: means of shares and gains, sums of counts.
HeadReport mean_of(std::span<const HeadReport> heads) {
  HeadReport total = heads.front();
  const auto n = static_cast<double>(heads.size());
  for (const HeadReport& head : heads.subspan(1)) {
    total.mean_share += head.mean_share;
    total.dead += head.dead;
    total.dominant += head.dominant;
    total.dominant_share += head.dominant_share;
    for (std::size_t s = 0; s < total.gains.size(); ++s) {
      total.gains[s].matched += head.gains[s].matched;
      total.gains[s].segmented += head.gains[s].segmented;
      total.gains[s].gaussian += head.gains[s].gaussian;
    }
  }
  total.mean_share /= n;
  total.dominant_share /= n;
  for (Gain& gain : total.gains) gain = {gain.matched / n, gain.segmented / n, gain.gaussian / n};
  return total;
}

Table layer_table(std::span<const HeadReport> layers) {
  std::vector<report::Column> columns = {{"layer", "layer", Type::kInteger},
                                         {"mean_share", "mean share", Type::kReal, 3},
                                         {"dead_channels", "dead", Type::kInteger},
                                         {"dominant_channels", "dominant", Type::kInteger},
                                         {"dominant_share", "their share", Type::kReal, 3}};
  for (const Setting& setting : kSettings)
    if (setting.heading != nullptr) columns.push_back({setting.name, setting.heading, Type::kReal, 3});
  columns.push_back({"segments", "full pre, 4 segments", Type::kReal, 3});
  columns.push_back({"gaussian", "Gaussian", Type::kReal, 3});
  Table table(columns);
  for (const HeadReport& layer : layers) {
    std::vector<report::Value> row = {std::int64_t{layer.layer}, layer.mean_share, layer.dead, layer.dominant,
                                      layer.dominant_share};
    for (std::size_t s = 0; s < std::size(kSettings); ++s)
      if (kSettings[s].heading != nullptr) row.emplace_back(layer.gains[s].matched);
    row.emplace_back(layer.gains.back().segmented);
    row.emplace_back(layer.gains.back().gaussian);
    table.add_row(std::move(row));
  }
  return table;
}

Table gain_table(std::span<const HeadReport> heads) {
  Table table({{"layer", "layer", Type::kInteger},
               {"kv_head", "head", Type::kInteger},
               {"setting", "setting", Type::kText},
               {"gain_bits", "gain", Type::kReal},
               {"gain_bits_4_segments", "4 segments", Type::kReal},
               {"gain_bits_gaussian", "Gaussian", Type::kReal}});
  for (const HeadReport& head : heads)
    for (std::size_t s = 0; s < std::size(kSettings); ++s)
      table.add_row({std::int64_t{head.layer}, static_cast<std::int64_t>(head.head), kSettings[s].name,
                     head.gains[s].matched, head.gains[s].segmented, head.gains[s].gaussian});
  return table;
}

Table head_table(std::span<const HeadReport> heads) {
  Table table({{"layer", "layer", Type::kInteger},
               {"kv_head", "head", Type::kInteger},
               {"key_tokens", "tokens", Type::kInteger},
               {"query_rows", "queries", Type::kInteger},
               {"mean_share", "mean share", Type::kReal},
               {"dead_channels", "dead", Type::kInteger},
               {"dominant_channels", "dominant", Type::kInteger},
               {"dominant_share", "their share", Type::kReal}});
  for (const HeadReport& h : heads)
    table.add_row({std::int64_t{h.layer}, static_cast<std::int64_t>(h.head), static_cast<std::int64_t>(h.tokens),
                   static_cast<std::int64_t>(h.queries), h.mean_share, h.dead, h.dominant, h.dominant_share});
  return table;
}

report::Plot gain_plot(const Options& options, std::span<const HeadReport> layers) {
  report::Plot plot{fmt::format("Predicted gain of matched keys over plain ones at {} bits", options.bits),
                    "layer",
                    "bits per coordinate",
                    false,
                    {}};
  const auto series = [&](const char* title, const auto& value) {
    report::Series line{title, {}, true};
    for (const HeadReport& layer : layers) line.points.emplace_back(static_cast<double>(layer.layer), value(layer));
    plot.series.push_back(std::move(line));
  };
  for (std::size_t s = 0; s < std::size(kSettings); ++s)
    if (kSettings[s].heading != nullptr)
      series(kSettings[s].heading, [&](const HeadReport& layer) { return layer.gains[s].matched; });
  series("full pre, 4 segments", [](const HeadReport& layer) { return layer.gains.back().segmented; });
  series("Gaussian benchmark", [](const HeadReport& layer) { return layer.gains.back().gaussian; });
  return plot;
}

int run(const Options& options, Streams streams, const Invocation& invocation) {
  std::vector<kv::Dump> dumps;
  report::Provenance from = provenance("calibrate", options.common, invocation);
  std::vector<std::string> sources;
  for (const std::string& path : options.dumps) {
    dumps.push_back(kv::Dump::open(path));
    from.inputs.push_back(report::describe_input(path));
    sources.push_back(
        fmt::format("{} sha256:{}", std::filesystem::path(path).filename().string(), from.inputs.back().sha256));
  }
  kv::CalibrationOptions calibration_options;
  calibration_options.skipped = options.skip;
  calibration_options.shrinkage = options.shrinkage;
  calibration_options.threads = options.common.threads;
  if (options.tokens > 0) calibration_options.most_tokens = options.tokens;
  const kv::Calibration calibration = kv::calibrate(dumps, sources, calibration_options);

  std::size_t context = options.context;
  if (context == 0)
    for (const kv::Dump& dump : dumps) context = std::max(context, dump.tokens());
  const std::map<int, std::size_t> window = windows(dumps, context);
  const std::vector<double> distortion = kv::sphere_distortions(calibration.head_dim);
  struct Task {
    const kv::CalibratedLayer* layer;
    std::size_t head;
  };
  std::vector<Task> tasks;
  for (const kv::CalibratedLayer& layer : calibration.layers)
    for (std::size_t h = 0; h < layer.heads.size(); ++h) tasks.push_back({&layer, h});
  std::vector<HeadReport> heads(tasks.size());
  parallel_for(tasks.size(), options.common.threads, [&](std::size_t i) {
    const kv::CalibratedLayer& layer = *tasks[i].layer;
    heads[i] =
        describe_head(calibration, layer, tasks[i].head, {context, window.at(layer.index)}, options.bits, distortion);
  });

  std::vector<HeadReport> layers;
  for (std::size_t first = 0; first < heads.size();) {
    std::size_t last = first;
    while (last < heads.size() && heads[last].layer == heads[first].layer) ++last;
    layers.push_back(mean_of(std::span(heads).subspan(first, last - first)));
    first = last;
  }
  kv::write_calibration(options.out, calibration);
  streams.out << fmt::format(
                     "{}: {} tokens, {} query rows a head; gains over plain keys in bits per coordinate at {} bits, "
                     "context {}\n",
                     printable(calibration.model), heads.front().tokens, heads.front().queries, options.bits, context)
              << report::to_text(layer_table(layers));
  if (!options.common.json.empty()) {
    from.settings = {{"bits", std::int64_t{options.bits}},
                     {"context", static_cast<std::int64_t>(context)},
                     {"skip", static_cast<std::int64_t>(options.skip)},
                     {"tokens", static_cast<std::int64_t>(options.tokens)},
                     {"shrinkage", options.shrinkage}};
    write_file(options.common.json, report::to_json(from, gain_table(heads), {{"heads", head_table(heads)}}));
  }
  if (!options.svg.empty()) {
    const std::optional<std::string> picture = report::to_svg(gain_plot(options, layers));
    if (picture) {
      write_file(options.svg, *picture);
    } else {
      streams.err << "orthant: gnuplot not found, no " << options.svg << '\n';
    }
  }
  return kDone;
}

}  // namespace

Run add_calibrate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CommandLine command(app, "calibrate", "Learn second moments of a model's keys and queries, for matched keys");
  command.add("dump", options->dumps, "Dumps of one model; they add up").required().type("DUMP");
  command.add("--out", options->out, "Calibration file to write (safetensors)").required().type("FILE");
  command.add("--tokens", options->tokens, "Use the keys of the first N tokens of each dump; 0: all")
      .type("N")
      .show_default();
  command.add("--skip", options->skip, "Leave the first N tokens of each dump out: the attention sink")
      .type("N")
      .show_default();
  command.add("--shrinkage", options->shrinkage, "Share of the mean variance that every direction is given")
      .type("X")
      .show_default();
  command.add("--bits", options->bits, "Width at which gains are forecast").type("N").within(1, 8).show_default();
  command.add("--context", options->context, "Tokens of the cache the forecast is for; 0: of the longest dump")
      .within(0, kLargestContext)
      .type("N")
      .show_default();
  command.add("--svg", options->svg, "Draw the gains of every layer").type("FILE");
  add_common_options(command, options->common);
  command.footer(
      "One calibration serves every alignment, width and context length: give it to a method as calibration=FILE.\n"
      "mean share: part of the keys' energy before the rotary embedding that is a constant. dead, dominant: channels\n"
      "with less than 1e-4 or more than 10 times the average energy. Gains are forecast from second moments:\n"
      "mean: constant mean taken off; diag, full: map; 256, pre: alignment. Gaussian: rate-distortion figure with the\n"
      "same second moments before the rotary embedding, what no scheme that knows only them can promise to beat.\n\n"
      "Example:  orthant calibrate data/gemma3-270m-512.safetensors --out calibration.safetensors");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
