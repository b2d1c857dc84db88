#include "research/papers/recorded_llm.h"

#include <gtest/gtest.h>

#include <set>

#include "research/research_files.h"

namespace smartmig {
namespace {

TEST(RecordedLlm, CasesAreExactOrNotMade) {
  const auto runs = parse_recorded_runs(research_file("llm_runs.csv"), research_file("llm_series.csv"));
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->size(), 186u);
  std::set<std::string> groups;
  for (const RecordedRun& run : *runs) groups.insert(run.group);
  EXPECT_EQ(groups.size(), 51u);
  int failed = 0, fits = 0;
  for (const bool earlier : {false, true})
    for (const RecordedCase& one : recorded_cases(*runs, RecordedPart::kTuning, earlier)) {
      EXPECT_EQ(part_of(one.run->group), RecordedPart::kTuning);
      EXPECT_EQ(one.earlier.empty(), !earlier);
      for (const RecordedRun* past : one.earlier) EXPECT_NE(past->input, one.run->input) << past->name;
      one.failed() ? ++failed : ++fits;
      if (!one.failed()) {
        for (const RecordedRun::Point& p : one.run->points) EXPECT_LE(p.device_mib, one.limit_mib) << one.run->name;
      }
    }
  EXPECT_GT(failed, 100);
  EXPECT_GT(fits, 100);
}

TEST(RecordedLlm, WhoWaitsLosesWhatWasDoneAndTheRestart) {
  const auto runs = parse_recorded_runs(research_file("llm_runs.csv"), research_file("llm_series.csv"));
  ASSERT_TRUE(runs);
  for (const RecordedCase& one : recorded_cases(*runs, RecordedPart::kTuning, false)) {
    const Foresight waited = judge_recorded(one, RestartMethod::kWait);
    EXPECT_EQ(waited.false_restarts, 0);
    EXPECT_EQ(waited.lost_s, one.failed() ? one.at(one.failure) + one.restart_s : 0);
  }
}

TEST(RecordedLlm, DamageIsNamed) {
  EXPECT_FALSE(parse_recorded_runs("run,group,input,limit_mib,outcome,seconds,command\nr,nothing,0,0,ended,1,x\n",
                                   "run,at_ms,device_mib,held_mib,text\n"));
  EXPECT_FALSE(parse_recorded_runs("run,group,input,limit_mib,outcome,seconds,command\n",
                                   "run,at_ms,device_mib,held_mib,text\nr,soon,1,1,\n"));
}

TEST(RecordedLlm, TheSecondRoundIsReadAndHasNoCommandOfTheFirst) {
  const auto first = parse_recorded_runs(research_file("llm_runs.csv"), research_file("llm_series.csv"));
  const auto second = parse_recorded_runs(research_file("llm_runs_2.csv"), research_file("llm_series_2.csv"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  std::set<std::string> groups, kinds, new_kinds;
  for (const RecordedRun& run : *first) groups.insert(run.group), kinds.insert(run.kind);
  for (const RecordedRun& run : *second) {
    EXPECT_FALSE(groups.count(run.group)) << run.group;
    EXPECT_EQ(part_of(run.group), RecordedPart::kReport);
    if (!kinds.count(run.kind)) new_kinds.insert(run.kind);
  }
  EXPECT_GE(new_kinds.size(), 5u);
}

TEST(RecordedLlm, RoundsArePartsOfTheStudy) {
  EXPECT_EQ(part_of("default/chat/0"), RecordedPart::kTuning);
  EXPECT_EQ(part_of("default/chat/1"), RecordedPart::kTuning);
  EXPECT_EQ(part_of("default/chat/2"), RecordedPart::kReport);
  EXPECT_EQ(part_of("jax/jax_index/3"), RecordedPart::kReport);
}

TEST(RecordedLlm, AskingTheFrameworkForeseesMoreThanItsWords) {  // on the tuning round
  const auto runs = parse_recorded_runs(research_file("llm_runs.csv"), research_file("llm_series.csv"));
  ASSERT_TRUE(runs);
  Foresight asked, words;
  const std::vector<RecordedCase> cases = recorded_cases(*runs, RecordedPart::kTuning, true);
  for (std::size_t c = 0; c < cases.size(); c += 5) {
    asked.add(judge_recorded(cases[c], RestartMethod::kAsked));
    words.add(judge_recorded(cases[c], RestartMethod::kWork));
  }
  EXPECT_LT(asked.lost_s, 0.8 * words.lost_s);
  EXPECT_LT(asked.missed_heralded, words.missed_heralded);
  EXPECT_LT(asked.false_restarts, 0.1 * asked.fitting);
}

}  // namespace
}  // namespace smartmig
