#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>

#include "command.h"
#include "orthant/cache/target.h"
#include "orthant/core/parallel_for.h"
#include "orthant/core/version.h"
#include "orthant/report/report.h"

namespace orthant::apps {

Run add_info(CLI::App& app) {
  app.add_subcommand("info", "Print version, processor, threads and libraries; quote it with a report")
      ->footer("Example:  orthant info");
  return [](Streams streams, const Invocation&) {
    std::string targets;
    for (const std::string& target : cache::usable_targets()) targets += ' ' + target;
    const auto line = [&](std::string_view name, std::string_view text) {
      streams.out << fmt::format("{:<10}{}\n", name, text);
    };
    line("orthant", version());
    line("cpu", report::processor_name());
    line("threads", std::to_string(default_threads()));
    line("target", fmt::format("{} (of{}; ORTHANT_TARGET chooses)", cache::chosen_target(), targets));
    line("compiler", __VERSION__);
    line("CLI11", CLI11_VERSION);
    for (const auto& [name, text] : dependency_versions()) line(name, text);
    return kDone;
  };
}

}  // namespace orthant::apps
