#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "audit.h"
#include "common_options.h"
#include "number_file.h"
#include "number_range.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/input_file.h"
#include "orthant/report/report.h"
#include "orthant/validation/codebook_audit.h"

namespace orthant::apps {
namespace {

using report::Column;
using report::Table;
using report::Type;
using validation::CodebookAudit;
using validation::CodebookTable;

struct Options {
  std::vector<std::string> files;
  std::vector<double> values;
  std::vector<double> thresholds;
  std::int64_t dim = -1;  ///< -1: the file's, or found from the table
  int bits = -1;
  CommonOptions common;
};

/// Any JSON with a list of numbers: ours, {"centroids": [...], "boundaries": [...], "dim": ..., "bits": ...}, or a
/// list.
CodebookTable from_json(const std::string& path) {
  constexpr std::size_t kLargestFile = std::size_t{16} << 20U;
  const nlohmann::json json = nlohmann::json::parse(read_file(path, kLargestFile), nullptr, false);
  if (json.is_discarded()) throw_invalid_input(path, "JSON", "a syntax error", "an object or a list");
  const auto list = [&](const nlohmann::json& value, const std::string& field) {
    if (!value.is_array()) throw_invalid_input(path, field, value.type_name(), "a list of numbers");
    std::vector<double> values;
    for (const auto& x : value) {
      if (!x.is_number()) throw_invalid_input(path, field, x.type_name(), "numbers only");
      values.push_back(x.get<double>());
    }
    return values;
  };
  const auto integer = [&](const std::string& field, std::int64_t most) {
    const nlohmann::json& value = json.at(field);
    const bool good =
        value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= static_cast<double>(most);
    if (!good)
      throw_invalid_input(path, field, value.dump().substr(0, 40), fmt::format("an integer from 0 to {}", most));
    return value.get<std::int64_t>();
  };
  if (json.is_array()) return {list(json, "list"), {}, {}, {}};
  if (!json.is_object() || !json.contains("centroids"))
    throw_invalid_input(path, "centroids", "nothing", "a list of numbers");
  CodebookTable table{list(json.at("centroids"), "centroids"), {}, {}, {}};
  if (json.contains("boundaries")) table.boundaries = list(json.at("boundaries"), "boundaries");
  if (json.contains("dim")) table.dim = integer("dim", 1'000'000'000);
  if (json.contains("bits")) table.bits = static_cast<int>(integer("bits", 64));
  return table;
}

CodebookTable from_file(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".json") return from_json(path);
  const NumberFile file = read_numbers(path);
  CodebookTable table;
  const auto column = std::find_if(file.header.begin(), file.header.end(),
                                   [](const std::string& name) { return name == "centroid" || name == "centroids"; });
  if (column == file.header.end()) {
    for (const auto& row : file.rows) table.centroids.insert(table.centroids.end(), row.begin(), row.end());
    return table;
  }
  const auto at = static_cast<std::size_t>(column - file.header.begin());
  const auto upper = std::find(file.header.begin(), file.header.end(), "upper_boundary");
  for (const auto& row : file.rows) {
    if (row.size() <= at) throw_invalid_input(path, "a row", fmt::format("{} cells", row.size()), "a centroid in each");
    table.centroids.push_back(row[at]);
    const auto t = static_cast<std::size_t>(upper - file.header.begin());
    if (upper != file.header.end() && row.size() > t) table.boundaries.push_back(row[t]);
  }
  return table;
}

std::string text_of(const std::string& name, const CodebookAudit& audit) {
  std::string text = fmt::format("{}\n", name);
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<24}{}\n", what, value);
  };
  if (!audit.written_as.empty()) {
    line("law", fmt::format("{}{}", audit.dim == 0 ? "N(0, 1)" : fmt::format("sphere, d = {}", audit.dim),
                            audit.dim_inferred ? "  (found from the table; say --dim to be sure)" : ""));
    line("bits", std::to_string(audit.bits));
    line("written as", audit.written_as);
    line("distortion", fmt::format("{:.9g}, optimum {:.9g}: {:+.4g} %", audit.distortion, audit.optimal_distortion,
                                   100 * audit.excess));
    line("centroid residual", fmt::format("{:.2e} standard deviations", audit.residual));
    line("largest level error",
         fmt::format("{:.2e} standard deviations, {:.1e} allowed", audit.largest_error, audit.tolerance));
  }
  for (const auto& finding : audit.findings) {
    line("FAULT", fmt::format("{}: {}", validation::to_string(finding.fault), finding.text));
  }
  line("verdict", audit.correct()
                      ? "correct: the optimum, within the rounding it is written in or single precision's"
                      : fmt::format("{} fault{}", audit.findings.size(), audit.findings.size() == 1 ? "" : "s"));
  return text;
}

/// Reports hold no infinity: what overflowed does not apply.
report::Value finite(double x) { return std::isfinite(x) ? report::Value(x) : report::Value(); }

int run(const Options& options, Streams streams, const Invocation& invocation) {
  if (options.files.empty() == options.values.empty()) {
    throw InvalidArgument("audit codebook: give FILE... or --values, one of the two");
  }
  if (!options.files.empty() && !options.thresholds.empty()) {
    throw InvalidArgument("audit codebook: --thresholds belongs to --values; a file brings its own");
  }
  std::vector<std::pair<std::string, CodebookTable>> tables;
  for (const std::string& path : options.files) {
    tables.emplace_back(path, from_file(path));
    const std::size_t levels = tables.back().second.centroids.size();
    if (levels == 0 || levels > validation::kMostLevels) {
      throw_invalid_input(path, "number of levels", std::to_string(levels),
                          fmt::format("1 to {}", validation::kMostLevels));
    }
  }
  if (!options.values.empty()) tables.emplace_back("values", CodebookTable{options.values, options.thresholds, {}, {}});

  Table rows({{"name", "name", Type::kText},
              {"dim", "d", Type::kInteger},
              {"bits", "b", Type::kInteger},
              {"distortion", "distortion", Type::kReal},
              {"optimal_distortion", "optimum", Type::kReal},
              {"residual_sigma", "residual", Type::kReal},
              {"best_scale", "best scale", Type::kReal},
              {"lloyd_sweeps", "sweeps", Type::kInteger},
              {"fault", "fault", Type::kText},
              {"text", "text", Type::kText}});
  bool faulty = false;
  for (auto& [name, table] : tables) {
    if (options.dim >= 0) table.dim = options.dim;
    if (options.bits >= 0) table.bits = options.bits;
    const CodebookAudit audit = validation::audit_codebook(table);
    streams.out << text_of(name, audit);
    faulty = faulty || !audit.correct();
    const auto add = [&](report::Value fault, report::Value text) {
      rows.add_row({name, audit.dim, std::int64_t{audit.bits}, finite(audit.distortion), audit.optimal_distortion,
                    finite(audit.residual), finite(audit.best_scale),
                    audit.lloyd_sweeps ? report::Value(std::int64_t{*audit.lloyd_sweeps}) : report::Value(),
                    std::move(fault), std::move(text)});
    };
    if (audit.correct()) add(report::Value(), report::Value());
    for (const auto& finding : audit.findings) add(validation::to_string(finding.fault), finding.text);
  }
  if (!options.common.json.empty()) {
    write_file(options.common.json, report::to_json(provenance("audit codebook", options.common, invocation), rows));
  }
  return faulty ? kViolated : kDone;
}

}  // namespace

Run add_audit_codebook(CLI::App& audit) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = audit.add_subcommand("codebook", "Name what is wrong with a table of quantizer levels");
  command->add_option("files", options->files, "codebook file (JSON), .npy, or a text or CSV list of levels");
  command->add_option("--values", options->values, "the levels themselves")->delimiter(',');
  command->add_option("--thresholds", options->thresholds, "their thresholds, if they are not midpoints")
      ->delimiter(',');
  command
      ->add_option("--dim", options->dim,
                   "d of the unit vectors it is used on; 0: N(0, 1); default: the file's, or found")
      ->check(number_within(std::int64_t{0}, std::int64_t{1'000'000'000}));
  command->add_option("--bits", options->bits, "default: from the number of levels")->check(number_within(0, 10));
  add_common_options(*command, options->common);
  command->footer(
      "Exit code 0: the optimum, within the rounding of its format; 1: faults; 3: not a table.\n"
      "Example:  orthant audit codebook table.csv --dim 128\n"
      "          orthant audit codebook --dim 128 --values=-0.133,-0.04,0.04,0.133");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
