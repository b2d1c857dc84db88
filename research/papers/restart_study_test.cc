#include "research/papers/restart_study.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace smartmig {
namespace {

TEST(RestartStudy, JobsAreMadeFromTheirSeedAndShowNoLessThanTheyHold) {
  for (int s = 0; s < kLlmSchedules; ++s)
    for (int a = 0; a < kAllocatorKinds; ++a) {
      if (!possible(LlmSchedule(s), AllocatorKind(a))) continue;
      const LlmJob job = make_llm_job(LlmSchedule(s), AllocatorKind(a), 7);
      const LlmJob again = make_llm_job(LlmSchedule(s), AllocatorKind(a), 7);
      const LlmTrace trace = run_on(job, memory_ladder().back());
      EXPECT_EQ(trace.device_mib, run_on(again, memory_ladder().back()).device_mib);
      EXPECT_EQ(trace.failed, trace.held_mib.size() < kLlmPoints);
      ASSERT_FALSE(trace.held_mib.empty());
      const double shown = *std::max_element(trace.device_mib.begin(), trace.device_mib.end());
      EXPECT_LE(shown, memory_ladder().back());
      EXPECT_GE(shown, *std::max_element(trace.held_mib.begin(), trace.held_mib.end()))
          << name_of(LlmSchedule(s)) << " " << name_of(AllocatorKind(a));
    }
}

TEST(RestartStudy, WhoWaitsMissesAllAndRestartsNothingThatFits) {
  int doomed = 0;
  for (std::uint64_t seed = 1; seed < 12; ++seed) {
    const LlmJob job = make_llm_job(LlmSchedule::kDecode, AllocatorKind::kCaching, seed);
    const Foresight waited = judge_llm_job(job, RestartMethod::kWait);
    EXPECT_EQ(waited.missed, waited.doomed);
    EXPECT_EQ(waited.false_restarts, 0);
    doomed += waited.doomed;
  }
  EXPECT_GT(doomed, 0);
}

TEST(RestartStudy, LosesLessThanWaitingAndThanMemoryOverTime) {  // on training seeds
  const PaperReport report = restart_report({2, 1, 2});
  const auto& rows = report.json["rows"];
  ASSERT_EQ(rows[0]["method"], "asked of the framework");
  ASSERT_EQ(rows[1]["method"], "work and history");
  for (const int ours : {0, 1})
    for (const int other : {2, 3})
      EXPECT_LT(rows[ours]["mean_lost_s"].get<double>(), 0.7 * rows[other]["mean_lost_s"].get<double>());
  EXPECT_EQ(report.json, restart_report({2, 1, 1}).json) << "for any number of threads";
}

}  // namespace
}  // namespace smartmig
