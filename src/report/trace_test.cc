#include "report/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/recorded_test_run.h"

namespace smartmig {
namespace {

TEST(Trace, IsJsonWithEveryStayOnItsSlice) {
  const TestRun run = test_run();
  const auto trace = nlohmann::json::parse(trace_json(run.record, timeline_of(run.record)));
  std::map<std::string, int> count;
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
  std::map<std::pair<int, int>, int> named;
  for (const auto& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    ++count[phase];
    if (event["name"] == "thread_name") ++named[{event["pid"], event["tid"]}];
    if (phase == "X")
      lanes[{event["pid"], event["tid"]}].emplace_back(
          event["ts"], event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>());
  }
  EXPECT_EQ(count["X"], 5);  // job 0 ran in two parts
  EXPECT_EQ(count["i"], 3);
  EXPECT_EQ(count["C"], int(timeline_of(run.record).gpus.size() + 2 * timeline_of(run.record).fleet.size()));
  for (auto& [lane, stays] : lanes) {
    EXPECT_EQ(named[lane], 1);
    std::sort(stays.begin(), stays.end());
    for (std::size_t i = 1; i < stays.size(); ++i) EXPECT_LE(stays[i - 1].second, stays[i].first);
  }
  const std::pair<std::int64_t, std::int64_t> first(0, 40000000);
  EXPECT_EQ(lanes.at({1, 1}).front(), first);
}

TEST(Timeline, PowerTimesTimeIsTheEnergy) {
  const TestRun run = test_run();
  const Timeline line = timeline_of(run.record);
  EXPECT_EQ(line.idle_watts, 80);
  EXPECT_EQ(line.end, from_seconds(180));
  EXPECT_NEAR(line.fleet.back().joules, run.record.summary.energy_joules, 1e-6);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < line.fleet.size(); ++i)
    sum += joules(line.fleet[i].watts, line.fleet[i + 1].at - line.fleet[i].at);
  EXPECT_NEAR(sum, run.record.summary.energy_joules, 1e-6);
  EXPECT_EQ(line.fleet.back().running, 0u);
  EXPECT_EQ(line.fleet.back().queued, 0u);
  EXPECT_EQ(line.runs.front().how, JobRun::kStopped);
}

// A daemon's journal has withdrawals, overruns, blocked GPUs and jobs that were found.
TEST(Timeline, OfADaemonsJournal) {
  const TestRun run = live_test_run();
  const Timeline line = timeline_of(run.record);
  EXPECT_TRUE(line.layouts.empty());
  ASSERT_EQ(line.runs.size(), 3u);
  EXPECT_EQ(line.runs[0].how, JobRun::kFinished);  // job 0, found at 0 s
  EXPECT_EQ(line.runs[0].end, from_seconds(61));
  EXPECT_EQ(line.runs[1].how, JobRun::kWithdrawn);  // job 2
  EXPECT_EQ(line.runs[1].end, from_seconds(55));
  EXPECT_EQ(line.runs[2].how, JobRun::kFinished);  // job 1
  EXPECT_NEAR(line.fleet.back().joules, run.record.summary.energy_joules, 1e-6);
  EXPECT_EQ(line.fleet.back().watts, 80);
  EXPECT_EQ(line.fleet.back().busy_gpus, 0u);
  EXPECT_EQ(line.fleet.back().running, 0u);
  EXPECT_EQ(line.fleet.back().queued, 0u);
  const auto trace = nlohmann::json::parse(trace_json(run.record, line));
  int withdrawn = 0;
  for (const auto& event : trace["traceEvents"]) withdrawn += event["ph"] == "X" && event["args"]["end"] == "withdrawn";
  EXPECT_EQ(withdrawn, 1);
}

}  // namespace
}  // namespace smartmig
