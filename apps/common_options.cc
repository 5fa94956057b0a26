#include "common_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "orthant/cache/target.h"
#include "orthant/core/error.h"

namespace orthant::apps {

void add_common_options(CLI::App& app, CommonOptions& options) {
  app.add_option("--json", options.json, "Write the report to this file as JSON")->type_name("FILE");
  app.add_option("--seed", options.seed, "Seed of everything random")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads, 0 for all; results do not depend on it")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

std::string recorded_command(const Invocation& invocation) {
  constexpr std::array kLeftOut = {"--json", "--threads", "--html", "--svg", "--csv", "--out", "--resume"};
  Invocation kept;
  for (std::size_t i = 0; i < invocation.arguments.size(); ++i) {
    const std::string& argument = invocation.arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    if (std::find(kLeftOut.begin(), kLeftOut.end(), name) == kLeftOut.end()) {
      kept.arguments.push_back(argument);
    } else if (name.size() == argument.size()) {
      ++i;  // its value is the next argument
    }
  }
  return kept.text();
}

report::Provenance provenance(std::string_view kind, const CommonOptions& options, const Invocation& invocation) {
  report::Provenance p;
  p.kind = kind;
  p.command = recorded_command(invocation);
  p.seed = options.seed;
  p.target = cache::chosen_target();
  return p;
}

std::vector<std::int64_t> number_list(std::string_view option, std::string_view text, std::int64_t low,
                                      std::int64_t high) {
  const auto refuse = [&] {
    throw_invalid_argument(
        option, "list", '"' + std::string(text) + '"',
        "numbers of " + std::to_string(low) + " to " + std::to_string(high) + ", as in 64,128 or 1-8");
  };
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < low || value > high) refuse();
    return value;
  };
  std::vector<std::int64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t dash = part.find('-', 1);
    const std::int64_t first = number(part.substr(0, dash));
    const std::int64_t last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (last < first || last - first > 10000) refuse();
    for (std::int64_t value = first; value <= last; ++value) {
      if (std::find(numbers.begin(), numbers.end(), value) == numbers.end()) numbers.push_back(value);
    }
    begin = end + 1;
  }
  return numbers;
}

}  // namespace orthant::apps
