#include "sim/workload_windows.h"

#include <gtest/gtest.h>

#include "sim/workload_spec.h"

namespace smartmig {
namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr Time kOneDay = std::chrono::hours(24);

// One job of an hour at each of these days, due two hours after its submit.
Workload jobs_at(const std::vector<double>& days) {
  Workload workload;
  workload.source = "file";
  for (const double day : days) {
    Job job;
    job.submit = from_seconds(day * 86400);
    job.deadline = job.submit + std::chrono::hours(2);
    job.work[6] = std::chrono::hours(1);
    workload.jobs.push_back(job);
  }
  return std::move(finish_workload(std::move(workload)).value());
}

TEST(WorkloadWindows, CutsFromMidnightAndSplitsByTime) {
  // Midnight before the first submit is day 100; nothing was submitted on day 103; the middle is day 104.5.
  const auto windows =
      WorkloadWindows::cut(jobs_at({100.5, 100.6, 101.1, 102, 104.1, 105.9, 106.2, 108.9}), kOneDay).value();
  EXPECT_EQ(windows.all(), (Numbers{0, 1, 2, 4, 5, 6, 8}));
  EXPECT_EQ(windows.training(), (Numbers{0, 1, 2})) << "window 4 crosses the middle";
  EXPECT_EQ(windows.held_out(), (Numbers{5, 6, 8}));
  const Workload first = windows.window(0).value();
  ASSERT_EQ(first.jobs.size(), 2u);
  EXPECT_EQ(first.days, 1);
  EXPECT_EQ(first.jobs[0].submit, std::chrono::hours(12));
  EXPECT_EQ(first.jobs[0].deadline, std::chrono::hours(14));
  const Workload other = windows.window(4).value();
  ASSERT_EQ(other.jobs.size(), 1u);
  EXPECT_EQ(other.name_of(0), "4") << "a job keeps its name";
  EXPECT_EQ(other.source, "file, window 4 of 1 d");
  const auto empty = windows.window(3);
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().what.find("it has 0,1,2,4,5,6,8"), std::string::npos) << empty.error().what;
}

TEST(WorkloadWindows, HalvesHoldForEveryLength) {
  std::vector<double> days;
  for (int i = 0; i < 400; ++i) days.push_back(i * 0.23);
  const Workload workload = jobs_at(days);
  const double middle = 46 * 86400;  // the last submit is on day 91
  for (const int hours : {1, 7, 24, 72, 14 * 24}) {
    const auto windows = WorkloadWindows::cut(workload, std::chrono::hours(hours)).value();
    for (const auto number : windows.training()) EXPECT_LE(double(number + 1) * hours * 3600, middle) << hours;
    for (const auto number : windows.held_out()) EXPECT_GE(double(number) * hours * 3600, middle) << hours;
  }
}

TEST(WorkloadWindows, OneWindowIsForReports) {
  const auto windows = WorkloadWindows::cut(jobs_at({0, 5, 13.9}), 14 * kOneDay).value();
  EXPECT_EQ(windows.training(), Numbers{});
  EXPECT_EQ(windows.held_out(), Numbers{0});
  EXPECT_EQ(windows.window(0)->days, 14);
}

TEST(WorkloadWindows, ALittleCoveredEndIsLeftOut) {
  EXPECT_EQ(WorkloadWindows::cut(jobs_at({0, 5, 11.4}), 5 * kOneDay)->all(), (Numbers{0, 1}));
  EXPECT_EQ(WorkloadWindows::cut(jobs_at({0, 5, 12.6}), 5 * kOneDay)->all(), (Numbers{0, 1, 2}));
}

TEST(WorkloadWindows, AShortFileIsSplitByHours) {
  const auto windows =
      WorkloadWindows::cut(jobs_at({23.1 / 24, 23.4 / 24, 23.6 / 24, 23.9 / 24}), std::chrono::minutes(15)).value();
  EXPECT_EQ(windows.training(), (Numbers{0, 1}));
  EXPECT_EQ(windows.held_out(), (Numbers{2, 3}));
  EXPECT_EQ(windows.length_in_words(), "15 min");
}

TEST(WorkloadWindows, RefusesNonsense) {
  EXPECT_FALSE(WorkloadWindows::cut(Workload{}, kOneDay));
  EXPECT_FALSE(WorkloadWindows::cut(jobs_at({0}), Time{0}));
}

}  // namespace
}  // namespace smartmig
