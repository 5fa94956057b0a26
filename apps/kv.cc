#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

#include "command.h"
#include "command_line.h"
#include "common_options.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/printable.h"
#include "orthant/kv/matched_quantizer.h"
#include "orthant/kv/run_policies.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/report/html.h"
#include "orthant/report/plot.h"
#include "orthant/report/report.h"
#include "progress.h"

namespace orthant::apps {
namespace {

using quantizer::Policy;
using report::Column;
using report::Table;
using report::Type;
using report::Value;

/// What the columns mean: in the help, and on the page.
constexpr const char* kLegend =
    "K bits: true size over the dump's tokens, scales and exact tokens included. A query reads each token as the\n"
    "cache had it at that moment: exact or coded (kivi, sink=4, residual=128).\n"
    "distortion: mean |x - x_hat|^2 / |x|^2; theory: what the theorem says.\n"
    "Scores are softmax scale times <q, k>: signed mean error (bias) and RMS over the tokens a query sees.\n"
    "from Gaussian: bits per coordinate that the Gaussian rate-distortion figure with the same second moments would "
    "do\n"
    "with less for the same score error; what no scheme that knows only second moments can promise to beat.\n"
    "KL(exact || coded) of the attention weights in nats; top-1: share of queries whose strongest token stays.\n"
    "output: mean of |o - o_hat| / |o|; pooled: sqrt(sum |o - o_hat|^2 / sum |o|^2). Averages run over query heads\n"
    "and queries, under each layer's own causal and sliding mask.\n";

struct Options {
  std::vector<std::string> dumps;
  std::vector<std::string> methods;
  std::string layers;
  std::string bits = "1-8";
  std::string csv;
  std::string svg;
  std::string html;
  CommonOptions common;
};

/// One line of a table: a policy on one layer, or on all layers of a dump together.
struct Line {
  std::string dump;
  std::optional<int> layer;  ///< nothing: all layers
  std::string attention;
  const Policy* policy = nullptr;
  kv::SideCost keys;
  kv::SideCost values;
  kv::CodingError error;
  std::size_t elements_per_token = 0;
  std::optional<double> gaussian_square;  ///< mean square score error of the Gaussian benchmark
  std::optional<int> worst_layer;         ///< of several: the one with the largest KL
  double worst_kl = 0;

  /// Bits per coordinate that the Gaussian benchmark would do with less.
  std::optional<double> gaussian_distance() const {
    const double measured = error.attention.score_square.mean();
    if (!gaussian_square || !(*gaussian_square > 0) || !(measured > 0)) return std::nullopt;
    return 0.5 * std::log2(measured / *gaussian_square);
  }
  double bits_per_element() const {
    return 8 * (keys.bytes_per_token + values.bytes_per_token) / static_cast<double>(elements_per_token);
  }
};

/// A column, what it holds, and whether the text table shows it.
struct Field {
  Column column;
  std::function<Value(const Line&)> value;
  bool in_text = true;
};

Value integer(std::size_t x) { return static_cast<std::int64_t>(x); }
Value or_nothing(std::optional<double> x) { return x ? Value(*x) : Value(); }
Value or_nothing(std::optional<int> x) { return x ? Value(std::int64_t{*x}) : Value(); }
Value distortion(const kv::RowError& error) { return error.relative.count() > 0 ? Value(error.distortion()) : Value(); }
std::string method_text(const std::optional<quantizer::Method>& method) {
  return method ? method->to_string() : "exact";
}

struct Shown {
  bool dumps = false;   ///< several dumps
  bool values = false;  ///< some policy codes values
};

std::vector<Field> fields(const Shown& shown, bool all_layers) {
  std::vector<Field> list = {
      {{"dump", "dump", Type::kText}, [](const Line& l) { return l.dump; }, shown.dumps},
  };
  if (!all_layers) {
    list.push_back({{"layer", "layer", Type::kInteger}, [](const Line& l) { return or_nothing(l.layer); }});
    list.push_back({{"attention", "attention", Type::kText}, [](const Line& l) { return l.attention; }});
  }
  const std::vector<Field> common = {
      {{"keys", "keys", Type::kText}, [](const Line& l) { return method_text(l.policy->keys); }},
      {{"values", "values", Type::kText}, [](const Line& l) { return method_text(l.policy->values); }, shown.values},
      {{"key_bits_per_element", "K bits", Type::kReal}, [](const Line& l) { return l.keys.bits_per_element; }},
      {{"value_bits_per_element", "V bits", Type::kReal},
       [](const Line& l) { return l.values.bits_per_element; },
       shown.values},
      {{"key_bytes_per_token", "K B/token", Type::kReal, 7}, [](const Line& l) { return l.keys.bytes_per_token; }},
      {{"value_bytes_per_token", "V B/token", Type::kReal, 7}, [](const Line& l) { return l.values.bytes_per_token; }},
      {{"metadata_bytes_per_token", "metadata B", Type::kReal, 7},
       [](const Line& l) { return l.keys.metadata_bytes_per_token + l.values.metadata_bytes_per_token; },
       false},
      {{"exact_bytes_per_token", "exact B", Type::kReal, 7},
       [](const Line& l) { return l.keys.exact_bytes_per_token + l.values.exact_bytes_per_token; },
       false},
      {{"bits_per_element", "bits", Type::kReal}, [](const Line& l) { return l.bits_per_element(); }, false},
      {{"key_distortion", "K distortion", Type::kReal}, [](const Line& l) { return distortion(l.error.keys); }},
      {{"key_distortion_theory", "theory", Type::kReal},
       [](const Line& l) { return or_nothing(l.keys.expected_distortion); }},
      {{"value_distortion", "V distortion", Type::kReal},
       [](const Line& l) { return distortion(l.error.values); },
       shown.values},
      {{"value_distortion_theory", "theory", Type::kReal},
       [](const Line& l) { return or_nothing(l.values.expected_distortion); },
       shown.values},
      {{"score_bias", "score bias", Type::kReal, 3}, [](const Line& l) { return l.error.attention.score_bias.mean(); }},
      {{"score_rms", "score RMS", Type::kReal}, [](const Line& l) { return l.error.attention.score_rms(); }},
      {{"bits_from_gaussian", "from Gaussian", Type::kReal, 3},
       [](const Line& l) { return or_nothing(l.gaussian_distance()); }},
      {{"kl_nats", "KL nats", Type::kReal}, [](const Line& l) { return l.error.attention.mean_kl(); }},
      {{"top1_agreement", "top-1", Type::kReal}, [](const Line& l) { return l.error.attention.top1.mean(); }},
      {{"output_error_mean", "output", Type::kReal},
       [](const Line& l) { return l.error.attention.output_ratio.mean(); }},
      {{"output_error_pooled", "pooled", Type::kReal},
       [](const Line& l) { return l.error.attention.pooled_output_error(); }},
      {{"queries", "queries", Type::kInteger},
       [](const Line& l) { return integer(l.error.attention.kl.count()); },
       false},
      {{"zero_keys", "zero keys", Type::kInteger},
       [](const Line& l) { return integer(l.error.keys.zero_rows); },
       false},
      {{"zero_values", "zero values", Type::kInteger},
       [](const Line& l) { return integer(l.error.values.zero_rows); },
       false},
  };
  list.insert(list.end(), common.begin(), common.end());
  if (all_layers) {
    list.push_back({{"worst_layer_kl_nats", "worst KL", Type::kReal}, [](const Line& l) { return l.worst_kl; }});
    list.push_back(
        {{"worst_layer", "in layer", Type::kInteger}, [](const Line& l) { return or_nothing(l.worst_layer); }});
  }
  return list;
}

Table make_table(const std::vector<Field>& fields, const std::vector<Line>& lines, bool text) {
  std::vector<Column> columns;
  for (const Field& field : fields) {
    if (!text || field.in_text) columns.push_back(field.column);
  }
  Table table(std::move(columns));
  for (const Line& line : lines) {
    std::vector<Value> row;
    for (const Field& field : fields) {
      if (!text || field.in_text) row.push_back(field.value(line));
    }
    table.add_row(std::move(row));
  }
  return table;
}

/// Keys by turbo-mse at each width, matched and plain side by side, then the plain formats as baselines; values stay as
/// they are.
std::vector<Policy> default_policies(const std::string& bits, const std::vector<kv::Dump>& dumps, Streams streams) {
  std::vector<Policy> policies;
  const bool matched = std::ranges::all_of(dumps, kv::learns_from_itself);
  if (!matched)
    streams.err << "orthant kv: matched keys left out: a dump has too few tokens or queries to learn from\n";
  for (const std::int64_t b : number_list("--bits", bits, 1, 8)) {
    if (matched)
      policies.push_back(
          quantizer::parse_policy(fmt::format("K=turbo-mse:{},match=diag,align=256,calibration=self", b)));
    policies.push_back(quantizer::parse_policy(fmt::format("K=turbo-mse:{}", b)));
  }
  for (const char* baseline : {"q8_0", "q4_0", "bf16"}) {
    const Policy policy = quantizer::parse_policy(fmt::format("K={}", baseline));
    try {
      for (const kv::Dump& dump : dumps) {
        for (const kv::DumpLayer& layer : dump.layers()) quantizer::make_quantizer(*policy.keys, layer.head_dim);
      }
      policies.push_back(policy);
    } catch (const InvalidArgument& error) {
      streams.err << "orthant kv: baseline " << baseline << " left out: " << error.what() << '\n';
    }
  }
  return policies;
}

/// Places in dump.layers() of the model's layers that were asked for.
std::vector<std::size_t> chosen_layers(const kv::Dump& dump, const std::string& text) {
  std::vector<std::size_t> places;
  std::map<std::int64_t, std::size_t> known;
  std::string names;
  for (std::size_t i = 0; i < dump.layers().size(); ++i) {
    known[dump.layers()[i].index] = i;
    names += (i > 0 ? ", " : "") + std::to_string(dump.layers()[i].index);
    if (text.empty()) places.push_back(i);
  }
  if (text.empty()) return places;
  for (const std::int64_t index : number_list("--layers", text, 0, 100000)) {
    const auto found = known.find(index);
    if (found == known.end()) {
      throw_invalid_argument("--layers", "layer of " + dump.name(), std::to_string(index), "one of " + names);
    }
    places.push_back(found->second);
  }
  return places;
}

std::string attention_text(const kv::DumpLayer& layer) {
  return layer.window ? "sliding:" + std::to_string(*layer.window) : "global";
}

Line line_of(const kv::Dump& dump, const kv::PolicyResult& result, const std::vector<Policy>& policies) {
  const kv::DumpLayer& layer = dump.layers()[result.layer];
  Line line;
  line.dump = std::filesystem::path(dump.name()).filename().string();
  line.layer = layer.index;
  line.attention = attention_text(layer);
  line.policy = &policies[result.policy];
  line.keys = result.keys;
  line.values = result.values;
  line.error = result.error;
  line.gaussian_square = result.gaussian_score_square;
  line.elements_per_token = layer.kv_heads * (layer.head_dim + layer.value_dim);
  return line;
}

/// Adds a layer's cost to that of the layers before it: bytes add up, bits and theory are weighted by elements.
void add_cost(kv::SideCost& sum, const kv::SideCost& layer) {
  const auto elements = [](const kv::SideCost& c) { return 8 * c.bytes_per_token / c.bits_per_element; };
  const double before = sum.bytes_per_token > 0 ? elements(sum) : 0;
  const double share = elements(layer) / (before + elements(layer));
  if (before > 0 && (!sum.expected_distortion || !layer.expected_distortion)) {
    sum.expected_distortion.reset();
  } else if (layer.expected_distortion) {
    sum.expected_distortion = (1 - share) * sum.expected_distortion.value_or(0) + share * *layer.expected_distortion;
  }
  sum.method = layer.method;
  sum.bytes_per_token += layer.bytes_per_token;
  sum.metadata_bytes_per_token += layer.metadata_bytes_per_token;
  sum.exact_bytes_per_token += layer.exact_bytes_per_token;
  sum.bits_per_element = 8 * sum.bytes_per_token / (before + elements(layer));
}

/// One line for each policy of a dump: all layers together.
std::vector<Line> summary_of(const std::vector<Line>& lines, std::size_t policies) {
  std::vector<Line> summary(policies);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    Line& sum = summary[i % policies];
    sum.dump = line.dump;
    sum.policy = line.policy;
    add_cost(sum.keys, line.keys);
    add_cost(sum.values, line.values);
    const auto seen = static_cast<double>(sum.error.attention.score_square.count());
    sum.error.merge(line.error);
    // Averaged over queries, like the measured square.
    const double share = 1 - seen / static_cast<double>(sum.error.attention.score_square.count());
    if (line.gaussian_square)
      sum.gaussian_square = (1 - share) * sum.gaussian_square.value_or(0) + share * *line.gaussian_square;
    sum.elements_per_token += line.elements_per_token;
    if (!sum.worst_layer || line.error.attention.mean_kl() > sum.worst_kl) {
      sum.worst_layer = line.layer;
      sum.worst_kl = line.error.attention.mean_kl();
    }
  }
  return summary;
}

/// KL against bits per element of what the policies code, one series for each kind of method.
report::Plot kl_plot(const std::vector<Line>& summary, const Shown& shown) {
  const auto coded = [&](auto side) {
    return std::any_of(summary.begin(), summary.end(), [&](const Line& l) { return side(*l.policy).has_value(); });
  };
  const bool keys = coded([](const Policy& p) { return p.keys; });
  const bool values = coded([](const Policy& p) { return p.values; });
  report::Plot plot;
  plot.title = "Attention KL(exact || coded), mean over layers, heads and queries";
  plot.x_label = keys == values ? "bits per element of keys and values"
                 : keys         ? "bits per key element"
                                : "bits per value element";
  plot.y_label = "KL (nats)";
  plot.log_y = true;
  const auto family = [](const std::optional<quantizer::Method>& method) {
    if (!method) return std::string("exact");
    return std::string(method->family()) + (kv::needs_calibration(*method) ? ", matched" : "");
  };
  for (const Line& line : summary) {
    std::string title = (shown.dumps ? line.dump + ": " : "") + "K=" + family(line.policy->keys);
    if (shown.values) title += " V=" + family(line.policy->values);
    auto series =
        std::find_if(plot.series.begin(), plot.series.end(), [&](const report::Series& s) { return s.title == title; });
    if (series == plot.series.end()) series = plot.series.insert(series, report::Series{title, {}, true});
    const double bits = keys == values ? line.bits_per_element()
                        : keys         ? line.keys.bits_per_element
                                       : line.values.bits_per_element;
    series->points.emplace_back(bits, line.error.attention.mean_kl());
  }
  for (report::Series& series : plot.series) std::sort(series.points.begin(), series.points.end());
  return plot;
}

std::string dump_text(const kv::Dump& dump) {
  const kv::DumpLayer& layer = dump.layers().front();
  return fmt::format("{}: {}, {} tokens, {} layers; {} query and {} KV heads of {}, the last {} queries",
                     printable(dump.name()), printable(dump.model()), dump.tokens(), dump.layers().size(),
                     layer.q_heads, layer.kv_heads, layer.head_dim, layer.query_tokens);
}

report::Provenance make_provenance(const Options& options, const std::vector<Policy>& policies,
                                   const Invocation& invocation) {
  report::Provenance from = provenance("kv", options.common, invocation);
  std::string methods;
  for (const Policy& policy : policies) {
    if (!methods.empty()) methods += "; ";
    methods += "K=" + (policy.keys ? policy.keys->to_full_string() : "exact");
    methods += " V=" + (policy.values ? policy.values->to_full_string() : "exact");
  }
  from.settings = {{"layers", options.layers.empty() ? std::string("all") : options.layers}, {"methods", methods}};
  for (const std::string& path : options.dumps) from.inputs.push_back(report::describe_input(path));
  std::set<std::string> calibrations;
  for (const Policy& policy : policies) {
    if (!policy.keys || !policy.keys->has("calibration")) continue;
    const std::string& source = policy.keys->text("calibration");
    if (source != "none" && source != "self") calibrations.insert(source);
  }
  for (const std::string& path : calibrations) from.inputs.push_back(report::describe_input(path));
  return from;
}

int run(const Options& options, Streams streams, const Invocation& invocation) {
  std::vector<kv::Dump> dumps;
  std::vector<std::vector<std::size_t>> layers;
  for (const std::string& path : options.dumps) {
    dumps.push_back(kv::Dump::open(path));
    layers.push_back(chosen_layers(dumps.back(), options.layers));
  }
  std::vector<Policy> policies;
  for (const std::string& method : options.methods) policies.push_back(quantizer::parse_policy(method));
  if (policies.empty()) policies = default_policies(options.bits, dumps, streams);
  std::optional<report::Provenance> from;
  if (!options.common.json.empty() || !options.html.empty()) from = make_provenance(options, policies, invocation);

  const Shown shown{dumps.size() > 1, std::any_of(policies.begin(), policies.end(),
                                                  [](const Policy& p) { return p.values.has_value(); })};
  std::vector<Line> lines;
  std::vector<Line> summary;
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    kv::RunOptions run_options;
    run_options.seed = options.common.seed;
    run_options.threads = options.common.threads;
    Progress progress(streams, "coding");
    run_options.progress = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
    std::vector<Line> part;
    for (const kv::PolicyResult& result : kv::run_policies(dumps[i], layers[i], policies, run_options)) {
      part.push_back(line_of(dumps[i], result, policies));
    }
    const std::vector<Line> part_summary = summary_of(part, policies.size());
    lines.insert(lines.end(), part.begin(), part.end());
    summary.insert(summary.end(), part_summary.begin(), part_summary.end());
  }

  for (const kv::Dump& dump : dumps) streams.out << dump_text(dump) << '\n';
  const auto line_fields = fields(shown, false);
  const auto summary_fields = fields(shown, true);
  streams.out << '\n' << report::to_text(make_table(line_fields, lines, true));
  streams.out << "\nall layers\n" << report::to_text(make_table(summary_fields, summary, true));

  const Table rows = make_table(line_fields, lines, false);
  if (!options.common.json.empty()) {
    write_file(options.common.json,
               report::to_json(*from, rows, {{"summary", make_table(summary_fields, summary, false)}}));
  }
  if (!options.csv.empty()) write_file(options.csv, report::to_csv(rows));
  if (options.svg.empty() && options.html.empty()) return kDone;
  const bool lossless = std::ranges::all_of(summary, [](const Line& l) { return !(l.error.attention.mean_kl() > 0); });
  std::optional<std::string> drawing;
  if (!lossless) drawing = report::to_svg(kl_plot(summary, shown));
  if (!drawing) {
    streams.err << "orthant kv: the plot is left out: " << (lossless ? "no KL is above 0" : "gnuplot is not installed")
                << '\n';
  }
  if (!options.svg.empty() && drawing) write_file(options.svg, *drawing);
  if (!options.html.empty()) {
    std::string measured;
    for (const kv::Dump& dump : dumps) measured += (measured.empty() ? "" : "; ") + dump_text(dump);
    write_file(options.html,
               report::to_html("Keys and values, coded", *from,
                               {{"All layers", measured, drawing, make_table(summary_fields, summary, true)},
                                {"Layer by layer", kLegend, {}, make_table(line_fields, lines, true)}}));
  }
  return kDone;
}

}  // namespace

Run add_kv(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CommandLine command(app, "kv", "Measure what coding keys and values does to attention on a real dump");
  command.add("dump", options->dumps, "Key-value dumps, format orthant-kv-1").required().type("DUMP");
  Argument methods =
      command.add("--method", options->methods, "A policy, e.g. \"K=turbo-mse:4 V=q8_0\"; may be repeated")
          .type("POLICY")
          .repeatable();
  command.add("--bits", options->bits, "Without --method: widths of turbo-mse on the keys")
      .type("LIST")
      .show_default()
      .excludes(methods);
  command.add("--layers", options->layers, "Layers of the model, e.g. 0,5-9; all when left out").type("LIST");
  command.add("--csv", options->csv, "Write the rows to this file as CSV").type("FILE");
  command.add("--html", options->html, "Write a page that needs no network").type("FILE");
  command.add("--svg", options->svg, "Draw KL against bits to this file (needs gnuplot)").type("FILE");
  add_common_options(command, options->common);
  command.footer(
      "Without --method, the keys are coded by turbo-mse at each width, matched (a map and a mean learnt from the\n"
      "first tokens of the dump itself) and plain side by side, and by q8_0, q4_0 and bf16 for comparison.\n" +
      std::string(kLegend) +
      "\n"
      "Example:  orthant kv data/gemma3-270m-512.safetensors --layers 0,5 --bits 2-4 --json kv.json");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
