#include "core/json_errors.h"

#include <algorithm>

namespace orthant {

std::string place_in_text(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "its end";
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - (start + 1) + 1);
}

std::string json_reason(std::string_view what) {
  const std::size_t bracket = what.starts_with('[') ? what.find("] ") : std::string_view::npos;
  return std::string(bracket == std::string_view::npos ? what : what.substr(bracket + 2));
}

}  // namespace orthant
