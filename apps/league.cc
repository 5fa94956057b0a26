#include "league.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <utility>

#include "key_rows.h"
#include "orthant/core/atomic_file.h"
#include "orthant/report/html.h"
#include "orthant/report/plot.h"
#include "orthant/validation/league.h"
#include "progress.h"

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using validation::LeagueRow;

Table table_of(const std::vector<LeagueRow>& rows) {
  Table table({{"method", "method", Type::kText},
               {"nominal_bits", "b", Type::kInteger},
               {"true_bits", "true bits", Type::kReal, 5},
               {"distortion", "distortion", Type::kReal},
               {"distortion_sd", "sd", Type::kReal, 2},
               {"converse", "converse", Type::kReal},
               {"slope", "slope", Type::kReal, 5},
               {"slope_sd", "sd", Type::kReal, 2},
               {"variance_times_d", "d Var", Type::kReal},
               {"variance_times_d_sd", "sd", Type::kReal, 2},
               {"variance_floor_times_d", "floor", Type::kReal},
               {"error_999", "99.9 %", Type::kReal},
               {"recall_1_at_1", "recall@1", Type::kReal, 3},
               {"recall_1_at_1_sd", "sd", Type::kReal, 2},
               {"recall_1_at_10", "@10", Type::kReal, 3},
               {"recall_1_at_10_sd", "sd", Type::kReal, 2}});
  for (const LeagueRow& r : rows) {
    table.add_row({r.method, std::int64_t{r.nominal_bits}, r.true_bits, r.distortion.mean, r.distortion.deviation,
                   r.converse, r.slope.mean, r.slope.deviation, r.variance.mean, r.variance.deviation, r.variance_floor,
                   r.error_999.mean, r.recall_1.mean, r.recall_1.deviation, r.recall_10.mean, r.recall_10.deviation});
  }
  return table;
}

/// Apart from the rows, which are the same bytes every time.
Table times_of(const std::vector<LeagueRow>& rows) {
  Table table({{"method", "method", Type::kText}, {"encode_ns", "encode ns", Type::kReal, 3}});
  for (const LeagueRow& r : rows) table.add_row({r.method, r.encode_ns});
  return table;
}

/// "turbo-prod:3,sketch=orthogonal" -> "turbo-prod,sketch=orthogonal": one line a method over its bits. What all or
/// most have in common is left out.
std::string family(const std::string& method) {
  const std::size_t colon = method.find(':');
  const std::size_t comma = std::min(method.find(','), method.size());
  std::string name = method.substr(0, std::min(colon, comma));
  for (std::size_t at = comma; at < method.size();) {
    const std::size_t next = std::min(method.find(',', at + 1), method.size());
    const std::string option = method.substr(at, next - at);
    if (option.starts_with(",sketch") || option.starts_with(",scale")) name += option;
    at = next;
  }
  return name;
}

report::Plot plot_of(const std::vector<LeagueRow>& rows, std::size_t dim, bool variance) {
  report::Plot plot;
  plot.title = fmt::format("{}, d = {}", variance ? "Inner products" : "Distortion", dim);
  plot.x_label = "true bits a coordinate";
  plot.y_label = variance ? "d Var of the estimate" : "|x - x_hat|^2";
  plot.log_y = true;
  std::map<std::string, std::size_t> index;
  report::Series limit{variance ? "floor of unbiased codes" : "converse (no code below)", {}, true, true};
  for (const LeagueRow& r : rows) {
    const std::string name = family(r.method);
    if (index.try_emplace(name, plot.series.size()).second) plot.series.push_back({name, {}, true});
    plot.series[index[name]].points.emplace_back(r.true_bits, variance ? r.variance.mean : r.distortion.mean);
    limit.points.emplace_back(r.true_bits, variance ? r.variance_floor : r.converse);
  }
  std::sort(limit.points.begin(), limit.points.end());
  plot.series.push_back(limit);
  return plot;
}

}  // namespace

int run_league_command(const LeagueCommand& command, Streams streams, const Invocation& invocation,
                       montecarlo::Workers& workers) {
  validation::LeagueOptions options;
  options.dim = static_cast<std::size_t>(command.dim);
  options.bits = command.bits;
  options.seed = command.common.seed;
  options.seeds = command.seeds;
  options.keys = command.keys;
  options.queries = command.queries;
  std::vector<report::Input> inputs;
  if (!command.input.empty()) {
    KeyRows vectors = read_key_rows(command.input);
    options.dim = vectors.rows.cols();
    options.vectors = std::make_shared<const Matrix<float>>(std::move(vectors.rows));
    inputs.push_back(report::describe_input(vectors.path));
  }
  std::vector<LeagueRow> rows;
  {
    Progress progress(streams, "league");
    rows = run_league(options, workers, [&](std::size_t done, std::size_t all) { progress.show(done, all); });
  }
  if (!workers.root()) return kDone;

  const Table table = table_of(rows);
  streams.out << report::to_text(table);
  report::Provenance from = provenance("league", command.common, invocation);
  from.inputs = inputs;
  from.settings = {{"dim", static_cast<std::int64_t>(options.dim)},
                   {"seeds", static_cast<std::int64_t>(command.seeds)},
                   {"keys", static_cast<std::int64_t>(command.keys)},
                   {"queries", static_cast<std::int64_t>(command.queries)}};
  if (!command.common.json.empty()) {
    write_file(command.common.json, report::to_json(from, table, {{"times", times_of(rows)}}));
  }
  if (command.svg.empty() && command.html.empty()) return kDone;
  const auto distortion = report::to_svg(plot_of(rows, options.dim, false));
  const auto variance = report::to_svg(plot_of(rows, options.dim, true));
  if (!distortion || !variance) streams.err << "orthant: no gnuplot found: plots are left out\n";
  if (!command.svg.empty() && distortion && variance) {
    write_file(command.svg + "-distortion.svg", *distortion);
    write_file(command.svg + "-variance.svg", *variance);
  }
  if (!command.html.empty()) {
    write_file(
        command.html,
        report::to_html(
            fmt::format("League of quantizers, d = {}", options.dim), from,
            {{"Rate and distortion",
              (inputs.empty() ? std::string("Uniform unit vectors") : "Rows of " + command.input) +
                  "; every method on the same vectors and queries, at the bits its "
                  "packed bytes really take.",
              distortion,
              {}},
             {"Inner products", "", variance, {}},
             {"All numbers", "Means over seeds, and standard deviations between them.", {}, table},
             {"Encoding time", "Nanoseconds a vector, one thread; differs from run to run.", {}, times_of(rows)}}));
  }
  return kDone;
}

}  // namespace orthant::apps
