#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orthant/report/report.h"
#include "orthant/report/table.h"

namespace orthant::report {

/// One part of a page: a heading, then what there is of text, plot and table.
struct Section {
  std::string heading;
  std::string text;
  std::optional<std::string> svg;  ///< as to_svg returns it; set into the page as it is
  std::optional<Table> table;
};

/// One HTML page that needs nothing else: no network, no script, style and plots inside. Light or dark as the reader's
/// system is, tables scroll sideways on a narrow screen. Cells "holds", "violated" and "undecided" are coloured and
/// remain readable without colour. All texts are escaped; the SVG is not: pass only to_svg's.
std::string to_html(const std::string& title, const Provenance& provenance, const std::vector<Section>& sections);

}  // namespace orthant::report
