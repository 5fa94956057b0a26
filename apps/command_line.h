#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace orthant::apps {

/// Sub-commands describe their options through this; command_line.cc alone compiles the parser behind it, whose header
/// costs a source that includes it four seconds.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  /// What the help calls the value: FILE, LIST; N for whole numbers from 0 on, which are checked (check_arguments.h).
  Argument& type(const std::string& name);
  Argument& within(std::int64_t low, std::int64_t high);
  Argument& one_of(const std::vector<std::string>& names);
  Argument& required();
  /// The help shows the value that the variable has now.
  Argument& show_default();
  Argument& excludes(const Argument& other);
  /// May be repeated, each time with one value: what follows it is not swallowed.
  Argument& repeatable();

 private:
  CLI::Option* option_;
};

class CommandLine {
 public:
  /// Adds a sub-command to `parent`.
  CommandLine(CLI::App& parent, const std::string& name, const std::string& description);
  CommandLine(CLI::App& app) : app_(&app) {}  // NOLINT(google-explicit-constructor): one is the other

  /// "--name", or "name" for a positional argument. T: std::string, int, std::int64_t, std::uint64_t, double or
  /// std::vector<std::string>.
  template <class T>
  Argument add(const std::string& name, T& value, const std::string& description);
  void footer(const std::string& text);

  /// Names of the options on the parsed command line.
  std::vector<std::string> given() const;

 private:
  CLI::App* app_;
};

}  // namespace orthant::apps
