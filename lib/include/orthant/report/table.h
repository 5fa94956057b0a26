#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace orthant::report {

/// One cell. Nothing stands for "does not apply": null in JSON, empty in CSV, "-" in text.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

enum class Type { kBoolean, kInteger, kReal, kText };

/// "boolean", "integer", "real", "text".
std::string_view to_string(Type type);

struct Column {
  std::string name;     ///< key in JSON and CSV, unit included: "kl_nats", "bytes_per_token"
  std::string heading;  ///< above the column in text
  Type type = Type::kReal;
  int digits = 4;  ///< significant digits of a real in text; JSON and CSV hold every digit
};

/// Rows of typed cells under named columns.
class Table {
 public:
  /// Throws InvalidArgument when two columns share a name.
  explicit Table(std::vector<Column> columns);

  /// Throws InvalidArgument when a cell is missing or its type is not the column's, and for a real that is NaN or
  /// infinite: a report says "does not apply", never nan.
  void add_row(std::vector<Value> row);

  std::span<const Column> columns() const { return columns_; }
  std::span<const std::vector<Value>> rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Value>> rows_;
};

/// Aligned text: headings, then one line a row; numbers to the right, texts to the left.
std::string to_text(const Table& table);
/// RFC 4180, lines ended by \n: names, then rows. Reals in the fewest digits that read back as the same double.
std::string to_csv(const Table& table);

}  // namespace orthant::report
