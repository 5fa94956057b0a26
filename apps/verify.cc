#include "orthant/validation/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <ostream>

#include "command.h"
#include "common_options.h"
#include "league.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/report/html.h"
#include "orthant/validation/claims.h"
#include "workers.h"

namespace orthant::apps {
namespace {

using report::Table;
using report::Type;
using report::Value;
using validation::Claim;
using validation::ClaimResult;
using validation::Relation;
using validation::Study;
using validation::Verdict;

struct Options {
  std::vector<std::string> claims;
  bool list = false;
  std::int64_t dim = 128;
  std::string bits = "1-4";
  std::string rotation = "haar";
  std::string until = "decided";
  std::uint64_t trials = 0;
  double error = 1e-3;
  std::string resume;
  std::string html;
  LeagueCommand league;
  CommonOptions common;
};

std::string target_text(const Claim& claim) {
  switch (claim.relation) {
    case Relation::kAtMost:
      return fmt::format("<= {:.4g}", claim.target);
    case Relation::kAtLeast:
      return fmt::format(">= {:.4g}", claim.target);
    case Relation::kEquals:
      return fmt::format("{:.4g} +- {:.2g}", claim.target, claim.margin);
  }
  return {};
}

/// A missing end of an interval is no number: null in reports.
Value finite(double x) { return std::isfinite(x) ? Value(x) : Value(); }

Table list_of(const std::vector<Study>& studies) {
  Table table({{"id", "claim", Type::kText},
               {"form", "form", Type::kText},
               {"statement", "statement", Type::kText},
               {"source", "source", Type::kText},
               {"valid_for", "valid for", Type::kText}});
  for (const Study& study : studies) {
    for (const Claim& claim : study.claims) {
      table.add_row({claim.id, std::string(to_string(claim.form)), claim.statement, claim.source, claim.valid_for});
    }
  }
  return table;
}

Table short_table(const std::vector<ClaimResult>& results) {
  Table table({{"verdict", "verdict", Type::kText},
               {"id", "claim", Type::kText},
               {"form", "form", Type::kText},
               {"target", "target", Type::kText},
               {"exact", "exact", Type::kReal},
               {"measured", "measured", Type::kReal},
               {"interval", "interval", Type::kText},
               {"trials", "trials", Type::kInteger},
               {"statement", "statement", Type::kText}});
  for (const ClaimResult& r : results) {
    table.add_row({std::string(to_string(r.verdict)), r.claim.id, std::string(to_string(r.claim.form)),
                   target_text(r.claim), r.claim.exact ? Value(*r.claim.exact) : Value(), finite(r.measured),
                   fmt::format("[{:.4g}, {:.4g}]", r.interval.lower, r.interval.upper),
                   static_cast<std::int64_t>(r.trials), r.claim.statement});
  }
  return table;
}

Table full_table(const std::vector<ClaimResult>& results) {
  Table table({{"id", "claim", Type::kText},
               {"verdict", "verdict", Type::kText},
               {"form", "form", Type::kText},
               {"statement", "statement", Type::kText},
               {"source", "source", Type::kText},
               {"valid_for", "valid for", Type::kText},
               {"relation", "relation", Type::kText},
               {"target", "target", Type::kReal},
               {"margin", "margin", Type::kReal},
               {"exact", "exact", Type::kReal},
               {"measured", "measured", Type::kReal},
               {"lower", "lower", Type::kReal},
               {"upper", "upper", Type::kReal},
               {"interval", "interval", Type::kText},
               {"trials", "trials", Type::kInteger}});
  for (const ClaimResult& r : results) {
    const Claim& c = r.claim;
    const std::string relation = c.relation == Relation::kAtMost    ? "at most"
                                 : c.relation == Relation::kAtLeast ? "at least"
                                                                    : "equals";
    table.add_row({c.id, std::string(to_string(r.verdict)), std::string(to_string(c.form)), c.statement, c.source,
                   c.valid_for, relation, c.target, c.margin, c.exact ? Value(*c.exact) : Value(), finite(r.measured),
                   finite(r.interval.lower), finite(r.interval.upper), r.interval_kind,
                   static_cast<std::int64_t>(r.trials)});
  }
  return table;
}

std::size_t count(const std::vector<ClaimResult>& results, Verdict verdict) {
  std::size_t n = 0;
  for (const ClaimResult& r : results) n += r.verdict == verdict ? 1U : 0U;
  return n;
}

/// "study 12800 trials, 5400/s, 3 of 7 decided" on one line of a terminal.
class ProgressLine {
 public:
  ProgressLine(std::ostream& err, std::uint64_t budget) : err_(err), budget_(budget) {}
  ~ProgressLine() {
    if (!study_.empty()) err_ << "\r\x1b[K" << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& study, std::uint64_t trials, std::size_t decided, std::size_t claims) {
    const auto now = std::chrono::steady_clock::now();
    if (study != study_) {
      study_ = study;
      start_ = now;
      first_ = trials;
    }
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = seconds > 0 ? static_cast<double>(trials - first_) / seconds : 0;
    err_ << "\r\x1b[K"
         << fmt::format("{}: {} trials, {:.0f}/s, {} of {} decided", study, trials, rate, decided, claims);
    if (budget_ > 0 && rate > 0) err_ << fmt::format(", {:.0f} s left", static_cast<double>(budget_ - trials) / rate);
    err_ << std::flush;
  }

 private:
  std::ostream& err_;
  std::uint64_t budget_;
  std::string study_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t first_ = 0;
};

int run(const Options& options, Streams streams, const Invocation& invocation) {
  if (options.until != "decided") {
    throw_invalid_argument("verify", "--until", '"' + options.until + '"', "decided");
  }
  std::vector<int> bits;
  for (const std::int64_t b : number_list("--bits", options.bits, 1, 8)) bits.push_back(static_cast<int>(b));
  if (options.claims == std::vector<std::string>{"league"}) {
    LeagueCommand league = options.league;
    league.dim = options.dim;
    league.bits = bits;
    league.html = options.html;
    league.common = options.common;
    const std::unique_ptr<montecarlo::Workers> workers = make_workers(options.common.threads);
    return run_league_command(league, streams, invocation, *workers);
  }
  validation::ClaimOptions claims;
  claims.dim = options.dim;
  claims.bits = bits;
  claims.seed = options.common.seed;
  claims.rotation = options.rotation;
  const std::vector<Study> studies = select_claims(validation::claim_registry(claims), options.claims);
  if (options.list) {
    streams.out << report::to_text(list_of(studies));
    return kDone;
  }

  const std::unique_ptr<montecarlo::Workers> workers = make_workers(options.common.threads);
  validation::VerifyOptions verify;
  verify.seed = options.common.seed;
  verify.family_error = options.error;
  if (options.trials > 0) verify.trials = options.trials;
  verify.resume = options.resume;
  verify.key = recorded_command(invocation);
  std::vector<ClaimResult> results;
  {
    ProgressLine progress(streams.err, options.trials);
    if (streams.err_is_terminal) {
      verify.progress = [&](const std::string& study, std::uint64_t trials, std::size_t decided, std::size_t all) {
        progress.show(study, trials, decided, all);
      };
    }
    results = validation::verify(studies, verify, *workers);
  }
  const std::size_t violated = count(results, Verdict::kViolated);
  const std::size_t undecided = count(results, Verdict::kUndecided);
  if (workers->root()) {
    streams.out << report::to_text(short_table(results));
    const std::string summary = fmt::format(
        "{} claims: {} hold, {} violated, {} undecided. All verdicts are right together with probability {:g} or "
        "more.\n",
        results.size(), count(results, Verdict::kHolds), violated, undecided, 1 - options.error);
    streams.out << '\n' << summary << '\n';
    if (!options.common.json.empty() || !options.html.empty()) {
      report::Provenance from = provenance("verify", options.common, invocation);
      from.settings = {{"dim", options.dim},
                       {"bits", options.bits},
                       {"rotation", options.rotation},
                       {"family_error", options.error},
                       {"trials", options.trials > 0 ? Value(static_cast<std::int64_t>(options.trials)) : Value()}};
      if (!options.common.json.empty()) write_file(options.common.json, report::to_json(from, full_table(results)));
      if (!options.html.empty()) {
        write_file(options.html, report::to_html("Published claims, tested", from,
                                                 {{"Verdicts", summary, {}, short_table(results)},
                                                  {"Sources and intervals", "", {}, full_table(results)}}));
      }
    }
  }
  if (violated > 0) return kViolated;
  return undecided > 0 ? kUndecided : kDone;
}

}  // namespace

Run add_verify(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("verify", "Test published claims on the quantizers that ship");
  command->add_option("claim", options->claims, "Claims or groups of them, by id; all when none is named; or: league");
  command->add_flag("--list", options->list, "List claims with their sources and stop");
  command->add_option("--dim", options->dim, "Dimension d")->check(CLI::Range(8, 4096))->capture_default_str();
  command->add_option("--bits", options->bits, "Bits a coordinate")->type_name("LIST")->capture_default_str();
  command->add_option("--rotation", options->rotation, "Rotation of the claims made for Haar ones")
      ->capture_default_str();
  CLI::Option* until =
      command->add_option("--until", options->until, "Run until every verdict is safe: decided")->capture_default_str();
  command->add_option("--trials", options->trials, "A fixed number of trials for each experiment instead")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->excludes(until);
  command->add_option("--error", options->error, "Probability that any verdict of the run is wrong")
      ->check(CLI::Range(1e-12, 0.5))
      ->capture_default_str();
  command->add_option("--resume", options->resume, "Checkpoint: continued when there, written after each block")
      ->type_name("FILE");
  command->add_option("--html", options->html, "Write a page that needs no network")->type_name("FILE");
  command->add_option("--svg", options->league.svg, "league: write PREFIX-distortion.svg and PREFIX-variance.svg")
      ->type_name("PREFIX");
  command->add_option("--seeds", options->league.seeds, "league: repetitions")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--keys", options->league.keys, "league: vectors")
      ->check(CLI::Range(10, 1000000))
      ->capture_default_str();
  command->add_option("--queries", options->league.queries, "league: queries")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  add_common_options(*command, options->common);
  command->footer(
      "Prints for each claim its target, the exact value where theory gives one, the measured value with an interval "
      "that\n"
      "is valid at every stopping time, and a verdict. Printed claims and their corrections are separate rows.\n"
      "Exit code: 0 every claim holds, 1 one is violated, 4 one is undecided.\n\n"
      "Examples:  orthant verify mse --bits 2,3\n"
      "           orthant verify qjl.tail-printed qjl.tail-exact --json tail.json\n"
      "           orthant verify league --dim 128 --bits 1-8 --html league.html\n"
      "           mpirun -n 4 orthant verify --resume run.json");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
