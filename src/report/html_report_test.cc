#include "report/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/chart_data.h"
#include "report/compare_report.h"
#include "report/html_page.h"
#include "report/name_colours.h"
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

TEST(ChartData, KindsBeyondTheColoursShareThem) {
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
  ASSERT_EQ(kinds.shares.size(), 12u);
  std::vector<int> used(kKindColours);
  for (const KindShare& share : kinds.shares) ++used[std::size_t(share.colour)];
  EXPECT_GT(std::count_if(used.begin(), used.end(), [](int n) { return n > 0; }), 3);
  EXPECT_EQ(kinds.shares[std::size_t(kinds.share_of_kind[12])].name, "kind 11");
}

// The same values as in tests/web/unit_test.cjs: the page and reports give a name the same colour.
TEST(NameColours, DependOnTheNamesAlone) {
  EXPECT_EQ(colours_of({"resnet50", "bert-base", "gpt2-small"}), (std::vector<int>{1, 4, 6}));
  EXPECT_EQ(colours_of({"gpt2-small", "resnet50", "bert-base", "resnet50"}), (std::vector<int>{6, 1, 4, 1}));
  std::vector<std::string> eight, nine;
  for (int i = 0; i < 8; ++i) eight.push_back(fmt::format("kind {}", i));
  nine = eight;
  nine.push_back("größer");
  EXPECT_EQ(colours_of(eight), (std::vector<int>{3, 0, 1, 6, 7, 4, 5, 2})) << "no two share one";
  EXPECT_EQ(colours_of(nine), (std::vector<int>{3, 0, 1, 6, 7, 4, 5, 2, 0})) << "each that of its hash";
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

TEST(SvgChart, ChangesAreTimesFromFourOn) {
  EXPECT_EQ(change_text(-83.72), "-83.7 %");
  EXPECT_EQ(change_text(299), "+299.0 %");
  EXPECT_EQ(change_text(412), "5.1x");
  EXPECT_EQ(change_text(8599.8), "87x");
}

TEST(SvgChart, SaysThatAScaleIsLogarithmic) {
  EXPECT_NE(scatter_svg({{1, 1, "a", "k0"}, {2, 100, "b", "k1"}}, "x", "y", {}).find("y, logarithmic scale"),
            std::string::npos);
  EXPECT_EQ(scatter_svg({{1, 1, "a", "k0"}, {2, 2, "b", "k1"}}, "x", "y", {}).find("logarithmic"), std::string::npos);
  EXPECT_NE(whisker_svg({{"a", "k0", 900, {}, {}}}, "change", {}, "").find("logarithmic"), std::string::npos);
}

TEST(SvgChart, NoPointHidesAnotherAndEachHasItsName) {
  std::vector<ScatterPoint> points;
  for (int i = 0; i < 8; ++i) points.push_back({1 + i * 1e-4, 2 + i * 1e-4, fmt::format("policy {}", i), "k0"});
  points.push_back({3, 4, "far", "k1"});
  const std::string svg = scatter_svg(points, "x", "y", {});
  for (const ScatterPoint& p : points)
    EXPECT_NE(svg.find(">" + p.name + "</text>"), std::string::npos) << p.name << " has no label";
  EXPECT_NE(svg.find("r=\"34\""), std::string::npos) << "eight at one place are rings";
}

TEST(ReplayPage, StandsAloneWithOneWorldOrTwo) {
  const TestRun run = test_run();
  ReplayPage page{"<day>", {{"best", &run.record}}, "a note", "1.0", "smartmig export --html x"};
  const std::string one = replay_page(page);
  page.worlds.push_back({"edf", &run.record});
  const std::string two = replay_page(page);
  expect_self_contained(one);
  expect_self_contained(two);
  EXPECT_NE(one.find("&lt;day&gt;"), std::string::npos);
  EXPECT_NE(one.find("<code>smartmig export --html x</code>"), std::string::npos);
  EXPECT_EQ(one.find("\"edf\""), std::string::npos);
  EXPECT_NE(two.find("{\"name\":\"edf\",\"data\":"), std::string::npos);
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
