#include "orthant/codebook/codebook_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>

#include "orthant/core/error.h"
#include "orthant/core/printable.h"
#include "orthant/core/version.h"

namespace orthant::codebook {
namespace {

/// One value on each line, the hex float for the compiler and 17 (9) digits for the reader.
template <class T>
std::string hex_lines(std::span<const T> values, const char* suffix) {
  constexpr int kDigits = sizeof(T) == sizeof(double) ? 17 : 9;
  std::string lines;
  for (const T x : values) lines += fmt::format("    {:a}{}, /* {:.{}g} */\n", x, suffix, x, kDigits);
  return lines;
}

template <class T>
std::string decimal_lines(std::span<const T> values) {
  constexpr int kDigits = sizeof(T) == sizeof(double) ? 17 : 9;
  std::string lines;
  for (const T x : values) lines += fmt::format("    {:.{}e},\n", x, kDigits - 1);
  return lines;
}

template <class T>
std::string c_array(const std::string& name, std::span<const T> values, const std::string& qualifier) {
  if (values.empty()) return "";
  const bool is_double = sizeof(T) == sizeof(double);
  return fmt::format("{} {} {}[{}] = {{\n{}}};\n", qualifier, is_double ? "double" : "float", name, values.size(),
                     hex_lines(values, is_double ? "" : "f"));
}

template <class T>
std::string rust_array(const std::string& name, std::span<const T> values) {
  if (values.empty()) return "";
  return fmt::format("pub const {}: [{}; {}] = [\n{}];\n", name, sizeof(T) == sizeof(double) ? "f64" : "f32",
                     values.size(), decimal_lines(values));
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string provenance(const Codebook& book, std::string_view comment) {
  std::string text;
  const std::string dim = book.dim() > 0 ? fmt::format(", dim {}", book.dim()) : "";
  text += fmt::format("{} Optimal scalar quantizer: density {}{}, bits {}.\n", comment, printable(book.density()), dim,
                      book.bits());
  text += fmt::format("{} Distortion of one coordinate {:.17g}; entropy of the code {:.17g} bits. orthant {}.\n",
                      comment, book.distortion(), book.entropy(), version());
  text += fmt::format(
      "{} code(x) = number of boundaries below x; a tie goes to the lower code. Float boundaries are the\n", comment);
  text += fmt::format("{} midpoints of the float centroids.\n", comment);
  return text;
}

}  // namespace

FloatTables float_tables(const Codebook& book) {
  FloatTables tables;
  for (const double c : book.centroids()) {
    const auto rounded = static_cast<float>(c);
    if (!tables.centroids.empty()) {
      const float previous = tables.centroids.back();
      if (!(previous < rounded)) {
        throw_invalid_argument("float_tables", "neighbouring centroids", fmt::format("{:.9g} twice", rounded),
                               "distinct values in single precision");
      }
      // The sum of two floats is exact in double up to its rounding, far below a float's last place.
      tables.boundaries.push_back(
          static_cast<float>((static_cast<double>(previous) + static_cast<double>(rounded)) / 2));
    }
    tables.centroids.push_back(rounded);
  }
  return tables;
}

std::string export_name(const Codebook& book) {
  // Law and parameters alone: bounds that are infinite bound nothing, a sign or a point must not be lost.
  std::string law = book.density();
  constexpr std::string_view kUnbounded = " on [-inf, inf]";
  if (law.ends_with(kUnbounded)) law.resize(law.size() - kUnbounded.size());
  std::string name;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const char c = law[i];
    const bool inside_number = i + 1 < law.size() && std::isdigit(static_cast<unsigned char>(law[i + 1])) != 0;
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (c == '.' && inside_number) {
      name += 'p';
    } else if (c == '-' && (inside_number || law.substr(i + 1, 3) == "inf")) {
      name += 'm';
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (name.ends_with('_')) name.pop_back();
  if (book.dim() > 0) name += fmt::format("_d{}", book.dim());
  return name + fmt::format("_b{}", book.bits());
}

std::string to_c_header(const Codebook& book) {
  const std::string name = "orthant_" + export_name(book);
  const std::string guard = upper_case(name) + "_H";
  const FloatTables tables = float_tables(book);
  std::string text = provenance(book, "//");
  text += fmt::format("#ifndef {0}\n#define {0}\n\n", guard);
  text +=
      "#ifndef ORTHANT_TABLE\n#ifdef __cplusplus\n#define ORTHANT_TABLE static constexpr\n#else\n"
      "#define ORTHANT_TABLE static const\n#endif\n#endif\n\n";
  text += fmt::format("enum {{ {0}_bits = {1}, {0}_levels = {2} }};\n\n", name, book.bits(), book.size());
  text += c_array(name + "_centroids", book.centroids(), "ORTHANT_TABLE");
  text += c_array(name + "_boundaries", book.boundaries(), "ORTHANT_TABLE");
  text += c_array(name + "_centroids_f32", std::span<const float>(tables.centroids), "ORTHANT_TABLE");
  text += c_array(name + "_boundaries_f32", std::span<const float>(tables.boundaries), "ORTHANT_TABLE");
  return text + fmt::format("\n#endif  // {}\n", guard);
}

std::string to_cuda_header(const Codebook& book) {
  const std::string name = "orthant_" + export_name(book);
  const FloatTables tables = float_tables(book);
  std::string text = provenance(book, "//");
  text += "#pragma once\n\n";
  text += c_array(name + "_centroids", std::span<const float>(tables.centroids), "__constant__");
  text += c_array(name + "_boundaries", std::span<const float>(tables.boundaries), "__constant__");
  text += fmt::format(
      "\n__device__ __forceinline__ float {0}_decode(unsigned code) {{ return {0}_centroids[code]; }}\n", name);
  text += fmt::format("\n__device__ __forceinline__ unsigned {0}_encode(float x) {{\n  unsigned code = 0;\n", name);
  if (book.bits() == 0) text += "  (void)x;\n";
  if (book.bits() > 0) {
    // Binary search: after the step of size s, the code is right in all bits from s on.
    text += fmt::format(
        "  for (unsigned s = {0}u; s > 0; s >>= 1) {{\n"
        "    if ({1}_boundaries[code + s - 1] < x) code += s;\n  }}\n",
        book.size() / 2, name);
  }
  return text + "  return code;\n}\n";
}

std::string to_rust(const Codebook& book) {
  const std::string name = upper_case(export_name(book));
  const FloatTables tables = float_tables(book);
  std::string text = provenance(book, "//");
  text += rust_array(name + "_CENTROIDS", book.centroids());
  text += rust_array(name + "_BOUNDARIES", book.boundaries());
  text += rust_array(name + "_CENTROIDS_F32", std::span<const float>(tables.centroids));
  text += rust_array(name + "_BOUNDARIES_F32", std::span<const float>(tables.boundaries));
  return text;
}

std::string to_csv(const Codebook& book) {
  std::string text = "level,centroid,upper_boundary\n";
  for (std::size_t k = 0; k < book.size(); ++k) {
    text += fmt::format("{},{:.17g},", k, book.centroids()[k]);
    if (k + 1 < book.size()) text += fmt::format("{:.17g}", book.boundaries()[k]);
    text += '\n';
  }
  return text;
}

}  // namespace orthant::codebook
