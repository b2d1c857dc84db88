#include "sim/sacct.h"

#include <gtest/gtest.h>

#include "sim/traces/trace_reading.h"

namespace smartmig {
namespace {

constexpr const char* kSacctHeader = "JobIDRaw|Submit|ElapsedRaw|State|AllocTRES|User\n";

Result<Workload> read_history(const std::string& text) {
  return read_sacct(LineReader::over("history.txt", kSacctHeader + text));
}

TEST(Sacct, JobsWithAGpuAreKept) {
  const auto workload = read_history(
      "7|2026-11-17T01:00:00|100|COMPLETED|billing=8,cpu=8,gres/gpu:a100=1,gres/gpu=1,node=1|a\n"
      "8|2026-11-17T00:30:00|50|FAILED|cpu=1,gres/gpu=1|b\n"
      "8.batch|2026-11-17T00:30:00|50|FAILED|cpu=1,gres/gpu=1|b\n"
      "9|2026-11-17T02:00:00|0|CANCELLED by 0|gres/gpu=1|b\n"
      "10|2026-11-17T02:00:00|9|RUNNING|gres/gpu=1|b\n"
      "11|2026-11-17T02:00:00|9|COMPLETED|cpu=4|b\n"
      "12|2026-11-17T02:00:00|9|COMPLETED|gres/gpu=4|b\n"
      "13|2026-11-18T02:00:00|30|TIMEOUT|gres/mig=4|b\n");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"8", "7", "13"}));
  EXPECT_EQ(workload->jobs[0].submit, std::chrono::minutes(30));
  EXPECT_EQ(workload->jobs[2].submit, std::chrono::hours(26));
  EXPECT_EQ(workload->jobs[1].work_on(7), std::chrono::seconds(100));
  const std::string rules = fmt::format("{}", fmt::join(workload->rules, "\n"));
  EXPECT_NE(rules.find("1 jobs that never ran left out"), std::string::npos) << rules;
  EXPECT_NE(rules.find("1 jobs that have not ended left out"), std::string::npos) << rules;
  EXPECT_NE(rules.find("1 lines of job steps are not counted as jobs"), std::string::npos) << rules;
}

TEST(Sacct, WaitsMemoryAndNamesAreUsedWhereTheyAre) {
  TraceReading reading;
  LoadOptions options;
  options.reading = &reading;
  const auto workload = read_sacct(
      LineReader::over("h",
                       "JobIDRaw|JobName|Submit|Start|ElapsedRaw|State|AllocTRES|TRESUsageInMax\n"
                       "1|bert-train|2026-11-17T01:00:00|2026-11-17T01:01:00|3600|COMPLETED|gres/gpu=1|\n"
                       "1.0|python|2026-11-17T01:00:00|2026-11-17T01:01:00|3600|COMPLETED|gres/gpu=1|gres/gpumem=4G\n"
                       "1.1|python|2026-11-17T01:00:00|2026-11-17T01:01:00|3600|COMPLETED|gres/gpu=1|"
                       "cpu=00:00:01,gres/gpumem=512M,gres/gpuutil=9\n"
                       "2|x|2026-11-17T01:00:00|2026-11-17T01:03:00|1800|FAILED|gres/gpu=1|gres/gpumem=1048577\n"
                       "3|x|2026-11-17T01:00:00|None|1800|FAILED|gres/gpu=1|gres/gpumem=many\n"
                       "4|x|2026-11-17T01:00:00|2026-11-17T09:03:00|3600|FAILED|gres/gpu=4|\n"),
      options);
  ASSERT_TRUE(workload) << workload.error().what;
  ASSERT_EQ(workload->jobs.size(), 3u);
  EXPECT_EQ(workload->jobs[0].mem_mib, 4096);
  EXPECT_EQ(workload->jobs[1].mem_mib, 2);
  EXPECT_EQ(workload->jobs[2].mem_mib, -1);
  EXPECT_EQ(workload->kind_of(workload->jobs[0]), "bert-train");
  ASSERT_TRUE(reading.recorded.wait_s.has_value());
  EXPECT_DOUBLE_EQ(*reading.recorded.wait_s, 120);
  EXPECT_DOUBLE_EQ(reading.recorded.gpu_hours, 2);
  EXPECT_DOUBLE_EQ(reading.recorded.left_out_gpu_hours, 4);
}

TEST(Sacct, RefusesAndNamesThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"7|2026-11-17|100|COMPLETED|gres/gpu=1|a\n", "history.txt line 2: Submit '2026-11-17'"},
      {"7|2026-02-30T00:00:00|100|COMPLETED|gres/gpu=1|a\n", "line 2: Submit"},
      {"7|2026-11-17T01:00:00|x|COMPLETED|gres/gpu=1|a\n", "line 2: ElapsedRaw 'x'"},
      {"7|2026-11-17T01:00:00|100|COMPLETED\n", "line 2: 4 columns, the header has 6"}};
  for (const auto& [text, words] : cases) {
    const auto workload = read_history(text);
    ASSERT_FALSE(workload) << text;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << workload.error().what;
  }
  const auto lacking = read_sacct(LineReader::over("h", "JobID|Submit|State\n"));
  ASSERT_FALSE(lacking);
  EXPECT_NE(lacking.error().what.find("sacct -a -X -P --format="), std::string::npos);
}

}  // namespace
}  // namespace smartmig
