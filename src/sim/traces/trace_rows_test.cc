#include "sim/traces/trace_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/kind_curve.h"
#include "sim/traces/trace_formats.h"
#include "sim/traces/trace_reading.h"
#include "support/paths.h"

namespace smartmig {
namespace {

const std::string kTraceHeader = "submit_time_s,duration_s,num_gpus,gpu_milli,gpu_mem_mib,job_kind,group,deadline_s\n";

Result<Workload> read_trace(const std::string& text, const LoadOptions& options = {}) {
  TraceSource source;
  source.name = "trace";
  source.open = [&]() -> Result<LineReader> { return LineReader::over("trace", text); };
  source.whole = [&]() -> Result<std::string> { return text; };
  return read_trace_file(source, options);
}

bool has_rule(const Workload& workload, const std::string& words) {
  return std::any_of(workload.rules.begin(), workload.rules.end(),
                     [&](const std::string& rule) { return rule.find(words) != rule.npos; });
}

std::string all_rules(const Workload& workload) { return fmt::format("{}", fmt::join(workload.rules, "\n")); }

TEST(TraceRows, ReadsTheSampleAndSaysItsRules) {
  const auto workload = load_workload(source_dir() + "/tests/data/trace.csv");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"1", "7", "5"}));
  const Job &first = workload->jobs[0], &no_submit = workload->jobs[1], &part = workload->jobs[2];
  EXPECT_EQ(workload->kind_of(first), "transformer-train-32");
  EXPECT_EQ(first.work_on(7), std::chrono::seconds(120));
  EXPECT_EQ(first.work_on(1), from_seconds(120 * 874.317 / 142.476));
  EXPECT_EQ(first.deadline, std::chrono::seconds(240)) << "an offset after submit";
  EXPECT_EQ(first.mem_mib, -1);
  EXPECT_TRUE(workload->kind_of(no_submit).starts_with("bert-train-"));
  EXPECT_EQ(no_submit.restart, std::chrono::seconds(120));
  EXPECT_EQ(no_submit.submit, Time(0));
  EXPECT_EQ(part.submit, Time(25'500'000));
  EXPECT_EQ(part.mem_mib, 2048);
  EXPECT_GE(part.deadline, part.submit + std::chrono::seconds(90));
  EXPECT_LE(part.deadline, part.submit + std::chrono::seconds(135));
  EXPECT_TRUE(has_rule(*workload,
                       "7 rows, 3 jobs kept; dropped: 1 with more than one GPU, 1 with none, 2 without "
                       "a usable duration"))
      << all_rules(*workload);
  EXPECT_TRUE(has_rule(*workload, "kinds: 2 by the model name, 1 by a hash")) << all_rules(*workload);
  EXPECT_TRUE(has_rule(*workload, "deadlines: 1 from the file, 2 drawn as submit + U(1, 1.5)")) << all_rules(*workload);
  EXPECT_TRUE(has_rule(*workload, "1 jobs have no submit time")) << all_rules(*workload);
  EXPECT_TRUE(has_rule(*workload, "gpu_milli is not used; 2 rows")) << all_rules(*workload);
}

TEST(TraceRows, TokensNeedASpeed) {
  const std::string file = source_dir() + "/tests/data/trace_tokens.csv";
  const auto refused = load_workload(file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("--tokens-per-s"), std::string::npos);
  LoadOptions options;
  options.tokens_per_s = 100;
  const auto workload = load_workload(file, options);
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->jobs[0].work_on(7), Time(48'180'000));
  EXPECT_EQ(workload->jobs[2].work_on(7), Time(200'000));
  EXPECT_TRUE(has_rule(*workload, "3 durations are (context + generated tokens) / 100")) << all_rules(*workload);
}

TEST(TraceRows, SlackOptionReplacesDeadlinesOfTheFile) {
  LoadOptions options;
  options.slack = SlackRange{4, 4};
  const auto workload = read_trace(kTraceHeader + "5,10,1,1000,,train,,33\n", options);
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->jobs[0].deadline, std::chrono::seconds(45));
  options.slack = SlackRange{100, 100};
  EXPECT_FALSE(read_trace(kTraceHeader + "9e9,9e9,1,1000,,train,,\n", options))
      << "a deadline out of range is refused, not wrapped";
  EXPECT_EQ(read_trace(kTraceHeader + "5,10,1,1000,,train,,-6\n")->jobs[0].deadline, std::chrono::seconds(-1));
}

TEST(TraceRows, MissingDeadlinesAreDrawnAtTheSlackAskedFor) {
  LoadOptions options;
  options.missing_slack = SlackRange{3, 3};
  const auto workload = read_trace(kTraceHeader + "10,100,1,,,bert,,\n10,100,1,,,bert,,400\n", options);
  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->jobs[0].deadline, std::chrono::seconds(310));
  EXPECT_EQ(workload->jobs[1].deadline, std::chrono::seconds(410)) << "the file's own stays";
  EXPECT_TRUE(has_rule(*workload, "1 from the file, 1 drawn as submit + U(3, 3)")) << all_rules(*workload);
}

TEST(TraceRows, DrawsDependOnSeedAndRowOnly) {
  const std::string row = "5,10,1,1000,,train,,\n";
  const auto one = read_trace(kTraceHeader + row), two = read_trace(kTraceHeader + row + row);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->jobs[0].deadline, two->jobs[0].deadline);
  EXPECT_NE(two->jobs[0].deadline, two->jobs[1].deadline);
  LoadOptions options;
  options.seed = 3;
  EXPECT_NE(read_trace(kTraceHeader + row, options)->jobs[0].deadline, one->jobs[0].deadline);
}

TEST(TraceRows, GpuWithoutMeasurementsSaysWhoseItUses) {
  LoadOptions options;
  options.gpu = "a30-24gb";
  const auto workload = read_trace(kTraceHeader + "5,10,1,1000,,train,,\n", options);
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->reference_gpu, "a100-40gb");
  EXPECT_TRUE(has_rule(*workload, "there are no measured speeds for a30-24gb, so those of a100-40gb are used"))
      << all_rules(*workload);
  options.gpu = "h200-141gb";
  EXPECT_EQ(read_trace(kTraceHeader + "5,10,1,1000,,train:bert,,\n", options)->kinds[0], "bert-train-32");
}

TEST(TraceRows, MalformedNumbersStopWithThePlace) {
  const std::pair<const char*, const char*> rows[] = {{"x,10,1,,,,,\n", "trace line 2, column 'submit_time_s'"},
                                                      {"-1,10,1,,,,,\n", "column 'submit_time_s'"},
                                                      {"1e11,10,1,,,,,\n", "column 'submit_time_s'"},
                                                      {"0,1o,1,,,,,\n", "column 'duration_s'"},
                                                      {"0,1e11,1,,,,,\n", "column 'duration_s'"},
                                                      {"0,10,one,,,,,\n", "column 'num_gpus'"},
                                                      {"0,10,4,x,,,,\n", "column 'gpu_milli'"},
                                                      {"0,10,1,,-3,,,\n", "column 'gpu_mem_mib'"},
                                                      {"0,10,1,,,,,soon\n", "column 'deadline_s'"},
                                                      {"0,10,1\n", "line 2: 3 fields"}};
  for (const auto& [row, words] : rows) {
    const auto workload = read_trace(kTraceHeader + row);
    ASSERT_FALSE(workload) << row;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << workload.error().what;
  }
  EXPECT_FALSE(read_trace(kTraceHeader + "0,nan,1,,,,,\n")) << "unknown, so nothing is left to run";
  EXPECT_FALSE(read_trace("submit_time_s,num_gpus\n1,1\n"));
  EXPECT_FALSE(read_trace(kTraceHeader + "0,10,8,8000,,train,,\n")) << "nothing left to run";
  EXPECT_FALSE(read_trace(kTraceHeader + "5,10,1,1000,,train,,1e10\n")) << "deadline out of range";
}

// The public traces lie beside the project, not in it.
TEST(TraceRows, PublicTraces) {
  const std::string folder = source_dir() + "/../shared/data/traces/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no public traces beside this project";
  LoadOptions options;
  options.tokens_per_s = 1000;
  const std::pair<const char*, std::size_t> files[] = {{"philly_pollux.csv.gz", 76627},
                                                       {"chronus_philly_deadline_SLO.csv.gz", 28319},
                                                       {"chronus_philly_deadline_MIX1.csv.gz", 28361},
                                                       {"elasticflow_philly_103959_deadline.csv", 513},
                                                       {"alibaba_openb_v2023.csv", 6129},
                                                       {"azure_llm_2023_code.csv.gz", 8819},
                                                       {"miso_jobs_100.csv", 100}};
  for (const auto& [file, jobs] : files) {
    const auto workload = load_workload(folder + file, options);
    ASSERT_TRUE(workload) << workload.error().what;
    EXPECT_EQ(workload->jobs.size(), jobs) << file;
    EXPECT_TRUE(validate(*workload));
    if (std::string(file).starts_with("philly")) {
      double total = 0;
      for (const Job& job : workload->jobs) total += seconds(whole_gpu_work(job));
      EXPECT_NEAR(total / double(jobs), 8301, 1);
    }
  }
  EXPECT_FALSE(load_workload(folder + "azure_llm_2023_code.csv.gz"));
  EXPECT_FALSE(load_workload(folder + "diurnal.csv"));
}

}  // namespace
}  // namespace smartmig
