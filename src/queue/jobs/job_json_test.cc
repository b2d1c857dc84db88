#include "queue/jobs/job_json.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

// As version 0.1 wrote it before the fields stood in a table, but for `shape`, `script` and `long_command`.
constexpr const char* kState =
    R"({"ahead_began":-1,"ahead_refused":"","array":[4,0,3,1],"array_id":12,"array_index":2,"attempt":3,"device":"MIG-1",)"
    R"("energy_source":1,"estimate":1200000000,"estimate_source":1,"exit_code":-1,"exit_signal":0,"first_started":5000000,)"
    R"("gid":1000,"gpu":1,"held_by":0,"held_s":0.0,"hidden_s":0.0,"joules":125.5,"mem_mib":18432,"oom_restarts":1,)"
    R"("overruns":0,"peak_mib":9000,"preemptions":2,"reason":"","remaining":0.25,"slice":"2g.10gb@4","slice_s":30.5,)"
    R"("spread":0.3,"started":9000000,"suspended":-1,"suspensions":0,"tensors_mib":-1,"to_cuda_s":-1.0,)"
    R"("told":1500000000,"user":"alice","wish":0})";
constexpr const char* kSpec =
    R"({"command":["python3","train.py"],"directory":"/srv/alice","name":"train","mem_mib":18432,"min_slices":2,)"
    R"("deadline_at":1763222400.5,"requeue":true,"grace_s":30.0,"patient":false,"exact_memory":false,"prelaunch":false,)"
    R"("array_limit":2})";

JobRow old_row() {
  JobRow row;
  row.id = 14;
  row.uid = 1000;
  row.status = int(JobStatus::kRunning);
  row.submitted_us = 1'000'000;
  row.ended_us = -1;
  row.state = kState;
  row.spec = kSpec;
  return row;
}

TEST(JobRow, OneOfAnOlderProgramIsReadAndWrittenAsItWas) {
  const auto job = from_row(old_row());
  ASSERT_TRUE(job) << job.error().what;
  EXPECT_EQ(job->status, JobStatus::kRunning);
  EXPECT_EQ(label(*job), "12_2");
  EXPECT_EQ(job->array.last, 3);
  EXPECT_EQ(job->owner.name, "alice");
  EXPECT_EQ(job->attempt, 3);
  EXPECT_EQ(to_string(job->place.slice), "2g.10gb@4");
  EXPECT_EQ(job->times.started, from_unix_us(9'000'000));
  EXPECT_EQ(job->work.estimate, Time(1'200'000'000));
  EXPECT_EQ(job->work.source, EstimateSource::kHistory);
  EXPECT_EQ(job->work.remaining, 0.25);
  EXPECT_EQ(job->memory.peak_mib, 9000);
  EXPECT_EQ(job->energy.joules, 125.5);
  EXPECT_EQ(job->counts.preempted, 2);
  EXPECT_FALSE(job->suspended);
  EXPECT_EQ(job->spec.array_limit, 2);
  EXPECT_EQ(job->spec.patient, false);
  const JobRow again = to_row(*job, true);
  const Json state = Json::parse(again.state), before = Json::parse(kState);
  for (const auto& [key, value] : before.items()) EXPECT_EQ(state[key], value) << key;
  EXPECT_EQ(Json::parse(again.spec), Json::parse(kSpec));
}

TEST(JobRow, WhatOlderRowsLackHasAFallbackAndWhatIsWrongIsNamed) {
  const auto without = [](std::initializer_list<const char*> keys) {
    JobRow row = old_row();
    Json state = Json::parse(row.state);
    for (const char* key : keys) state.erase(key);
    row.state = state.dump();
    return from_row(row);
  };
  const auto older = without({"held_by", "suspended", "suspensions", "slice_s", "spread", "told", "tensors_mib",
                              "energy_source", "ahead_began", "held_s", "hidden_s", "to_cuda_s", "array"});
  ASSERT_TRUE(older) << older.error().what;
  EXPECT_EQ(older->prelaunch.began, kNotYet);
  EXPECT_EQ(older->prelaunch.to_cuda_s, -1);
  EXPECT_EQ(older->energy.source, EnergySource::kModel);
  EXPECT_GT(older->work.spread, 0);
  for (const char* key : {"attempt", "gpu", "joules", "remaining", "array_id"}) {
    const auto broken = without({key});
    ASSERT_FALSE(broken) << key;
    EXPECT_NE(broken.error().what.find(std::string("stored job 14: ") + key), std::string::npos) << broken.error().what;
  }
  JobRow row = old_row();
  row.state = R"({"surprise":1})";
  EXPECT_FALSE(from_row(row));
}

}  // namespace
}  // namespace smartmig
