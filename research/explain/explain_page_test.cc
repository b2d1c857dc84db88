#include "research/explain/explain_page.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

ExplainPage small() {
  ExplainPage page;
  page.title = "a<b+cedf, explained";
  for (int l = 0; l < 10; ++l) {
    page.layouts.push_back({std::to_string(l + 1), "shape" + std::to_string(l), 19.0 - 2 * l, 10, {}});
    if (l < 7) page.layouts.back().paper_percent = 12.5;
  }
  std::vector<double> even(10, 10);
  page.charts.push_back({"By hour", "hour (h)", {{"0-2", 16, even}, {"2-4", 16, even}}});
  page.rules = {
      {0, "late jobs per GPU < 1", even, 40}, {0, "late jobs per GPU >= 1", {}, 60}, {1, "hour < 5", even, 60}};
  return page;
}

TEST(ExplainPage, ColoursTheLayoutsWithMostTimeAndSumsTheRest) {
  const std::string html = explain_page(small());
  // Two columns of eight colours and one for the two layouts that are left.
  EXPECT_EQ(count_of(html, "<rect "), 18u);
  EXPECT_EQ(count_of(html, ": 20.0 %, other layouts</title>"), 2u);
  EXPECT_EQ(count_of(html, ": 10.0 %, 1  shape0</title>"), 2u);
  EXPECT_EQ(count_of(html, "<td>12.5 %</td>"), 7u);
}

TEST(ExplainPage, EscapesAndReachesNothingOutside) {
  const std::string html = explain_page(small());
  EXPECT_NE(html.find("a&lt;b+cedf"), html.npos);
  EXPECT_EQ(html.find("a<b"), html.npos);
  EXPECT_NE(html.find("late jobs per GPU &gt;= 1"), html.npos);
  EXPECT_EQ(html.find("http"), html.npos);
}

}  // namespace
}  // namespace smartmig
