#include "orthant/report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>
#include <string>

#include "orthant/core/error.h"

namespace orthant::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Plot sample() {
  Plot plot;
  plot.title = "it's $(1) `x` \"y\"\nset output";
  plot.x_label = "bits";
  plot.y_label = "KL";
  plot.log_y = true;
  plot.series = {{"turbo-mse", {{1, 0.5}, {2, 0.1}, {3, 0}, {4, std::numeric_limits<double>::infinity()}}, true},
                 {"nothing left", {{1, -1}}, true},
                 {"q8_0", {{8.5, 1e-5}}, false}};
  return plot;
}

TEST(Plot, DrawsWhatCanBeDrawn) {
  const std::string program = to_gnuplot(sample());
  EXPECT_THAT(program, HasSubstr("set title 'it''s $(1) `x` \"y\" set output'\n"));
  EXPECT_THAT(program, HasSubstr("$series0 << EOD\n1 0.5\n2 0.1\nEOD\n$series1 << EOD\n8.5 1e-05\nEOD\n"));
  EXPECT_THAT(program,
              HasSubstr("title 'turbo-mse', $series1 using 1:2 with points linecolor rgb '#d62728' pointtype 5 "
                        "title 'q8_0'\n"));
  EXPECT_THAT(program, Not(HasSubstr("nothing left")));
  EXPECT_THAT(program, Not(HasSubstr("inf")));
  Plot empty = sample();
  empty.series.resize(2);
  empty.series.erase(empty.series.begin());
  EXPECT_THROW(to_gnuplot(empty), InvalidArgument);
}

TEST(Plot, LimitsAreDashedAndSeriesDiffer) {
  Plot plot = sample();
  plot.series.push_back({"converse", {{1, 0.1}}, true, true});
  for (int i = 0; i < 18; ++i) plot.series.push_back({"more", {{1, 0.1}}, true});
  const std::string program = to_gnuplot(plot);
  EXPECT_THAT(program, HasSubstr("dashtype 2 title 'converse'"));
  std::set<std::string> colours;
  std::set<std::string> looks;
  for (std::size_t at = 0; (at = program.find("rgb '#", at)) != std::string::npos; ++at) {
    colours.insert(program.substr(at, 13));
    looks.insert(program.substr(at, program.find(" title", at) - at));
  }
  EXPECT_EQ(colours.size(), 11U);  // ten of series, and the limit's
  EXPECT_EQ(looks.size(), 21U);    // twenty series without two of the same colour and mark
}

/// Height at which the SVG of gnuplot puts a text: of the last translate(x,y) before it.
double height_of(const std::string& svg, const std::string& text) {
  const std::size_t comma = svg.find(',', svg.rfind("translate(", svg.find('>' + text)));
  return std::stod(svg.substr(comma + 1));
}

// The baselines of the axis's label and of the key's first line were 16 apart at a font size of 15: letters touched. A
// line and a third is 20.
TEST(Plot, TheLabelOfTheAxisKeepsClearOfTheKey) {
  const auto svg = to_svg(sample());
  if (!svg) GTEST_SKIP() << "no gnuplot";
  EXPECT_GT(height_of(*svg, "turbo-mse"), height_of(*svg, "bits") + 20);
  EXPECT_GT(height_of(*svg, "bits"), 0);
}

TEST(Plot, DrawsSvgOrSaysThatGnuplotIsMissing) {
  if (const auto svg = to_svg(sample())) {
    EXPECT_THAT(*svg, HasSubstr("<svg"));
    EXPECT_THAT(*svg, HasSubstr("turbo-mse"));
    EXPECT_THAT(*svg, HasSubstr("</svg>"));
  }
  const std::string search = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  EXPECT_FALSE(to_svg(sample()).has_value());
  setenv("PATH", search.c_str(), 1);
}

}  // namespace
}  // namespace orthant::report
