#include "orthant/report/html.h"

#include <gtest/gtest.h>

namespace orthant::report {
namespace {

Provenance provenance() {
  Provenance p;
  p.kind = "verify";
  p.command = "orthant verify 'a<b'";
  p.seed = 7;
  return p;
}

TEST(Html, EscapesTextsAndMarksVerdicts) {
  Table table({{"verdict", "verdict", Type::kText}, {"x", "x", Type::kReal}, {"n", "", Type::kInteger}});
  table.add_row({std::string("holds"), 0.5, std::int64_t{3}});
  table.add_row({std::string("<script>alert(1)</script>"), Value(), Value()});
  const std::string page = to_html("A & B", provenance(), {{"Part <1>", "E|x| < 1", std::nullopt, table}});
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("A &amp; B"), std::string::npos);
  EXPECT_NE(page.find("E|x| &lt; 1"), std::string::npos);
  EXPECT_NE(page.find("<td class=\"holds\">holds</td><td class=\"number\">0.5</td><td class=\"number\">3</td>"),
            std::string::npos);
  EXPECT_NE(page.find("<td>-</td>"), std::string::npos);
  EXPECT_NE(page.find("orthant verify 'a&lt;b'"), std::string::npos);
}

// Nothing is fetched: no address of another host, no script, no style sheet, no image.
TEST(Html, NeedsNothingElse) {
  const std::string svg = "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 1 1\"><path d=\"M0 0\"/></svg>";
  const std::string page = to_html("page", provenance(), {{"", "", svg, std::nullopt}});
  for (const char* foreign : {"<script", "<link", "<img", "@import", "url(", "src=", "href="}) {
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  }
  EXPECT_EQ(page.find("<?xml"), std::string::npos);
  EXPECT_NE(page.find("<div class=\"plot\"><svg viewBox"), std::string::npos);
}

}  // namespace
}  // namespace orthant::report
