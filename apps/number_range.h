#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace orthant::apps {

/// The parser's check for numbers from low to high, refusing as everything else does: "number, got 2, expected 1e-12 to
/// 0.5". Its own words are "Value 2 not in range 0.000000 to 0.500000".
template <class T>
CLI::Range number_within(T low, T high) {
  const CLI::Range range(low, high);
  CLI::Range ours = range;
  ours.operation([range, low, high](std::string& text) {
    return range(text).empty() ? std::string() : fmt::format("number, got {}, expected {} to {}", text, low, high);
  });
  return ours;
}

}  // namespace orthant::apps
