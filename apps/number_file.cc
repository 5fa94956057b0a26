#include "number_file.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "orthant/core/error.h"
#include "orthant/core/input_file.h"
#include "orthant/kv/npy.h"

namespace orthant::apps {
namespace {

constexpr std::string_view kSeparators = ",; \t\r";
constexpr std::size_t kLargestFile = 64U << 20U;

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> found;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(kSeparators, at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    found.push_back(line.substr(at, end - at));
    at = end;
  }
  return found;
}

std::optional<double> number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const bool negative = cell.starts_with('-');
  if (negative) cell.remove_prefix(1);
  const bool hex = cell.starts_with("0x") || cell.starts_with("0X");
  if (hex) cell.remove_prefix(2);
  double x = 0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), x,
                                           hex ? std::chars_format::hex : std::chars_format::general);
  if (code != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return negative ? -x : x;
}

NumberFile from_npy(const std::string& path) {
  const kv::NpyArray<double> array = kv::read_npy<double>(path);
  if (array.shape.empty() || array.shape.size() > 2) {
    throw_invalid_input(path, "number of axes", std::to_string(array.shape.size()), "1 or 2");
  }
  if (array.values.empty()) throw_invalid_input(path, "content", "no number", "numbers");
  const std::size_t rows = array.shape.size() == 2 ? array.shape[0] : 1;
  const std::size_t cols = array.shape.back();
  NumberFile file;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto first = array.values.begin() + static_cast<std::ptrdiff_t>(i * cols);
    file.rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(cols));
  }
  return file;
}

}  // namespace

NumberFile parse_numbers(std::string_view text, const std::string& where) {
  NumberFile file;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    line = line.substr(0, line.find('#'));
    const std::vector<std::string_view> found = cells(line);
    if (found.empty()) continue;
    std::vector<double> row;
    for (const std::string_view cell : found) {
      const std::optional<double> x = number(cell);
      if (x) {
        row.push_back(*x);
        continue;
      }
      if (file.rows.empty() && file.header.empty() && row.empty()) {
        file.header.assign(found.begin(), found.end());
        break;
      }
      throw_invalid_input(fmt::format("{}:{}", where, line_number), "cell", std::string(cell.substr(0, 40)),
                          "a number");
    }
    if (!row.empty()) file.rows.push_back(std::move(row));
  }
  if (file.rows.empty()) throw_invalid_input(where, "content", "no number", "numbers");
  return file;
}

NumberFile read_numbers(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".npy") return from_npy(path);
  return parse_numbers(read_file(path, kLargestFile), path);
}

}  // namespace orthant::apps
