#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <new>
#include <ostream>
#include <utility>

#include "check_arguments.h"
#include "command.h"
#include "orthant/core/error.h"
#include "orthant/core/printable.h"
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

namespace {

/// Usage lines name positional arguments as the help does: "orthant kv [OPTIONS] DUMP...".
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    std::string usage = option->get_type_name();
    if (usage == "TEXT") {  // of its own it has only its name
      usage = option->get_name();
      std::transform(usage.begin(), usage.end(), usage.begin(), [](unsigned char c) { return std::toupper(c); });
    }
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) usage += "...";
    return option->get_required() ? usage : "[" + usage + "]";
  }
};

/// The command that the arguments name, for "orthant kv --help".
std::string named_command(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* command : app.get_subcommands()) name += ' ' + named_command(*command);
  return name;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, Streams streams) {
  CLI::App app("orthant: the referee for vector quantizers and compressed key-value caches", "orthant");
  app.formatter(std::make_shared<UsageFormatter>());
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

  if (arguments.empty()) {
    streams.err << app.help();
    return kUsage;
  }
  const auto fail = [&](const std::exception& error, int code) {
    streams.err << "orthant: " << printable(error.what()) << '\n';
    return code;
  };
  try {
    require_known_names(app, arguments);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    for (const auto& [command, run] : commands) {
      if (!command->parsed()) continue;
      check_arguments(*command);
      return run(streams, Invocation{arguments});
    }
    return kUsage;
  } catch (const CLI::Success& request) {  // --help or --version
    return app.exit(request, streams.out, streams.err);
  } catch (const CLI::ParseError& error) {
    fail(error, kUsage);
    streams.err << named_command(app) << " --help tells more\n";
    return kUsage;
  } catch (const InvalidArgument& error) {
    return fail(error, kUsage);
  } catch (const std::bad_alloc&) {
    streams.err << "orthant: not enough memory for what was asked\n";
    return kBadInput;
  } catch (const std::exception& error) {
    return fail(error, kBadInput);
  }
}

}  // namespace orthant::apps
