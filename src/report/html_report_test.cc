#include "report/html_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/chart_data.h"
#include "report/compare_report.h"
#include "report/svg_chart.h"
#include "support/recorded_test_run.h"

namespace smartmig {
namespace {

void expect_self_contained(const std::string& page) {
  for (const char* outside : {"http:", "https:", "//cdn", "src=", "@import", "url(", "<link"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  std::size_t open = 0, close = 0;
  for (std::size_t at = 0; (at = page.find("<section", at)) != page.npos; ++at) ++open;
  for (std::size_t at = 0; (at = page.find("</section>", at)) != page.npos; ++at) ++close;
  EXPECT_EQ(open, close);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(HtmlReport, StandsAlone) {
  const TestRun run = test_run();
  const std::string page = html_report(run.record, timeline_of(run.record));
  expect_self_contained(page);
  EXPECT_NE(page.find("by hand"), std::string::npos);
  EXPECT_NE(page.find("1 of 4 finished jobs missed their deadline"), std::string::npos);
  const std::string with_bound =
      html_report(run.record, timeline_of(run.record), {run.record.summary.energy_kwh / 1.25, {}});
  EXPECT_NE(with_bound.find("25.0 % over bound"), std::string::npos);
}

TEST(HtmlReport, OfADaemonsJournal) {
  const TestRun run = live_test_run();
  const std::string page = html_report(run.record, timeline_of(run.record));
  expect_self_contained(page);
  EXPECT_NE(page.find("of 2 finished jobs missed their deadline"), std::string::npos);
}

TEST(HtmlReport, NoNameBreaksOut) {
  TestRun run = test_run();
  Workload workload = test_workload();
  workload.names[0] = "</script><script>alert(1)</script>";
  workload.kinds[0] = workload.source = "<img onerror=x>";
  run.record.jobs = std::make_shared<const JobTable>(
      *JobTable::bind(std::make_shared<const Workload>(workload), *run.record.platform));
  run.record.config[0].second = "<b>";
  const std::string page = html_report(run.record, timeline_of(run.record));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
}

TEST(ChartData, HoldsEveryStay) {
  const TestRun run = test_run();
  const Timeline line = timeline_of(run.record);
  const auto data = nlohmann::json::parse(chart_data(run.record, line, kind_table(run.record)).json);
  EXPECT_EQ(data["r"].size(), 7 * line.runs.size());
  EXPECT_EQ(data["jn"].size(), 4u);
  EXPECT_EQ(data["s"].size(), 5u * 4);  // 4g, 3g, 1g and 7g
  EXPECT_EQ(data["t"].size(), line.fleet.size());
  EXPECT_DOUBLE_EQ(data["end"].get<double>() * data["tick"].get<double>(), 180);
}

TEST(ChartData, MeansKeepTheEnergy) {
  const Timeline line = timeline_of(test_run().record);
  for (const std::size_t most : {1, 2, 3, 5}) {
    const auto curve = power_curve(line, most);
    ASSERT_LE(curve.size(), most);
    double sum = 0;
    for (std::size_t i = 0; i < curve.size(); ++i)
      sum += curve[i].second * ((i + 1 < curve.size() ? curve[i + 1].first : 180) - curve[i].first);
    EXPECT_NEAR(sum, line.fleet.back().joules, 1e-6) << most;
  }
}

TEST(ChartData, KindsBeyondTheColoursAreGathered) {
  TestRun run = test_run();
  Workload workload = test_workload();
  const Job model = workload.jobs[0];
  workload.jobs.clear();
  workload.names.clear();
  workload.kinds.clear();
  for (int k = 0; k < 12; ++k) {
    workload.kinds.push_back(fmt::format("kind {}", k));
    workload.jobs.push_back(model);
    workload.jobs.back().kind = k;
  }
  run.record.jobs = std::make_shared<const JobTable>(
      *JobTable::bind(std::make_shared<const Workload>(workload), *run.record.platform));
  const Cluster fresh(run.record.platform, run.record.jobs, {}, run.record.initial);
  run.record.final = &fresh;
  const KindTable kinds = kind_table(run.record);
  ASSERT_EQ(kinds.shares.size(), 8u);
  EXPECT_EQ(kinds.shares.back().name, "other kinds");
  EXPECT_EQ(kinds.shares.back().jobs, 5u);
  EXPECT_EQ(kinds.share_of_kind[12], 7);
}

TEST(SvgChart, AxesHaveRoundTicks) {
  EXPECT_DOUBLE_EQ(round_step(10, 5), 2);
  EXPECT_DOUBLE_EQ(round_step(0.9, 4), 0.25);
  EXPECT_DOUBLE_EQ(round_step(0, 4), 1);
  const Axis axis = Axis::make(3, 97, 5, 0, 100);
  EXPECT_EQ(axis.ticks().front(), 0);
  EXPECT_EQ(axis.ticks().back(), 100);
  EXPECT_EQ(tick_text(2500, 500), "2\u202f500");
  EXPECT_EQ(tick_text(-1234567, 1), "-1\u202f234\u202f567");
  EXPECT_EQ(tick_text(0.25, 0.25), "0.25");
  EXPECT_EQ(tick_text(-0.0, 0.5), "0.0");
}

TEST(SvgChart, EdgesCoverTheTail) {
  const auto edges = heavy_tail_edges(86);
  EXPECT_EQ(edges.front(), 0);
  EXPECT_DOUBLE_EQ(edges[1], 0.1);
  EXPECT_DOUBLE_EQ(edges.back(), 100);
  for (const double highest : {1e-9, 0.3, 1.0, 2.0, 10.0, 999.0, 1e9}) {
    const auto some = heavy_tail_edges(highest);
    EXPECT_GE(some.back(), highest);
    EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
    EXPECT_LE(some.size(), 13u);
  }
}

TEST(CompareReport, ShowsEveryPolicyAndTheBound) {
  ComparisonPage c;
  c.title = "Two <policies>";
  c.interval = "95 %";
  c.policies = {{"edf", 10, 1, 5, 2, 3.0, {}, {}, {}, true, {{0, 100}, {60, 200}}, 120},
                {"cedf", 9, 0.5, 4, 1.5, 2.0, -25.0, -30.0, -20.0, false, {{0, 90}}, 120}};
  c.energy_bound_kwh = 8;
  c.et_bound = 1;
  const std::string page = compare_report(c);
  expect_self_contained(page);
  for (const char* text : {"Two &lt;policies&gt;", "edf (baseline)", "-25.0 %", "-30.0 to -20.0 %", "lower bound",
                           "Fleet power over time"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  expect_self_contained(compare_report({}));
}

}  // namespace
}  // namespace smartmig
