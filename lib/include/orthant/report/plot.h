#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace orthant::report {

struct Series {
  std::string title;
  std::vector<std::pair<double, double>> points;
  bool line = true;    ///< joined by a line; otherwise marks alone
  bool limit = false;  ///< a bound: a dashed line in the ink's colour, without marks
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_y = false;  ///< points with y <= 0 are left out
  std::vector<Series> series;
};

/// The gnuplot program that draws the plot as SVG on its standard output. Texts are drawn as they are. Series differ in
/// colour and mark; colours keep their contrast on paper and when a dark page inverts them.
/// Throws InvalidArgument when no point is left to draw.
std::string to_gnuplot(const Plot& plot);

/// Draws with the gnuplot found on PATH. Nothing when there is none; throws Error, with what it said, when it fails.
std::optional<std::string> to_svg(const Plot& plot);

}  // namespace orthant::report
