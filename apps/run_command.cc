#include <CLI/CLI.hpp>
#include <exception>
#include <ostream>
#include <utility>

#include "check_arguments.h"
#include "command.h"
#include "orthant/core/error.h"
#include "orthant/core/version.h"

namespace orthant::apps {

std::string Invocation::text() const {
  std::string line = "orthant";
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && argument.find_first_of(" \t\"'$&|;<>()*?[]#~\\") == std::string::npos;
    line += plain ? " " + argument : " '" + argument + "'";
  }
  return line;
}

int run_command(const std::vector<std::string>& arguments, Streams streams) {
  CLI::App app("orthant: the referee for vector quantizers and compressed key-value caches");
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(1);
  app.footer("Start here:  orthant codebook --dim 128 --bits 4     (each command: --help)");

  std::vector<std::pair<CLI::App*, Run>> commands;
  const auto add = [&](const char* name, Run run) { commands.emplace_back(app.get_subcommand(name), std::move(run)); };
  add("audit", add_audit(app));
  add("bench", add_bench(app));
  add("bounds", add_bounds(app));
  add("calibrate", add_calibrate(app));
  add("codebook", add_codebook(app));
  add("info", add_info(app));
  add("kv", add_kv(app));
  add("verify", add_verify(app));

  try {
    require_known_command(app, arguments);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    for (const auto& [command, run] : commands) {
      if (!command->parsed()) continue;
      check_arguments(*command);
      return run(streams, Invocation{arguments});
    }
    return kUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error, streams.out, streams.err) == 0 ? kDone : kUsage;
  } catch (const InvalidArgument& error) {
    streams.err << "orthant: " << error.what() << '\n';
    return kUsage;
  } catch (const std::exception& error) {
    streams.err << "orthant: " << error.what() << '\n';
    return kBadInput;
  }
}

}  // namespace orthant::apps
