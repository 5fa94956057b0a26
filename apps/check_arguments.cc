#include "check_arguments.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>

#include "orthant/core/error.h"

namespace orthant::apps {
namespace {

namespace fs = std::filesystem;

struct Given {
  std::string option;
  std::string value;
};

/// Values given on the command line: to options that write a file, and to all others.
struct GivenValues {
  std::vector<Given> written;
  std::vector<Given> others;
};

/// Options of whole numbers are typed N in the help, or UINT by default; a range stands behind a colon.
bool is_whole_number(const std::string& type) {
  const std::string name = type.substr(0, type.find(':'));
  return name == "N" || name == "UINT";
}

void require_unsigned(const Given& given) {
  std::uint64_t value = 0;
  const char* end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, value);
  if (error == std::errc() && stop == end) return;
  throw_invalid_argument(given.option, "number", given.value, "a whole number from 0 to 18446744073709551615");
}

void collect(const CLI::App& command, GivenValues& values) {
  constexpr std::array kWritten = {"--json", "--html", "--svg", "--csv", "--out"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    for (const std::string& value : option->results()) {
      const Given given{name, value};
      if (value.empty()) throw_invalid_argument(name, "value", "nothing", "one, or the option left out");
      if (is_whole_number(option->get_type_name())) require_unsigned(given);
      const bool written = std::find(kWritten.begin(), kWritten.end(), name) != kWritten.end();
      (written ? values.written : values.others).push_back(given);
    }
  }
  for (const CLI::App* sub : command.get_subcommands()) collect(*sub, values);
}

/// A regular file that exists; devices and pipes may be read and written at once.
bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (is_file(a) && is_file(b)) return fs::equivalent(a, b, ignored);
  return !fs::exists(a, ignored) && fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

void require_writable(const Given& given) {
  std::error_code ignored;
  const fs::path path = given.value;
  if (fs::is_directory(path, ignored)) throw_invalid_argument(given.option, given.value, "a directory", "a file name");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) {
    throw_invalid_argument(given.option, given.value, "no folder " + folder.string(), "an existing folder");
  }
  if (!fs::exists(path, ignored) && access(folder.c_str(), W_OK) != 0) {
    throw_invalid_argument(given.option, given.value, "a folder that cannot be written", "a folder with write access");
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return joined(names);
}

std::string names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
    names.push_back(option->get_name());
  }
  return joined(names);
}

}  // namespace

void check_arguments(const CLI::App& command) {
  GivenValues values;
  collect(command, values);
  for (std::size_t i = 0; i < values.written.size(); ++i) {
    const Given& out = values.written[i];
    require_writable(out);
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_file(out.value, values.written[j].value)) continue;
      throw_invalid_argument(out.option, out.value, "the file of " + values.written[j].option, "a file of its own");
    }
    for (const Given& other : values.others) {
      if (!is_file(other.value) || !same_file(out.value, other.value)) continue;
      throw_invalid_argument(out.option, out.value, "a file that the command reads", "another file: it would be lost");
    }
  }
}

void require_known_names(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& argument : arguments) {
    const auto subs = command->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == argument; });
    const bool first = &argument == &arguments.front();
    if (!subs.empty()) {
      command = subs.front();
    } else if (first && !argument.starts_with("-")) {
      throw_invalid_argument("orthant", "command", argument, names_of_commands(app));
    } else if (argument.starts_with("--") && argument.size() > 2) {
      const std::string name = argument.substr(0, argument.find('='));
      if (command->get_option_no_throw(name) != nullptr) continue;
      throw_invalid_argument("orthant" + (command == &app ? "" : " " + command->get_name()), "option", name,
                             names_of_options(*command));
    }
  }
}

}  // namespace orthant::apps
