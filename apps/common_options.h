#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "orthant/report/report.h"

namespace orthant::apps {

/// What every sub-command takes.
struct CommonOptions {
  std::string json;  ///< empty: no report
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: all
};

/// Adds --json FILE and --seed N: for commands that run in one thread by their nature.
void add_report_options(CommandLine command, CommonOptions& options);
/// Adds --json FILE, --seed N and --threads N.
void add_common_options(CommandLine command, CommonOptions& options);

/// The command line without what cannot change a result: --threads and the names of files that are written or resumed
/// (--json, --html, --svg, --csv, --out, --resume). Reports hold this one.
std::string recorded_command(const Invocation& invocation);

/// Provenance of a report: kind, recorded_command, seed, chosen target.
report::Provenance provenance(std::string_view kind, const CommonOptions& options, const Invocation& invocation);

/// "64,128", "1-8" or "1-3,8" as numbers in the order given, without repeats. Throws InvalidArgument naming `option`
/// for anything else and for numbers outside [low, high].
std::vector<std::int64_t> number_list(std::string_view option, std::string_view text, std::int64_t low,
                                      std::int64_t high);

}  // namespace orthant::apps
