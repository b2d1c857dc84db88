#include "report/tables.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/json.h"
#include "report/quote.h"
#include "support/recorded_test_run.h"

namespace smartmig {
namespace {

CsvReader open(const std::string& text) { return std::move(*CsvReader::open(LineReader::over("t", text))); }

TEST(Tables, JobsHaveBatsimsColumnsFirst) {
  const std::string text = jobs_csv(test_run().record);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_"
            "state,starting_time,execution_time,finish_time,"
            "waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata,kind,deadline,tardiness_"
            "s,gpu,slice,stops");
}

// Job 0: 10 s alone with 4 busy slices (243.9 - 40 W all its own), 30 s as 4 of 7 (208.5 W * 4/7), 10 s alone on 7g
// (208.5 W). Job 1: 30 s as 3 of 7, 20 s alone with 3 slices (165.3 W), 10 s as 3 of 4 (203.9 W * 3/4). Job 2: 10 s as
// 1 of 4, 110 s alone with one slice (79 W). Job 3 runs for no time.
TEST(Tables, JobsHoldWhatWasReckonedByHand) {
  const double energy[] = {10 * 203.9 + 30 * 208.5 * 4 / 7 + 10 * 208.5,
                           30 * 208.5 * 3 / 7 + 20 * 165.3 + 10 * 203.9 * 3 / 4, 10 * 203.9 / 4 + 110 * 79, 0};
  const std::string text = jobs_csv(test_run().record);
  CsvReader csv = open(text);
  struct Row {
    const char *id, *profile, *submit, *resources, *start, *execution, *finish, *wait, *turnaround, *stretch,
        *allocated, *deadline, *tardiness, *gpu, *slice, *stops;
  };
  const Row rows[] = {
      {"alpha", "train", "0", "8", "0", "50", "50", "0", "50", "1", "8-15", "100", "0", "1", "7g.40gb@0", "1"},
      {"be,ta", "", "10", "4", "10", "60", "70", "0", "60", "1", "4-7", "30", "40", "0", "3g.20gb@4", "0"},
      {"gamma", "train", "50", "1", "60", "120", "180", "10", "130", "1.0833333333333333", "0", "", "0", "0",
       "1g.5gb@0", "0"},
      {"delta", "infer", "60", "8", "60", "0", "60", "0", "0", "", "8-15", "60", "0", "1", "7g.40gb@0", "0"}};
  for (std::size_t j = 0; j < 4; ++j) {
    ASSERT_TRUE(*csv.next());
    const auto field = [&](const char* name) { return csv.text(csv.column(name)); };
    const Row& row = rows[j];
    EXPECT_EQ(field("job_id"), row.id);
    EXPECT_EQ(field("workload_name"), "by hand, for tests");
    EXPECT_EQ(field("profile"), row.profile);
    EXPECT_EQ(field("kind"), row.profile);
    EXPECT_EQ(field("submission_time"), row.submit);
    EXPECT_EQ(field("requested_number_of_resources"), row.resources);
    EXPECT_EQ(field("requested_time"), "-1");
    EXPECT_EQ(field("success"), "1");
    EXPECT_EQ(field("final_state"), "COMPLETED_SUCCESSFULLY");
    EXPECT_EQ(field("starting_time"), row.start);
    EXPECT_EQ(field("execution_time"), row.execution);
    EXPECT_EQ(field("finish_time"), row.finish);
    EXPECT_EQ(field("waiting_time"), row.wait);
    EXPECT_EQ(field("turnaround_time"), row.turnaround);
    EXPECT_EQ(field("stretch"), row.stretch);
    EXPECT_EQ(field("allocated_resources"), row.allocated);
    EXPECT_NEAR(*csv.number(csv.column("consumed_energy")), energy[j], 1e-9);
    EXPECT_EQ(field("metadata"), "");
    EXPECT_EQ(field("deadline"), row.deadline);
    EXPECT_EQ(field("tardiness_s"), row.tardiness);
    EXPECT_EQ(field("gpu"), row.gpu);
    EXPECT_EQ(field("slice"), row.slice);
    EXPECT_EQ(field("stops"), row.stops);
  }
  EXPECT_FALSE(*csv.next());
}

TEST(Tables, ScheduleSumsUp) {
  const TestRun run = test_run();
  const auto json = nlohmann::json::parse(schedule_json(run.record));
  EXPECT_EQ(json["makespan"], 180);
  EXPECT_EQ(json["nb_jobs"], 4);
  EXPECT_EQ(json["nb_jobs_finished"], 4);
  EXPECT_EQ(json["nb_jobs_success"], 4);
  EXPECT_EQ(json["max_waiting_time"], 10);
  EXPECT_DOUBLE_EQ(json["mean_waiting_time"], 2.5);
  EXPECT_EQ(json["max_turnaround_time"], 130);
  EXPECT_DOUBLE_EQ(json["mean_turnaround_time"], 60);
  EXPECT_DOUBLE_EQ(json["max_slowdown"], 13.0 / 12);
  EXPECT_DOUBLE_EQ(json["mean_slowdown"], (2 + 13.0 / 12) / 3);
  // GPU 0: 10 s at 243.9, 30 at 248.5, 20 at 205.3, 10 at 243.9, 110 at 119. GPU 1: idle but for 10 s at 248.5.
  const double joules = 20 * 243.9 + 30 * 248.5 + 20 * 205.3 + 110 * 119 + 170 * 40 + 10 * 248.5;
  EXPECT_NEAR(json["consumed_joules"], joules, 1e-8);
  EXPECT_NEAR(json["smartmig"]["idle_j"], 2 * 180 * 40, 1e-8);
  EXPECT_EQ(json["smartmig"]["late_jobs"], 1);
  EXPECT_EQ(json["smartmig"]["mean_tardiness_min"], 40.0 / 60 / 4);
  EXPECT_EQ(json["smartmig"].size(), 25u);
}

TEST(Tables, EnergyAndStatesFollowTheEvents) {
  const TestRun run = test_run();
  const Timeline line = timeline_of(run.record);
  const std::string energy = consumed_energy_csv(run.record, line);
  EXPECT_EQ(energy.substr(0, energy.find('\n')), "time,energy,wattmin,epower,event_type");
  EXPECT_NE(energy.find("\n0,0.000,80.000,283.900,s\n10,2839.000,80.000,283.900,s\n40,11494.000,80.000,288.500,s\n"),
            std::string::npos)
      << energy;
  const double last = run.record.summary.energy_joules;
  EXPECT_NE(energy.find(fmt::format("\n180,{:.3f},80.000,159.000,e\n", last)), std::string::npos) << energy;
  EXPECT_EQ(machine_states_csv(run.record, line),
            "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n0,0,0,0,1,1\n40,0,0,0,0,2\n50,0,0,"
            "0,1,1\n180,0,0,0,2,0\n");
  EXPECT_EQ(partition_changes_csv(run.record, line),
            "time,gpu,event,changed,layout\n60,0,reshape,1g.5gb@0+3g.20gb@4,4g.20gb@0+3g.20gb@4\n60,0,destroyed,4g."
            "20gb@0,3g.20gb@4\n"
            "60,0,created,1g.5gb@0,1g.5gb@0+3g.20gb@4\n");
}

TEST(Tables, ARunWithoutItsJournalStillHasJobs) {
  TestRun run = test_run();
  run.record.events = nullptr;
  const std::string text = jobs_csv(run.record);
  CsvReader csv = open(text);
  ASSERT_TRUE(*csv.next());
  EXPECT_EQ(csv.text(csv.column("slice")), "7g.40gb");
  EXPECT_EQ(csv.text(csv.column("allocated_resources")), "");
}

TEST(Tables, ConfigIsToml) {
  TestRun run = test_run();
  run.record.config.emplace_back("odd", "a \"b\" .5");
  run.record.config.emplace_back("hash", "0012345678901234");
  const std::string text = config_toml(run.record);
  for (const char* lines :
       {"version = \"0.0.1\"\n", "gpus = \"2xa100-40gb\"\n", "cost = \"paper\"\n", "a = 2e-07\n",
        "policy = \"by hand\"\n", "seed = 7\n", "odd = \"a \\\"b\\\" .5\"\n", "hash = \"0012345678901234\"\n"})
    EXPECT_NE(text.find(lines), std::string::npos) << lines << text;
}

TEST(Quote, KeepsTextWhole) {
  EXPECT_EQ(csv_quote("a"), "a");
  EXPECT_EQ(csv_quote("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(json_text("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(html_escape("<a&\">"), "&lt;a&amp;&quot;&gt;");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80\xc3"), "\\xED\\xA0\\x80\\xC3");
  EXPECT_EQ(seconds_text(Time(-1500000)), "-1.5");
  EXPECT_EQ(seconds_text(Time(INT64_MIN)), "-9223372036854.775808");
}

}  // namespace
}  // namespace smartmig
