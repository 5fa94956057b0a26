#include <fmt/format.h>

#include <CLI/Version.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "common_options.h"
#include "orthant/cache/target.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/parallel_for.h"
#include "orthant/core/version.h"
#include "orthant/report/report.h"

namespace orthant::apps {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts facts() {
  std::string targets;
  for (const std::string& target : cache::usable_targets()) targets += ' ' + target;
  Facts list = {{"orthant", std::string(version())},
                {"cpu", report::processor_name()},
                {"threads", std::to_string(default_threads())},
                {"target", fmt::format("{} (of{}; ORTHANT_TARGET chooses)", cache::chosen_target(), targets)},
                {"compiler", __VERSION__},
                {"CLI11", CLI11_VERSION}};
  for (const auto& [name, text] : dependency_versions()) list.emplace_back(name, text);
  return list;
}

int run(const CommonOptions& options, Streams streams, const Invocation& invocation) {
  using report::Type;
  report::Table table({{"name", "name", Type::kText}, {"value", "value", Type::kText}});
  for (const auto& [name, text] : facts()) {
    streams.out << fmt::format("{:<10}{}\n", name, text);
    table.add_row({name, text});
  }
  if (!options.json.empty()) {
    write_file(options.json, report::to_json(provenance("info", options, invocation), table));
  }
  return kDone;
}

}  // namespace

Run add_info(CLI::App& app) {
  const auto options = std::make_shared<CommonOptions>();
  CommandLine command(app, "info", "Print version, processor, threads and libraries; quote it with a report");
  command.add("--json", options->json, "Write the same to this file as JSON").type("FILE");
  command.footer("Example:  orthant info");
  return [options](Streams streams, const Invocation& invocation) { return run(*options, streams, invocation); };
}

}  // namespace orthant::apps
