#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "claims.h"
#include "command.h"
#include "common_options.h"
#include "figures.h"
#include "league.h"
#include "number_range.h"
#include "orthant/core/error.h"
#include "workers.h"

namespace orthant::apps {
namespace {

struct Options {
  std::vector<std::string> what;
  std::optional<std::int64_t> dim;
  std::optional<std::string> bits;
  std::string until = "decided";
  std::optional<std::size_t> seeds;
  std::optional<std::size_t> keys;
  std::string html;
  ClaimsCommand claims;
  LeagueCommand league;
  CommonOptions common;
  std::vector<const CLI::Option*> not_of_claims;
  std::vector<const CLI::Option*> not_of_league;
  std::vector<const CLI::Option*> not_of_figures;
};

/// An option that would change nothing is refused, not ignored.
void require_unused(const std::vector<const CLI::Option*>& options, const char* what) {
  for (const CLI::Option* option : options) {
    if (option->count() > 0) throw InvalidArgument("verify: " + option->get_name() + " means nothing to " + what);
  }
}

std::vector<int> bits_of(const Options& options, const char* otherwise) {
  std::vector<int> bits;
  for (const std::int64_t b : number_list("--bits", options.bits.value_or(otherwise), 1, 8)) {
    bits.push_back(static_cast<int>(b));
  }
  return bits;
}

int run_claims(const Options& options, Streams streams, const Invocation& invocation) {
  require_unused(options.not_of_claims, "claims");
  if (options.until != "decided") {
    throw_invalid_argument("verify", "--until", '"' + options.until + '"', "decided");
  }
  ClaimsCommand command = options.claims;
  command.claims = options.what;
  command.dim = options.dim;
  command.bits = bits_of(options, "1-4");
  command.bits_text = options.bits.value_or("1-4");
  command.html = options.html;
  command.common = options.common;
  return run_claims_command(command, streams, invocation);
}

int run_league(const Options& options, Streams streams, const Invocation& invocation) {
  require_unused(options.not_of_league, "league");
  LeagueCommand command = options.league;
  command.input = options.claims.input;
  if (!command.input.empty() && options.dim) throw InvalidArgument("verify league: --input brings its own --dim");
  command.dim = options.dim.value_or(command.dim);
  command.bits = bits_of(options, "1-4");
  command.seeds = options.seeds.value_or(command.seeds);
  command.keys = options.keys.value_or(command.keys);
  command.html = options.html;
  command.common = options.common;
  return run_league_command(command, streams, invocation, *make_workers(options.common.threads));
}

int run_figures(const Options& options, Streams streams, const Invocation& invocation) {
  require_unused(options.not_of_figures, "figures");
  FiguresCommand command;
  command.dim = options.dim.value_or(command.dim);
  command.bits = bits_of(options, "1-5");
  command.seeds = options.seeds.value_or(command.seeds);
  command.keys = options.keys.value_or(command.keys);
  command.common = options.common;
  return run_figures_command(command, streams, invocation, *make_workers(options.common.threads));
}

int run(const Options& options, Streams streams, const Invocation& invocation) {
  for (const auto& [name, run_it] : {std::pair("league", &run_league), std::pair("figures", &run_figures)}) {
    if (std::find(options.what.begin(), options.what.end(), name) == options.what.end()) continue;
    if (options.what.size() > 1) throw InvalidArgument("verify: " + std::string(name) + " runs alone");
    return run_it(options, streams, invocation);
  }
  return run_claims(options, streams, invocation);
}

}  // namespace

Run add_verify(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("verify", "Test published claims on the quantizers that ship");
  command->add_option("claim", options->what,
                      "Claims or groups of them, by id; all when none is named; or: league; or: figures");
  CLI::Option* list = command->add_flag("--list", options->claims.list, "List claims with their sources and stop");
  command->add_option("--dim", options->dim, "Dimension d: 128; figures 1536")->check(number_within(8, 4096));
  command->add_option("--bits", options->bits, "Bits a coordinate: 1-4; figures 1-5")->type_name("LIST");
  CLI::Option* rotation =
      command->add_option("--rotation", options->claims.rotation, "Rotation of the claims made for Haar ones")
          ->capture_default_str();
  CLI::Option* input =
      command
          ->add_option(
              "--input", options->claims.input,
              "Rows of a tensor in place of random vectors: FILE.npy or FILE.safetensors:TENSOR; d is its last axis")
          ->type_name("FILE");
  CLI::Option* until =
      command->add_option("--until", options->until, "Run until every verdict is safe: decided")->capture_default_str();
  CLI::Option* trials =
      command->add_option("--trials", options->claims.trials, "A fixed number of trials for each experiment instead")
          ->check(number_within(std::uint64_t{1}, std::uint64_t{1} << 40))
          ->excludes(until);
  CLI::Option* error =
      command->add_option("--error", options->claims.error, "Probability that any verdict of the run is wrong")
          ->check(number_within(1e-12, 0.5))
          ->capture_default_str();
  CLI::Option* resume =
      command
          ->add_option("--resume", options->claims.resume, "Checkpoint: continued when there, written after each block")
          ->type_name("FILE");
  CLI::Option* html =
      command->add_option("--html", options->html, "Write a page that needs no network")->type_name("FILE");
  CLI::Option* svg =
      command->add_option("--svg", options->league.svg, "league: write PREFIX-distortion.svg and PREFIX-variance.svg")
          ->type_name("PREFIX");
  CLI::Option* seeds = command->add_option("--seeds", options->seeds, "Repetitions: league 10, figures 4")
                           ->check(number_within(1, 1000));
  CLI::Option* keys = command->add_option("--keys", options->keys, "Vectors: league 2000, figures 256")
                          ->check(number_within(1, 1000000));
  CLI::Option* queries = command->add_option("--queries", options->league.queries, "league: queries")
                             ->check(number_within(2, 100000))
                             ->capture_default_str();
  options->not_of_claims = {svg, seeds, keys, queries};
  options->not_of_league = {list, rotation, until, trials, error, resume};
  options->not_of_figures = options->not_of_league;
  options->not_of_figures.insert(options->not_of_figures.end(), {input, html, svg, queries});
  add_common_options(*command, options->common);
  command->footer(
      "Prints for each claim its target, the exact value where theory gives one, the measured value with an interval "
      "that\n"
      "is valid at every stopping time, and a verdict. Printed claims and their corrections are separate rows.\n"
      "Exit code: 0 every claim holds, 1 one is violated, 4 one is undecided.\n\n"
      "Examples:  orthant verify mse --bits 2,3\n"
      "           orthant verify qjl.tail-printed qjl.tail-exact --json tail.json\n"
      "           orthant verify league --dim 128 --bits 1-8 --html league.html\n"
      "           orthant verify figures --json figures.json\n"
      "           orthant verify mse pairs --input dump.safetensors:layers.0.keys\n"
      "           mpirun -n 4 orthant verify --resume run.json");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
