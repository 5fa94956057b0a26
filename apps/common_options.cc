#include "common_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "orthant/cache/target.h"
#include "orthant/core/error.h"

namespace orthant::apps {

void add_report_options(CommandLine command, CommonOptions& options) {
  command.add("--json", options.json, "Write the report to this file as JSON").type("FILE");
  command.add("--seed", options.seed, "Seed of everything random").type("N").show_default();
}

void add_common_options(CommandLine command, CommonOptions& options) {
  add_report_options(command, options);
  command.add("--threads", options.threads, "Threads, 0 for all; results do not depend on it")
      .type("N")
      .within(0, 4096)
      .show_default();
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
  constexpr std::int64_t kLongestRange = 10000;
  const auto quoted = [](std::string_view item) { return '"' + std::string(item) + '"'; };
  const auto number = [&](std::string_view part, std::string_view item) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool whole = end == part.data() + part.size() && error != std::errc::invalid_argument;
    if (!whole) throw_invalid_argument(option, "item", quoted(item), "a whole number or a range, as in 64,128 or 1-8");
    if (error != std::errc() || value < low || value > high) {
      throw_invalid_argument(option, "number", part, std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
  };
  std::vector<std::int64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t dash = item.find('-', 1);
    const std::int64_t first = number(item.substr(0, dash), item);
    const std::int64_t last = dash == std::string_view::npos ? first : number(item.substr(dash + 1), item);
    if (last < first) throw_invalid_argument(option, "range", quoted(item), "the smaller number first");
    if (last - first >= kLongestRange) {
      throw_invalid_argument(option, "range", quoted(item), "at most " + std::to_string(kLongestRange) + " numbers");
    }
    for (std::int64_t value = first; value <= last; ++value) {
      if (std::find(numbers.begin(), numbers.end(), value) == numbers.end()) numbers.push_back(value);
    }
    begin = end + 1;
  }
  return numbers;
}

}  // namespace orthant::apps
