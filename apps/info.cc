#include <CLI/CLI.hpp>
#include <ostream>
#include <string>

#include "command.h"
#include "orthant/cache/target.h"
#include "orthant/core/parallel_for.h"
#include "orthant/core/version.h"

namespace orthant::apps {

Run add_info(CLI::App& app) {
  app.add_subcommand("info", "Print version, threads and build settings; quote it in reports")
      ->footer("Example:  orthant info");
  return [](Streams streams, const Invocation&) {
    streams.out << "orthant   " << version() << '\n';
    streams.out << "compiler  " << __VERSION__ << '\n';
    streams.out << "threads   " << default_threads() << '\n';
    streams.out << "target    " << cache::chosen_target() << " (of";
    for (const std::string& target : cache::usable_targets()) streams.out << ' ' << target;
    streams.out << ")\n";
    return kDone;
  };
}

}  // namespace orthant::apps
