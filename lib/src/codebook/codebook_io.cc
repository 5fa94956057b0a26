#include "orthant/codebook/codebook_io.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/json_errors.h"
#include "orthant/core/atomic_file.h"
#include "orthant/core/error.h"
#include "orthant/core/input_file.h"
#include "orthant/core/version.h"

namespace orthant::codebook {
namespace {

constexpr std::string_view kFormat = "orthant-codebook-1";
constexpr std::size_t kLargestFile = 16U << 20U;

std::string decimal(double x) { return fmt::format("{:.17g}", x); }
std::string hex(double x) { return fmt::format("\"{:a}\"", x); }

/// "  "key": [a, b],\n  "key_hex": ["..", ".."],\n"
std::string both_forms(std::string_view key, std::span<const double> values) {
  std::string decimals;
  std::string hexes;
  for (const double x : values) {
    const char* separator = decimals.empty() ? "" : ", ";
    decimals += separator + decimal(x);
    hexes += separator + hex(x);
  }
  return fmt::format("  \"{0}\": [{1}],\n  \"{0}_hex\": [{2}],\n", key, decimals, hexes);
}
std::string both_forms(std::string_view key, double x) {
  return fmt::format("  \"{0}\": {1},\n  \"{0}_hex\": {2},\n", key, decimal(x), hex(x));
}

/// Reads the fields of one codebook; every complaint names the file and the field.
class Reader {
 public:
  Reader(const nlohmann::json& object, const std::string& where) : object_(object), where_(where) {}

  [[noreturn]] void refuse(const std::string& field, const std::string& got, const std::string& expected) const {
    throw_invalid_input(where_, field, got, expected);
  }
  const nlohmann::json& at(const std::string& field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) refuse(field, "nothing", "a value");
    return *found;
  }
  std::string text(const std::string& field) const {
    const nlohmann::json& value = at(field);
    if (!value.is_string()) refuse(field, value.type_name(), "a string");
    return value.get<std::string>();
  }
  std::int64_t integer(const std::string& field, std::int64_t lowest, std::int64_t highest) const {
    const nlohmann::json& value = at(field);
    const std::string expected = fmt::format("an integer from {} to {}", lowest, highest);
    if (!value.is_number_integer()) refuse(field, shown(value), expected);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) {
      refuse(field, shown(value), expected);
    }
    const auto number = value.get<std::int64_t>();
    if (number < lowest || number > highest) refuse(field, shown(value), expected);
    return number;
  }
  double number(const std::string& field) const { return number(at(field), field); }
  double number(const nlohmann::json& value, const std::string& field) const {
    if (!value.is_number()) refuse(field, shown(value), "a number");
    return value.get<double>();
  }
  std::vector<double> numbers(const std::string& field) const {
    const nlohmann::json& list = at(field);
    if (!list.is_array()) refuse(field, list.type_name(), "an array of numbers");
    std::vector<double> values;
    for (std::size_t i = 0; i < list.size(); ++i) values.push_back(number(list[i], fmt::format("{}[{}]", field, i)));
    return values;
  }
  double both_forms(const std::string& field) const { return checked(number(field), at(field + "_hex"), field); }
  std::vector<double> both_forms_of_each(const std::string& field) const {
    std::vector<double> values = numbers(field);
    const nlohmann::json& hexes = at(field + "_hex");
    if (!hexes.is_array() || hexes.size() != values.size()) {
      refuse(field + "_hex", shown(hexes), fmt::format("an array of {} hex floats", values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = checked(values[i], hexes[i], fmt::format("{}[{}]", field, i));
    return values;
  }

 private:
  static std::string shown(const nlohmann::json& value) {
    const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }
  double checked(double value, const nlohmann::json& hex_form, const std::string& field) const {
    if (!hex_form.is_string()) refuse(field + "_hex", shown(hex_form), "a hex float");
    const auto text = hex_form.get<std::string>();
    std::string_view digits = text;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    double parsed = 0;
    bool good = digits.starts_with("0x");
    if (good) {
      digits.remove_prefix(2);
      const auto [end, code] =
          std::from_chars(digits.data(), digits.data() + digits.size(), parsed, std::chars_format::hex);
      good = code == std::errc() && end == digits.data() + digits.size();
    }
    if (!good) refuse(field + "_hex", text, "a hex float such as 0x1.8p-3");
    parsed = negative ? -parsed : parsed;
    if (parsed != value) refuse(field, decimal(value), fmt::format("{} = {}, its hex form", decimal(parsed), text));
    return parsed;
  }

  const nlohmann::json& object_;
  const std::string& where_;
};

}  // namespace

CodebookFile to_file(LloydMaxResult result) {
  return {std::move(result.codebook), std::move(result.probabilities), result.residual,
          fmt::format("orthant {}", version()), std::nullopt};
}

std::string to_json(const CodebookFile& file) {
  const Codebook& book = file.codebook;
  std::string text = "{\n";
  text += fmt::format("  \"format\": \"{}\",\n", kFormat);
  text += fmt::format("  \"density\": {},\n", nlohmann::json(book.density()).dump());
  text += fmt::format("  \"dim\": {},\n  \"bits\": {},\n", book.dim(), book.bits());
  text += fmt::format("  \"solver\": {},\n", nlohmann::json(file.solver).dump());
  text += both_forms("distortion", book.distortion());
  text += both_forms("entropy", book.entropy());
  text += fmt::format("  \"residual\": {:.1e},\n", file.residual);
  text += both_forms("centroids", book.centroids());
  text += both_forms("boundaries", book.boundaries());
  text += both_forms("probabilities", file.probabilities);
  if (file.certificate) {
    const Certificate& proof = *file.certificate;
    text += "  \"certificate\": {\n";
    text += "    \"claim\": \"every number above but the residual is the double nearest to the optimum\",\n";
    text += fmt::format("    \"digits\": {},\n    \"radius\": {:g},\n", proof.digits, proof.radius);
    text += fmt::format("    \"distortion\": \"{}\",\n    \"entropy\": \"{}\",\n", proof.distortion, proof.entropy);
    text += fmt::format("    \"uniqueness\": {}\n  }},\n", nlohmann::json(proof.uniqueness).dump());
  }
  text.erase(text.size() - 2);  // the last comma
  return text + "\n}\n";
}

CodebookFile parse_codebook(std::string_view json, const std::string& where) {
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(json);
  } catch (const nlohmann::json::parse_error& error) {
    throw_invalid_input(where, "text", "no JSON at " + place_in_text(json, error.byte - 1), std::string(kFormat));
  } catch (const nlohmann::json::exception&) {
    throw_invalid_input(where, "text", "a number that no double holds", std::string(kFormat));
  }
  const Reader read(object, where);
  if (!object.is_object()) read.refuse("JSON", object.type_name(), "an object");
  if (read.text("format") != kFormat) read.refuse("format", read.text("format"), std::string(kFormat));
  const std::int64_t dim = read.integer("dim", 0, density::SphereCoordinate::kMaxDim);
  const auto bits = static_cast<int>(read.integer("bits", 0, 16));
  std::vector<double> probabilities = read.both_forms_of_each("probabilities");
  const std::size_t levels = std::size_t{1} << bits;
  if (probabilities.size() != levels) {
    read.refuse("probabilities", std::to_string(probabilities.size()), fmt::format("{} values", levels));
  }
  for (std::size_t k = 0; k < levels; ++k) {
    if (!(probabilities[k] >= 0 && probabilities[k] <= 1)) {
      read.refuse(fmt::format("probabilities[{}]", k), decimal(probabilities[k]), "0 to 1");
    }
  }
  const double residual = read.number("residual");
  if (!(residual >= 0)) read.refuse("residual", decimal(residual), "0 or more");
  std::optional<Certificate> certificate;
  if (object.contains("certificate")) {
    const nlohmann::json& inner = object.at("certificate");
    const std::string inner_where = where + ": certificate";
    const Reader proof(inner, inner_where);
    if (!inner.is_object()) proof.refuse("JSON", inner.type_name(), "an object");
    certificate = {static_cast<int>(proof.integer("digits", 0, 1000)), proof.number("radius"), proof.text("distortion"),
                   proof.text("entropy"), proof.text("uniqueness")};
  }
  try {
    Codebook book(read.text("density"), dim, bits, read.both_forms_of_each("centroids"),
                  read.both_forms_of_each("boundaries"), read.both_forms("distortion"), read.both_forms("entropy"));
    return {std::move(book), std::move(probabilities), residual, read.text("solver"), certificate};
  } catch (const InvalidArgument& error) {
    throw InvalidInput(where + ": " + error.what());
  }
}

CodebookFile read_codebook(const std::filesystem::path& path) {
  return parse_codebook(read_file(path, kLargestFile), path.string());
}

void write_codebook(const std::filesystem::path& path, const CodebookFile& file) { write_file(path, to_json(file)); }

}  // namespace orthant::codebook
