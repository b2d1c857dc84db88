#include "report/history_page.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(HistoryPage, ShowsEveryFigureAndEscapesNames) {
  HistoryPage page;
  page.title = "History of <b>";
  page.policies = {{"none+fifo", 100, 12.5, 60, 7.25, 0, 0.25, std::nullopt, "8"},
                   {"be<st", 80, 3.5, 20, 1.75, -0.2, 0.125, 0.5, "more than 32"}};
  page.cards = {{"energy", "-20.0", "%", "80 kWh"}};
  page.energy_bound_kwh = 71.5;
  page.delay_bound_min = 2.25;
  page.gpus_note = "GPUs needed: few.";
  page.assumed = {"durations & kinds"};
  page.command = "smartmig whatif --sacct <x>";
  page.version = "1";
  const std::string html = history_page(page);
  for (const char* part :
       {"History of &lt;b&gt;", "be&lt;st", "80.00", "-20.0 %", "12.50", "7.25", "25.0 %", "12.5 %", "50.0 %", "71.50",
        "2.25", "more than 32", "GPUs needed: few.", "durations &amp; kinds", "--sacct &lt;x&gt;"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("be<st"), std::string::npos);
  // Nothing is fetched from elsewhere.
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_EQ(html.find("href=\"http"), std::string::npos);
  page.energy_bound_kwh.reset();
  page.gpus_note.clear();
  const std::string plain = history_page(page);
  EXPECT_EQ(plain.find("above bound"), std::string::npos);
  EXPECT_EQ(plain.find("more than 32"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
