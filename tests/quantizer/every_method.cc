#include "quantizer/every_method.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"

namespace orthant::quantizer {
namespace {

using Texts = std::vector<std::string>;

/// Numbers for the placeholder of one alternative, e.g. "N" of group, "hadamard:N" of rotation.
Texts samples(const ValueRule& rule, std::string_view alternative) {
  static const std::map<std::string_view, Texts> by_name = {
      {"rows", {"1", "77", "256"}}, {"group", {"8", "16", "32"}},   {"channels", {"8", "16"}},
      {"segments", {"1", "2"}},     {"sink", {"0", "3"}},           {"residual", {"0", "64"}},
      {"prompt", {"0", "20"}},      {"outlier_rows", {"32", "77"}}, {"outlier_group", {"8", "16", "32"}}};
  if (rule.name == "outliers") return alternative == "N" ? Texts{"0", "8"} : Texts{"0", "0.1"};
  if (rule.name == "bits" && alternative == "N") {
    Texts all;
    for (int bits = static_cast<int>(rule.low); bits <= static_cast<int>(rule.high); ++bits)
      all.push_back(std::to_string(bits));
    return all;
  }
  if (alternative == "N+N") return {"3+2", "8+1"};
  if (alternative.starts_with("block-hadamard")) return {"16"};
  if (rule.name == "rotation") return {"2"};
  if (rule.name == "align") return {"16"};
  const auto found = by_name.find(rule.name);
  return found == by_name.end() ? Texts{"5"} : found->second;
}

Texts values_of(const ValueRule& rule) {
  Texts values;
  for (std::string_view rest = rule.pattern; !rest.empty();) {
    const std::string_view alternative = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(rest.size(), alternative.size() + 1));
    if (alternative == "FILE") continue;
    const std::size_t place = alternative.find_first_of("NX");
    if (place == std::string_view::npos) {
      values.emplace_back(alternative);
      continue;
    }
    for (const std::string& number : samples(rule, alternative)) {
      const double value = std::stod(number);
      if (value >= rule.low && value <= rule.high) values.push_back(std::string(alternative.substr(0, place)) + number);
    }
  }
  return values;
}

std::string argument_of(const FamilyRule& family, const std::string& value) {
  return std::string(family.name) + (family.has_argument ? ":" + value : "");
}

}  // namespace

std::vector<Method> every_method() {
  std::vector<Method> methods;
  std::set<std::string> seen;
  const auto add = [&](const Method& method) {
    if (seen.insert(method.to_string()).second) methods.push_back(method);
  };
  RngStream rng(1, Domain::kData, 0);
  for (const FamilyRule& family : method_families()) {
    const Texts arguments = family.has_argument ? values_of(family.values[0]) : Texts{""};
    for (const std::string& argument : arguments) add(parse_method(argument_of(family, argument)));
    const Method plain = parse_method(argument_of(family, arguments[arguments.size() / 2]));
    std::vector<std::pair<std::string_view, Texts>> options;
    for (std::size_t i = family.has_argument ? 1 : 0; i < family.values.size(); ++i)
      options.emplace_back(family.values[i].name, values_of(family.values[i]));
    for (const auto& [name, values] : options) {
      const bool learnt = name == "match" || name == "segments" || name == "centre";
      for (const std::string& value : values) {
        add(plain.with(name, value));
        if (learnt) add(plain.with("calibration", "self").with(name, value));
      }
    }
    for (int draw = 0; draw < 40; ++draw) {
      Method drawn = parse_method(argument_of(family, arguments[rng.below(arguments.size())]));
      for (const auto& [name, values] : options) {
        // Options that ask for a calibration or a frame exclude many others: now and then only.
        const bool rare = name == "match" || name == "segments" || name == "centre" || name == "calibration" ||
                          name == "align" || name == "bias" || name == "rotation";
        if (!rare || rng.below(8) == 0) drawn = drawn.with(name, values[rng.below(values.size())]);
      }
      add(drawn);
    }
  }
  return methods;
}

bool needs_key_calibration(const Method& method) {
  if (!method.has("match")) return false;
  return method.text("match") != "none" || method.text("centre") == "mean" || method.text("centre") == "rotating" ||
         method.text("segments") != "1" || method.text("calibration") != "none";
}

}  // namespace orthant::quantizer
