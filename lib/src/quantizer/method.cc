#include "orthant/quantizer/method.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "orthant/core/error.h"
#include "quantizer/value_pattern.h"

namespace orthant::quantizer {
namespace {

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string names_of(std::span<const ValueRule> rules) {
  std::string names;
  for (const ValueRule& rule : rules) names.append(names.empty() ? "" : ", ").append(rule.name);
  return names.empty() ? "no options" : names;
}

const FamilyRule& family_named(std::string_view text, std::string_view name) {
  std::string known;
  for (const FamilyRule& rule : method_families()) {
    if (rule.name == name) return rule;
    known.append(known.empty() ? "" : ", ").append(rule.name);
  }
  throw_invalid_argument("method " + quoted(text), "name", quoted(name), "one of " + known);
}

template <class Number>
Number number(const Method& method, std::string_view name) {
  const std::string& text = method.text(name);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_invalid_argument("method " + quoted(method.to_string()), std::string(name), quoted(text), "a number");
  }
  return value;
}

}  // namespace

Method::Method(const FamilyRule& rule) : rule_(&rule) {
  for (const ValueRule& value : rule.values) values_.emplace_back(value.fallback);
}

bool Method::has(std::string_view name) const {
  return std::any_of(rule_->values.begin(), rule_->values.end(), [&](const ValueRule& v) { return v.name == name; });
}

std::size_t Method::index_of(std::string_view name) const {
  const auto& rules = rule_->values;
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const ValueRule& v) { return v.name == name; });
  if (found == rules.end()) {
    throw_invalid_argument("method " + quoted(rule_->name), "option", quoted(name),
                           names_of(std::span(rules).subspan(rule_->has_argument ? 1 : 0)));
  }
  return static_cast<std::size_t>(found - rules.begin());
}

void Method::set(std::size_t index, std::string_view value) {
  const ValueRule& rule = rule_->values[index];
  auto canonical = match_value(rule, value);
  if (!canonical) {
    throw_invalid_argument("method " + quoted(rule_->name), std::string(rule.name), quoted(value),
                           expected_values(rule));
  }
  values_[index] = std::move(*canonical);
}

const std::string& Method::text(std::string_view name) const { return values_[index_of(name)]; }

long long Method::integer(std::string_view name) const { return number<long long>(*this, name); }

double Method::real(std::string_view name) const { return number<double>(*this, name); }

Method Method::with(std::string_view name, std::string_view value) const {
  Method changed = *this;
  changed.set(index_of(name), value);
  return changed;
}

std::string Method::print(bool everything) const {
  std::string out(rule_->name);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueRule& rule = rule_->values[i];
    if (i == 0 && rule_->has_argument) {
      out.append(":").append(values_[i]);
    } else if (everything || values_[i] != rule.fallback) {
      out.append(",").append(rule.name).append("=").append(values_[i]);
    }
  }
  return out;
}

std::string Method::to_string() const { return print(false); }

std::string Method::to_full_string() const { return print(true); }

Method parse_method(std::string_view text) {
  const std::string_view head = text.substr(0, text.find(','));
  const std::size_t colon = head.find(':');
  Method method(family_named(text, head.substr(0, colon)));
  const FamilyRule& rule = *method.rule_;
  const std::string where = "method " + quoted(text);

  std::vector<bool> given(rule.values.size(), false);
  if (rule.has_argument) {
    if (colon == std::string_view::npos && rule.values[0].fallback.empty()) {
      throw_invalid_argument(where, std::string(rule.values[0].name), "nothing",
                             std::string(rule.name) + ":" + expected_values(rule.values[0]));
    }
    given[0] = true;
    if (colon != std::string_view::npos) method.set(0, head.substr(colon + 1));
  } else if (colon != std::string_view::npos) {
    throw_invalid_argument(where, "argument", quoted(head.substr(colon + 1)), "none");
  }

  std::string_view rest = text.substr(head.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the comma
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(part.size());
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw_invalid_argument(where, "option", quoted(part), "name=value");
    }
    const std::size_t index = method.index_of(part.substr(0, equals));
    if (given[index]) throw_invalid_argument(where, "option " + quoted(part.substr(0, equals)), "it twice", "it once");
    given[index] = true;
    method.set(index, part.substr(equals + 1));
  }
  return method;
}

}  // namespace orthant::quantizer
