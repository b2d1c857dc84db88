#include "report/journal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/summary_text.h"
#include "support/cases.h"
#include "support/recorded_test_run.h"

namespace smartmig {
namespace {

void expect_same_state(const Cluster& a, const Cluster& b) {
  ASSERT_EQ(a.states().size(), b.states().size());
  EXPECT_EQ(a.now(), b.now());
  EXPECT_EQ(a.decision(), b.decision());
  for (std::size_t j = 0; j < a.states().size(); ++j) {
    const JobState &x = a.states()[j], &y = b.states()[j];
    EXPECT_EQ(x.phase, y.phase) << j;
    EXPECT_EQ(x.where, y.where) << j;
    EXPECT_EQ(x.type, y.type) << j;
    EXPECT_EQ(x.gpu, y.gpu) << j;
    EXPECT_EQ(x.remaining, y.remaining) << j;
    EXPECT_EQ(x.since, y.since) << j;
    EXPECT_EQ(x.finish, y.finish) << j;
    EXPECT_EQ(x.first_start, y.first_start) << j;
    EXPECT_EQ(x.joules, y.joules) << j;
    EXPECT_EQ(x.stopped_in, y.stopped_in) << j;
    EXPECT_EQ(x.stops, y.stops) << j;
  }
  for (std::size_t g = 0; g < a.gpus().size(); ++g) {
    EXPECT_EQ(a.gpus()[g].layout, b.gpus()[g].layout) << g;
    EXPECT_EQ(a.gpus()[g].target, b.gpus()[g].target) << g;
    EXPECT_EQ(a.gpus()[g].busy, b.gpus()[g].busy) << g;
    EXPECT_EQ(a.joules(GpuId(g)), b.joules(GpuId(g))) << g;
  }
}

Result<std::unique_ptr<ReplayedRun>> replay(std::string_view text) {
  return replay_journal(LineReader::over("j", text));
}

void round_trip(const TestRun& run) {
  const std::string text = journal_text(run.record);
  const auto read = replay(text);
  ASSERT_TRUE(read) << read.error().what;
  const RunRecord& record = (*read)->record;
  EXPECT_EQ(summary_fields(record.summary), summary_fields(run.record.summary));
  expect_same_state(*record.final, *run.final);
  EXPECT_EQ(hash_of(record.jobs->workload()), hash_of(run.record.jobs->workload()));
  EXPECT_EQ(record.config, run.record.config);
  EXPECT_EQ(record.initial, run.record.initial);
  EXPECT_EQ(record.cost.kind, run.record.cost.kind);
  EXPECT_EQ(record.cost.reshape, run.record.cost.reshape);
  EXPECT_EQ(journal_text(record), text);
}

TEST(Journal, ComesBackAsItWas) {
  round_trip(test_run());
  round_trip(test_run({CostModel::kHardware, {}}));
  round_trip(test_run({CostModel::kHardware, from_seconds(1.5)}));
  round_trip(live_test_run());
}

TEST(Journal, KnowsWhichJobsArePatient) {
  std::string text = journal_text(test_run().record);
  const auto at = text.find(",\"restart\":");
  ASSERT_NE(at, text.npos);
  const auto end = text.find('}', at);
  text.insert(end, ",\"patient\":1");
  const auto read = replay(text);
  ASSERT_TRUE(read) << read.error().what;
  const auto& jobs = (*read)->record.jobs->workload().jobs;
  EXPECT_EQ(std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.patient; }), 1);
  EXPECT_EQ(journal_text((*read)->record), text);
}

TEST(Journal, KnowsHowNeighboursSlowJobs) {
  std::string text = journal_text(test_run().record);
  const auto at = text.find(",\"restart\":");
  ASSERT_NE(at, text.npos);
  const auto end = text.find('}', at);
  const std::string plain = text;
  text.insert(end, ",\"log_slowdown\":0.1,\"beside\":0.8571428571428571");
  const auto read = replay(text);
  ASSERT_TRUE(read) << read.error().what;
  const auto& jobs = (*read)->record.jobs->workload().jobs;
  EXPECT_EQ(std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.crowding.log_slowdown == 0.1; }),
            1);
  EXPECT_EQ(journal_text((*read)->record), text);
  for (const char* wrong :
       {",\"log_slowdown\":3,\"beside\":0", ",\"log_slowdown\":0.1", ",\"log_slowdown\":0.1,\"beside\":-1"}) {
    std::string other = plain;
    EXPECT_FALSE(replay(other.insert(end, wrong))) << wrong;
  }
}

TEST(Journal, AStopAndStartInOneDecisionStaysAMoveOrASizeChange) {
  const auto read = replay(journal_text(test_run().record));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ((*read)->final.counters().preemptions, 1u);  // from 4g to 7g
  EXPECT_EQ((*read)->final.counters().moves, 0u);
}

TEST(Journal, TakesAnotherWeight) {
  const auto read = replay_journal(LineReader::over("j", journal_text(test_run().record)), 0.5);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->record.summary.a, 0.5);
}

TEST(Journal, CutAfterAnyLineItIsARunNotYetDone) {
  const std::string text = journal_text(test_run().record);
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
    const auto read = replay(std::string_view(text).substr(0, end + 1));
    EXPECT_TRUE(read) << end << ": " << read.error().what;
  }
}

TEST(Journal, CutAnywhereItNeverStopsTheProgram) {
  for (const std::string& text : {journal_text(test_run().record), journal_text(live_test_run().record)})
    for (std::size_t i = 0, cuts = std::min(text.size(), std::size_t(cases(int(text.size())))); i < cuts; ++i) {
      const std::size_t end = text.size() * i / cuts;
      const auto read = replay(std::string_view(text).substr(0, end));
      EXPECT_TRUE(read || !read.error().what.empty()) << end;
    }
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

struct Case {
  const char *from, *to, *complaint;
};
void expect_complaints(const std::string& good, std::span<const Case> cases) {
  for (const Case& c : cases) {
    const auto read = replay(replaced(good, c.from, c.to));
    ASSERT_FALSE(read) << c.from << " -> " << c.to;
    EXPECT_NE(read.error().what.find(c.complaint), std::string::npos) << c.to << ": " << read.error().what;
    EXPECT_EQ(read.error().what.rfind("j", 0) == 0, true) << read.error().what;
  }
}

TEST(Journal, RefusesWhatCannotBeAndSaysWhere) {
  const Case cases[] = {
      {"\"smartmig_journal\":1", "\"smartmig_journal\":9", "written by smartmig 0.0.1"},
      {"\"smartmig_journal\":1,", "", "not a smartmig journal"},
      {"2xa100-40gb", "2xa900-40gb", "line 1: platform"},
      {"2xa100-40gb", "3xa100-40gb", "layouts for 2 of 3 GPUs"},
      {"2xa100-40gb", "1xa100-40gb", "more than 1 GPUs"},
      {"\"power\":\"auto\"", "\"power\":\"h900\"", "power model must be"},
      {"\"cost\":\"paper\"", "\"cost\":\"free\"", "line 1: cost"},
      {"\"a\":2e-07", "\"a\":-1", "line 1: a"},
      {"\"a\":2e-07", "\"a\":1e999", "line 1"},
      {"\"days\":1", "\"days\":0", "line 1: days"},
      {"\"days\":1,", "", "days is missing"},
      {"\"days\":1,", "\"days\":1,\"days\":1,", "'days' twice"},
      {"\"days\":1,", "\"days\":1,\"hours\":1,", "hours is not known"},
      {"\"kinds\":[\"train\"", "\"kinds\":[\"infer\"", "names a kind twice"},
      {"3g.20gb@4\"]]", "3g.20gb@0\"]]", "does not fit with"},
      {"\"seq\":1,", "\"seq\":2,", "line 3: seq"},
      {"\"ev\":\"started\"", "\"ev\":\"begun\"", "line 3: ev"},
      {"\"t\":0,\"seq\":1", "\"t\":-5,\"seq\":1", "line 3: t"},
      {"\"t\":0,\"seq\":1", "\"t\":0.5,\"seq\":1", "must be a whole number"},
      {"\"t\":0,\"seq\":1", "\"t\":99999999999999999999,\"seq\":1", "line 3: t"},
      {"\"t\":10000000,\"seq\":3", "\"t\":9000000,\"seq\":3",
       "line 5: 'started' cannot happen here: 9000000 us lies before"},
      {"\"ev\":\"started\",\"job\":0,\"gpu\":0", "\"ev\":\"finished\",\"job\":0,\"gpu\":0", "gpu is not known here"},
      {"\"ev\":\"started\",\"job\":0,\"gpu\":0,\"slice\":\"4g.20gb@0\"", "\"ev\":\"finished\",\"job\":0",
       "line 3: 'finished' cannot happen here: job alpha is not running"},
      {"\"ev\":\"started\",\"job\":0,\"gpu\":0", "\"ev\":\"started\",\"job\":1,\"gpu\":0",
       "job 1 was not submitted before this line"},
      {"\"ev\":\"started\",\"job\":0,\"gpu\":0", "\"ev\":\"started\",\"job\":0,\"gpu\":2", "line 3: gpu"},
      {"\"slice\":\"4g.20gb@0\"", "\"slice\":\"4g.20gb@1\"", "has no slice '4g.20gb@1'"},
      {"\"slice\":\"4g.20gb@0\"", "\"slice\":\"2g.10gb@0\"", "line 3: 'started' cannot happen here"},
      {"\"slice\":\"3g.20gb@4\"", "\"slice\":\"4g.20gb@0\"", "is busy"},
      {"\"job\":1,\"name\":\"be,ta\"", "\"job\":0,\"name\":\"be,ta\"", "job 0 was submitted before"},
      {"\"job\":1,\"name\":\"be,ta\"", "\"job\":2,\"name\":\"be,ta\"", "is 2 instead of 1"},
      {"\"job\":1,\"name\":\"be,ta\"", "\"job\":1", "for every job or for none"},
      {"\"name\":\"be,ta\"", "\"name\":\"alpha\"", "two jobs are called 'alpha'"},
      {"\"kind\":\"train\"", "\"kind\":\"bake\"", "line 2: kind"},
      {"\"work\":[240000000", "\"work\":[-1", "line 2: work"},
      {"\"work\":[240000000,120000000,80000000,60000000,null,null,30000000]", "\"work\":[]", "must list 1 to 8 times"},
      {"\"work\":[0,0,0,0,null,null,0]", "\"work\":[0,0,0,0,null,null,null]", "trailing nulls"},
      {"\"mem\":1000", "\"mem\":999999", "job delta needs 999999 MiB of GPU memory"},
      {"\"restart\":5000000", "\"restart\":\"soon\"", "line 2: restart"},
      {"\"ev\":\"stopped\",\"job\":0", "\"ev\":\"stopped\",\"job\":1",
       "line 7: 'started' cannot happen here: job alpha is not waiting"},
      {"\"ev\":\"destroyed\",\"gpu\":0,\"slices\":[\"4g.20gb@0\"]",
       "\"ev\":\"destroyed\",\"gpu\":0,\"slices\":[\"3g.20gb@4\"]", "3g.20gb@4 is busy"},
      {"\"ev\":\"destroyed\",\"gpu\":0,\"slices\":[\"4g.20gb@0\"]",
       "\"ev\":\"destroyed\",\"gpu\":0,\"slices\":[\"1g.5gb@0\"]", "does not have 1g.5gb@0"},
      {"\"ev\":\"destroyed\",\"gpu\":0,\"slices\":[\"4g.20gb@0\"]", "\"ev\":\"destroyed\",\"gpu\":0,\"slices\":[]",
       "no slice is named"},
      {"\"ev\":\"created\",\"gpu\":0,\"slices\":[\"1g.5gb@0\"]",
       "\"ev\":\"created\",\"gpu\":0,\"slices\":[\"1g.5gb@4\"]", "does not fit with"},
      {"\"ev\":\"reshape\",\"gpu\":0,\"slices\":[\"1g.5gb@0\",\"3g.20gb@4\"]",
       "\"ev\":\"reshape\",\"gpu\":0,\"slices\":[\"7g.40gb@0\"]", "busy slices"},
      {"\n{\"t\":180", "\n\n{\"t\":180", "is not valid JSON"},
  };
  expect_complaints(journal_text(test_run().record), cases);
  EXPECT_FALSE(replay(""));
  EXPECT_FALSE(replay("\xff\xfe"));
  EXPECT_FALSE(replay("[]"));
  EXPECT_FALSE(replay("{}"));
}

TEST(Journal, RefusesWhatCannotBeFound) {
  const Case cases[] = {
      {",\"left\":20000000", "", "line 3: left is missing"},
      {"\"left\":20000000", "\"left\":\"x\"", "line 3: left"},
      {"\"ev\":\"found_running\"", "\"ev\":\"started\"", "left is not known here"},
      {"\"slice\":\"4g.20gb@0\",\"left\"", "\"slice\":\"2g.10gb@0\",\"left\"",
       "line 3: 'found_running' cannot happen here: GPU 0 placement"},
      {"\"slice\":\"1g.5gb@0\",\"left\"", "\"slice\":\"1g.5gb@8\",\"left\"", "has no slice '1g.5gb@8'"},
      {"\"ev\":\"found_waiting\",\"job\":1,\"gpu\":0,\"slice\":\"1g.5gb@0\"",
       "\"ev\":\"found_running\",\"job\":1,\"gpu\":0,\"slice\":\"4g.20gb@0\"", "is busy"},
      {"\"ev\":\"found_waiting\",\"job\":1", "\"ev\":\"found_waiting\",\"job\":0", "job alpha is not waiting"},
      {"\"ev\":\"withdrawn\",\"job\":3", "\"ev\":\"withdrawn\",\"job\":2", "job gamma is not waiting"},
  };
  expect_complaints(journal_text(live_test_run().record), cases);
}

// A daemon writes notes between the events, and a job that it put back into its queue comes again under its name.
TEST(Journal, NotesArePassedOverAndAJobMayComeBack) {
  const std::string original = journal_text(test_run().record);
  std::string text = original;
  text.insert(text.find('\n') + 1, "{\"at\":1.5,\"note\":\"repaired\",\"words\":\"t\"}\n");
  const auto plain = replay(original);
  auto noted = replay(text);
  ASSERT_TRUE(plain && noted) << noted.error().what;
  EXPECT_EQ((*plain)->events.size(), (*noted)->events.size());
  const std::size_t begin = text.find("\"ev\":\"submitted\",\"job\":0,") + 24;
  const std::string rest = text.substr(begin, text.find('\n', begin) - begin);
  const std::string again =
      fmt::format("{{\"t\":{},\"seq\":{},\"ev\":\"submitted\",\"job\":{}{}\n", (*plain)->events.back().at.count(),
                  (*plain)->events.size(), (*plain)->record.jobs->size(), rest);
  noted = replay(text + again);
  ASSERT_TRUE(noted) << noted.error().what;
  EXPECT_EQ((*noted)->record.jobs->workload().names.back(), (*noted)->record.jobs->workload().names.front() + "#2");
}

TEST(Journal, NamesOfAnyBytesAreKept) {
  TestRun run = test_run();
  Workload workload = test_workload();
  workload.names[0] = "a\"b\\\n\x01<\xc3\xa9\xe9";
  run.record.jobs = std::make_shared<const JobTable>(
      *JobTable::bind(std::make_shared<const Workload>(workload), *run.record.platform));
  const auto read = replay(journal_text(run.record));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ((*read)->record.jobs->workload().names[0], "a\"b\\\n\x01<\xc3\xa9\\xE9");
}

}  // namespace
}  // namespace smartmig
