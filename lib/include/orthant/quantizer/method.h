#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::quantizer {

/// What a value of a method string may look like.
/// pattern: alternatives separated by '|'. Capital placeholders: N a whole number, X a decimal number, FILE any text;
/// everything else stands for itself. "haar|hadamard:N|none" accepts haar, hadamard:3, none. Numbers lie in
/// [low, high].
struct ValueRule {
  std::string_view name;
  std::string_view pattern;
  std::string_view fallback;  ///< value when it is left out; empty: it must be given
  double low = 0;
  double high = 1e9;
};

/// One method of the grammar:  name[:argument][,option=value]...
struct FamilyRule {
  std::string_view name;
  std::string_view summary;
  std::vector<ValueRule> values;  ///< the argument first when has_argument, then the options in canonical order
  bool has_argument = true;
};

/// Every method, in the order of the documentation. A new method is a new row here and a case in the factory.
std::span<const FamilyRule> method_families();

/// A method string, checked and resolved: every option of its family has a value, given or default.
///   turbo-mse:4      uniform:4,axis=token,group=64      fp8:e4m3,scale=head      kivi:2,residual=64
/// Immutable value. parse_method(m.to_string()) == m for every m.
class Method {
 public:
  std::string_view family() const { return rule_->name; }
  bool has(std::string_view name) const;
  /// The value of the argument or option `name`, by the name it has in the family's rule ("bits", "group", ...).
  /// Throws InvalidArgument when the family has no such value.
  const std::string& text(std::string_view name) const;
  /// The value as a number; flags are 0 and 1. Throws InvalidArgument when the text is not one number.
  long long integer(std::string_view name) const;
  double real(std::string_view name) const;

  /// The same method with one value replaced: checked like a parsed one.
  Method with(std::string_view name, std::string_view value) const;

  /// Shortest form: values equal to the default are left out.
  std::string to_string() const;
  /// Every value spelled out, as reports echo it.
  std::string to_full_string() const;

  friend bool operator==(const Method&, const Method&) = default;

 private:
  friend Method parse_method(std::string_view text);
  explicit Method(const FamilyRule& rule);
  std::size_t index_of(std::string_view name) const;
  void set(std::size_t index, std::string_view value);
  std::string print(bool everything) const;

  const FamilyRule* rule_;
  std::vector<std::string> values_;  // canonical, one for each of rule_->values
};

/// Throws InvalidArgument naming the part that is wrong and what would be right: an unknown family, option or value, a
/// number out of range, an option given twice, a missing argument. Values are made canonical ("04" and "4" are equal).
Method parse_method(std::string_view text);

}  // namespace orthant::quantizer
