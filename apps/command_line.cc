#include "command_line.h"

#include <CLI/CLI.hpp>

#include "number_range.h"

namespace orthant::apps {

Argument& Argument::type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Argument& Argument::within(std::int64_t low, std::int64_t high) {
  option_->check(number_within(low, high).description(std::to_string(low) + " to " + std::to_string(high)));
  return *this;
}

Argument& Argument::one_of(const std::vector<std::string>& names) {
  option_->check(CLI::IsMember(names));
  return *this;
}

Argument& Argument::required() {
  option_->required();
  return *this;
}

Argument& Argument::show_default() {
  option_->capture_default_str();
  return *this;
}

Argument& Argument::excludes(const Argument& other) {
  option_->excludes(other.option_);
  return *this;
}

Argument& Argument::repeatable() {
  option_->take_all()->allow_extra_args(false);
  return *this;
}

CommandLine::CommandLine(CLI::App& parent, const std::string& name, const std::string& description)
    : app_(parent.add_subcommand(name, description)) {}

template <class T>
Argument CommandLine::add(const std::string& name, T& value, const std::string& description) {
  return Argument(app_->add_option(name, value, description));
}
template Argument CommandLine::add(const std::string&, std::string&, const std::string&);
template Argument CommandLine::add(const std::string&, int&, const std::string&);
template Argument CommandLine::add(const std::string&, std::int64_t&, const std::string&);
template Argument CommandLine::add(const std::string&, std::uint64_t&, const std::string&);
template Argument CommandLine::add(const std::string&, double&, const std::string&);
template Argument CommandLine::add(const std::string&, std::vector<std::string>&, const std::string&);

void CommandLine::footer(const std::string& text) { app_->footer(text); }

std::vector<std::string> CommandLine::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() > 0) names.push_back(option->get_name());
  }
  return names;
}

}  // namespace orthant::apps
