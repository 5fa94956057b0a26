#include "quantizer/value_pattern.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>

namespace orthant::quantizer {
namespace {

constexpr std::string_view kFile = "FILE";

/// Shortest decimal that reads back as x; no exponent for the whole numbers of the ranges.
std::string shortest(double x) {
  char buffer[64];
  const auto [end, error] = x == std::floor(x) && x < 1e15
                                ? std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed)
                                : std::to_chars(buffer, buffer + sizeof buffer, x);
  return {buffer, error == std::errc() ? end : buffer};
}

/// Reads a number from the front of text and appends its canonical form; false when there is none in range.
template <class Number>
bool take_number(const ValueRule& rule, std::string_view& text, std::string& out) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  const double number = static_cast<double>(value);
  if (!(number >= rule.low && number <= rule.high)) return false;
  if constexpr (std::is_integral_v<Number>) {
    out += std::to_string(value);
  } else {
    out += shortest(value);
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::optional<std::string> match_alternative(const ValueRule& rule, std::string_view pattern, std::string_view text) {
  std::string out;
  while (!pattern.empty()) {
    if (pattern.starts_with(kFile)) {
      if (text.empty()) return std::nullopt;
      return out += text;
    }
    const char expected = pattern.front();
    pattern.remove_prefix(1);
    if (expected == 'N') {
      if (!take_number<unsigned long>(rule, text, out)) return std::nullopt;
    } else if (expected == 'X') {
      if (!take_number<double>(rule, text, out)) return std::nullopt;
    } else {
      if (text.empty() || text.front() != expected) return std::nullopt;
      text.remove_prefix(1);
      out += expected;
    }
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> match_value(const ValueRule& rule, std::string_view text) {
  std::string_view rest = rule.pattern;
  while (true) {
    const std::size_t bar = rest.find('|');
    if (auto value = match_alternative(rule, rest.substr(0, bar), text)) return value;
    if (bar == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(bar + 1);
  }
}

std::string expected_values(const ValueRule& rule) {
  std::string expected(rule.pattern);
  const std::size_t file = rule.pattern.find(kFile);
  for (const char placeholder : {'N', 'X'}) {
    if (rule.pattern.substr(0, file).find(placeholder) == std::string_view::npos) continue;
    expected += std::string(", ") + placeholder + " from " + shortest(rule.low) + " to " + shortest(rule.high);
  }
  return expected;
}

}  // namespace orthant::quantizer
