#include "orthant/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "orthant/core/error.h"
#include "orthant/core/printable.h"

namespace orthant::report {
namespace {

bool has_type(const Value& value, Type type) {
  switch (type) {
    case Type::kBoolean:
      return std::holds_alternative<bool>(value);
    case Type::kInteger:
      return std::holds_alternative<std::int64_t>(value);
    case Type::kReal:
      return std::holds_alternative<double>(value);
    case Type::kText:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

struct TextCell {
  int digits;
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(bool x) const { return x ? "yes" : "no"; }
  std::string operator()(std::int64_t x) const { return fmt::format("{}", x); }
  std::string operator()(double x) const { return fmt::format("{:.{}g}", x, digits); }
  std::string operator()(const std::string& x) const { return printable(x); }
};

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

struct CsvCell {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::int64_t x) const { return fmt::format("{}", x); }
  std::string operator()(double x) const { return fmt::format("{}", x); }
  std::string operator()(const std::string& x) const { return csv_text(x); }
};

/// Characters of a UTF-8 text: bytes that do not continue another one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string_view to_string(Type type) {
  switch (type) {
    case Type::kBoolean:
      return "boolean";
    case Type::kInteger:
      return "integer";
    case Type::kReal:
      return "real";
    case Type::kText:
      return "text";
  }
  return "";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::set<std::string_view> names;
  for (const Column& column : columns_) {
    if (!names.insert(column.name).second) {
      throw_invalid_argument("Table", "column " + column.name, "twice", "unique names");
    }
  }
}

void Table::add_row(std::vector<Value> row) {
  require_size("Table", "number of cells", row.size(), columns_.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::holds_alternative<std::monostate>(row[i])) continue;
    if (!has_type(row[i], columns_[i].type)) {
      throw_invalid_argument("Table", "cell of column " + columns_[i].name, "another type",
                             to_string(columns_[i].type));
    }
    const double* real = std::get_if<double>(&row[i]);
    if (real != nullptr && !std::isfinite(*real)) {
      throw_invalid_argument("Table", "cell of column " + columns_[i].name, fmt::format("{}", *real),
                             "a finite number or nothing");
    }
  }
  rows_.push_back(std::move(row));
}

std::string to_text(const Table& table) {
  const auto columns = table.columns();
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns) lines[0].push_back(column.heading);
  for (const auto& row : table.rows()) {
    auto& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) line.push_back(std::visit(TextCell{columns[i].digits}, row[i]));
  }
  std::string text;
  std::vector<std::size_t> widths(columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  for (const auto& line : lines) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - width(line[i]), ' ');
      if (i > 0) out += "  ";
      out += columns[i].type == Type::kText ? line[i] + space : space + line[i];
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  }
  return text;
}

std::string to_csv(const Table& table) {
  std::string text;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    text += (i > 0 ? "," : "") + csv_text(table.columns()[i].name);
  }
  text += '\n';
  for (const auto& row : table.rows()) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + std::visit(CsvCell{}, row[i]);
    text += '\n';
  }
  return text;
}

}  // namespace orthant::report
