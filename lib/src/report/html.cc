#include "orthant/report/html.h"

#include <fmt/format.h>

#include <cmath>

#include "orthant/core/version.h"

namespace orthant::report {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #ffffff; --line: #d5d5d5; --soft: #f4f4f4;
  --good: #14692c; --bad: #a3201d; --open: #7a5b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181b; --line: #3a3d42; --soft: #22252a;
  --good: #6fce87; --bad: #ff8a80; --open: #e6c35c; } .plot { filter: invert(1) hue-rotate(180deg); } }
body { margin: 0 auto; padding: 1rem; max-width: 90rem; color: var(--ink); background: var(--paper);
  font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { background: var(--soft); }
td.number { text-align: right; white-space: nowrap; }
td.short { white-space: nowrap; } td.long { min-width: 16rem; }
.holds { color: var(--good); font-weight: 600; } .violated { color: var(--bad); font-weight: 600; }
.undecided { color: var(--open); font-weight: 600; }
.plot { overflow-x: auto; } .plot svg { max-width: 100%; min-width: 38rem; height: auto; }
footer { margin-top: 2rem; font-size: .8rem; overflow-wrap: anywhere; }
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string cell(const Value& value, const Column& column) {
  if (std::holds_alternative<std::monostate>(value)) return "<td>-</td>";
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "<td>yes</td>" : "<td>no</td>";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("<td class=\"number\">{}</td>", *whole);
  if (const double* real = std::get_if<double>(&value)) {
    return fmt::format("<td class=\"number\">{:.{}g}</td>", *real, column.digits);
  }
  const std::string& text = std::get<std::string>(value);
  const bool verdict = text == "holds" || text == "violated" || text == "undecided";
  if (verdict) return fmt::format("<td class=\"{0}\">{0}</td>", text);
  // Words are broken over lines neither where that would tear a number apart nor into a tower of single words.
  const char* width = text.size() <= 24 ? " class=\"short\"" : text.size() > 40 ? " class=\"long\"" : "";
  return fmt::format("<td{}>{}</td>", width, escaped(text));
}

std::string html(const Table& table) {
  std::string out = "<div class=\"scroll\"><table>\n<tr>";
  for (const Column& column : table.columns()) {
    out += "<th>" + escaped(column.heading.empty() ? column.name : column.heading) + "</th>";
  }
  out += "</tr>\n";
  for (const std::vector<Value>& row : table.rows()) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += cell(row[i], table.columns()[i]);
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

/// gnuplot opens with an XML declaration and a document type, which have no place inside a page.
std::string inline_svg(const std::string& svg) {
  const std::size_t start = svg.find("<svg");
  return start == std::string::npos ? std::string() : "<div class=\"plot\">" + svg.substr(start) + "</div>\n";
}

}  // namespace

std::string to_html(const std::string& title, const Provenance& provenance, const std::vector<Section>& sections) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escaped(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" + escaped(title) + "</h1>\n";
  for (const Section& section : sections) {
    if (!section.heading.empty()) out += "<h2>" + escaped(section.heading) + "</h2>\n";
    if (!section.text.empty()) out += "<p>" + escaped(section.text) + "</p>\n";
    if (section.svg) out += inline_svg(*section.svg);
    if (section.table) out += html(*section.table);
  }
  out += "<footer><p>" + escaped(provenance.command) + "</p><p>seed " + std::to_string(provenance.seed) + ", orthant " +
         escaped(std::string(version())) + ", " + escaped(processor_name()) + "</p>";
  for (const Input& input : provenance.inputs) {
    out += fmt::format("<p>{}, {} bytes, sha256 {}</p>", escaped(input.path), input.bytes, input.sha256);
  }
  return out + "</footer>\n</body>\n</html>\n";
}

}  // namespace orthant::report
