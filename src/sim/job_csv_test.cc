#include "sim/job_csv.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/paths.h"

namespace smartmig {
namespace {

const std::string kHeader =
    "job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s\n";

Result<Workload> read_csv_text(const std::string& text, const LoadOptions& options = {}) {
  return read_job_csv(LineReader::over("jobs", text), options);
}

void expect_same(const Workload& a, const Workload& b) {
  EXPECT_EQ(a.reference_gpu, b.reference_gpu);
  EXPECT_EQ(a.days, b.days);
  EXPECT_EQ(a.kinds, b.kinds);
  EXPECT_EQ(a.names, b.names);
  ASSERT_EQ(a.jobs.size(), b.jobs.size());
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    ASSERT_EQ(a.jobs[i].submit, b.jobs[i].submit) << i;
    ASSERT_EQ(a.jobs[i].deadline, b.jobs[i].deadline) << i;
    ASSERT_EQ(a.jobs[i].work, b.jobs[i].work) << i;
    ASSERT_EQ(a.jobs[i].kind, b.jobs[i].kind) << i;
    ASSERT_EQ(a.jobs[i].mem_mib, b.jobs[i].mem_mib) << i;
    ASSERT_EQ(a.jobs[i].restart, b.jobs[i].restart) << i;
  }
  EXPECT_EQ(hash_of(a), hash_of(b));
}

TEST(JobCsv, ReadsTheSample) {
  const auto workload = load_workload(source_dir() + "/tests/data/jobs.csv");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"train-a", "zero", "infer-b", "big, c"}));
  EXPECT_EQ(workload->kinds, (std::vector<std::string>{"bert-train", "capped", "bert-infer"}));
  const Job& first = workload->jobs[0];
  EXPECT_EQ(first.deadline, Time(700'500'000));
  EXPECT_EQ(first.work_on(2), Time(1'502'439'024)) << "rounded to the microsecond";
  EXPECT_EQ(first.work_on(7), Time(586'666'667));
  EXPECT_EQ(first.mem_mib, 3000);
  EXPECT_EQ(first.restart, std::chrono::seconds(120));
  EXPECT_EQ(workload->jobs[1].work_on(1), Time(0));
  EXPECT_EQ(workload->jobs[2].submit, Time(12'000'001));
  EXPECT_LT(workload->jobs[2].deadline, workload->jobs[2].submit);
  EXPECT_LT(workload->jobs[2].restart, Time(0));
  EXPECT_EQ(workload->jobs[3].deadline, kNever);
  EXPECT_EQ(workload->jobs[3].kind, -1);
  EXPECT_EQ(workload->jobs[3].work_on(2), kCannotRun);
  EXPECT_EQ(workload->jobs[3].restart, Time(0));
}

TEST(JobCsv, WhatIsWrittenReadsBackTheSame) {
  for (const char* spec : {"paper:20x,seed=3", "paper:20x,seed=3,days=2,hours=3-4", "miso:rate=2,jobs=300",
                           "parva:rate=2,jobs=300", "fixed:rate=1,jobs=50"}) {
    const auto workload = load_workload(spec);
    ASSERT_TRUE(workload) << workload.error().what;
    const auto csv = to_job_csv(*workload);
    ASSERT_TRUE(csv) << csv.error().what;
    const auto again = read_csv_text(*csv);
    ASSERT_TRUE(again) << again.error().what;
    expect_same(*workload, *again);
    EXPECT_EQ(*csv, *to_job_csv(*again));
  }
}

TEST(JobCsv, RandomWorkloadsReadBackTheSame) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto any_time = [&](std::int64_t low, std::int64_t high) {
      return Time(low + std::int64_t(rng.below(std::uint64_t(high - low) + 1)));
    };
    const std::int64_t most = 10'000'000'000'000'000;
    Workload made;
    made.source = "random";
    made.kinds = {"k", "with, comma", "say \"so\"", " spaced "};
    for (std::uint64_t i = 0, n = rng.below(6); i < n; ++i) {
      Job job;
      job.submit = any_time(0, rng.below(2) ? most : 3'000'000);
      if (rng.below(3)) job.deadline = any_time(-most, most);
      for (const int size : {1, 2, 3, 4, 7})
        if (size == 7 || rng.below(2)) job.work[std::size_t(size - 1)] = any_time(0, rng.below(2) ? most : 2);
      job.kind = int(rng.below(5)) - 1;
      job.mem_mib = int(rng.below(3)) - 1;
      if (rng.below(2)) job.restart = any_time(0, most);
      made.jobs.push_back(job);
      made.names.push_back(fmt::format("#\"{}\", {}", i, rng.below(9)));
    }
    const auto workload = finish_workload(made, 0.1 + rng.uniform());
    ASSERT_TRUE(workload) << workload.error().what;
    const auto csv = to_job_csv(*workload);
    ASSERT_TRUE(csv) << csv.error().what;
    const auto again = read_csv_text(*csv);
    ASSERT_TRUE(again) << again.error().what << "\n" << *csv;
    expect_same(*workload, *again);
  }
}

TEST(JobCsv, RefusesAndNamesThePlace) {
  const std::pair<std::string, const char*> rows[] = {
      {"a,nan,,k,1,1,1,1,1,,\n", "line 2, column 'submit_s'"},
      {"a,-1,,k,1,1,1,1,1,,\n", "column 'submit_s': '-1' must not be negative"},
      {"a,1e11,,k,1,1,1,1,1,,\n", "column 'submit_s'"},
      {"a,,,k,1,1,1,1,1,,\n", "column 'submit_s'"},
      {"a,0,x,k,1,1,1,1,1,,\n", "column 'deadline_s'"},
      {"a,0,inf,k,1,1,1,1,1,,\n", "column 'deadline_s'"},
      {"a,0,1,k,,,,,,,\n", "runs nowhere"},
      {"a,0,1,k,1,-2,1,1,1,,\n", "column 'work_2g_s'"},
      {"a,0,1,k,1,1,1,1,1 s,,\n", "column 'work_7g_s'"},
      {"a,0,1,k,1,1,1,1,1,-4,\n", "column 'mem_mib'"},
      {"a,0,1,k,1,1,1,1,1,4.5,\n", "column 'mem_mib'"},
      {"a,0,1,k,1,1,1,1,1,99999999999,\n", "column 'mem_mib'"},
      {"a,0,1,k,1,1,1,1,1,,-1\n", "column 'restart_s'"},
      {",0,1,k,1,1,1,1,1,,\n", "column 'job_id'"},
      {"a,0,1,k,1,1,1,1,1,\n", "line 2: 10 fields"},
      {"a,0,1,k,1,1,1,1,1,,,\n", "line 2: 12 fields"},
      {"a\tb,0,1,k,1,1,1,1,1,,\n", "column 'job_id': has a control character"},
      {"a,0,1,k\rk,1,1,1,1,1,,\n", "column 'kind': has a control character"},
      {"\"a,0,1,k,1,1,1,1,1,,\n", "not closed"},
      {"a,0,1,k,1,1,1,1,1,,\na,5,6,k,1,1,1,1,1,,\n", "line 3, column 'job_id': 'a' is given twice"}};
  for (const auto& [row, words] : rows) {
    const auto workload = read_csv_text(kHeader + row);
    ASSERT_FALSE(workload) << row;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << row << workload.error().what;
  }
  const std::pair<std::string, const char*> files[] = {
      {"job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s,owner\n",
       "unknown column 'owner'"},
      {"job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s,kind\n",
       "column 12 is 'kind'"},
      {"job_id,deadline_s,submit_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s\n",
       "column 2 is 'deadline_s'"},
      {"job_id,submit_s\n", "column 'deadline_s' is missing"},
      {"# gpu=a1000\n" + kHeader, "a1000"},
      {"# gpu=\n" + kHeader, "jobs"},
      {"# days=-1\n" + kHeader, "days"},
      {"", "empty"}};
  for (const auto& [text, words] : files) {
    const auto workload = read_csv_text(text);
    ASSERT_FALSE(workload) << text;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << text << workload.error().what;
  }
}

TEST(JobCsv, TwoMoreColumnsSayHowNeighboursSlowAJob) {
  const std::string header = kHeader.substr(0, kHeader.size() - 1) + ",log_slowdown,beside\n";
  const auto read =
      read_csv_text(header + "a,0,1,k,1,1,1,1,1,,,0.5,0.25\nb,0,1,k,1,1,1,1,1,,,0.5,\nc,0,1,k,1,1,1,1,1,,,,\n");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->jobs[0].crowding.log_slowdown, 0.5);
  EXPECT_EQ(read->jobs[0].crowding.beside, 0.25);
  EXPECT_EQ(read->jobs[1].crowding.beside, 0);
  EXPECT_EQ(read->jobs[2].crowding.log_slowdown, 0);
  const auto text = to_job_csv(*read);
  ASSERT_TRUE(text) << text.error().what;
  const auto again = read_csv_text(*text);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_job_csv(*again).value(), *text);
  EXPECT_EQ(again->jobs[0].crowding.log_slowdown, 0.5);
  for (const char* row : {"a,0,1,k,1,1,1,1,1,,,3,0\n", "a,0,1,k,1,1,1,1,1,,,-0.5,0\n", "a,0,1,k,1,1,1,1,1,,,x,\n"})
    EXPECT_NE(read_csv_text(header + row).error().what.find("log_slowdown"), std::string::npos) << row;
  EXPECT_NE(read_csv_text(header + "a,0,1,k,1,1,1,1,1,,,1,9\n").error().what.find("beside"), std::string::npos);
  EXPECT_FALSE(read_csv_text(kHeader.substr(0, kHeader.size() - 1) + ",log_slowdown\n"));
}

TEST(JobCsv, AnEmptyListIsAWorkload) {
  const auto workload = read_csv_text(kHeader);
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_TRUE(workload->jobs.empty());
  EXPECT_EQ(workload->days, 1);
}

TEST(JobCsv, TheFileNamesItsGpuElseTheOption) {
  LoadOptions options;
  options.gpu = "h200-141gb";
  EXPECT_EQ(read_csv_text(kHeader, options)->reference_gpu, "h200-141gb");
  EXPECT_EQ(read_csv_text("# gpu=a100-80gb\n" + kHeader, options)->reference_gpu, "a100-80gb");
  EXPECT_EQ(read_csv_text("# free words\n" + kHeader)->reference_gpu, "a100-40gb");
}

TEST(JobCsv, SlackOptionDrawsEveryDeadline) {
  LoadOptions options;
  options.slack = SlackRange{2, 3};
  const std::string text = kHeader + "a,10,1,k,,,,,100,,\nb,10,,k,50,,,,,,\n";
  const auto workload = read_csv_text(text, options);
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_GE(workload->jobs[0].deadline, Time(210'000'000));
  EXPECT_LE(workload->jobs[0].deadline, Time(310'000'000));
  EXPECT_GE(workload->jobs[1].deadline, Time(110'000'000));
  EXPECT_LE(workload->jobs[1].deadline, Time(160'000'000));
  options.seed = 9;
  EXPECT_NE(read_csv_text(text, options)->jobs[0].deadline, workload->jobs[0].deadline);
}

TEST(JobCsv, MissingDeadlinesAreDrawnWhereAskedFor) {
  const std::string text = kHeader + "a,10,15,,,,,,100,,\nb,20,,,,,,,100,,\n";
  LoadOptions options;
  EXPECT_EQ(read_csv_text(text)->jobs[1].deadline, kNever);
  options.missing_slack = SlackRange{2, 2};
  const auto workload = read_csv_text(text, options);
  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->jobs[0].deadline, std::chrono::seconds(15)) << "the file's own stays";
  EXPECT_EQ(workload->jobs[1].deadline, std::chrono::seconds(220));
  EXPECT_NE(workload->rules.back().find("1 missing"), std::string::npos) << workload->rules.back();
}

TEST(JobCsv, RefusesToWriteWhatItCouldNotRead) {
  auto workload = read_csv_text(kHeader + "a,10,1,k,,,,,100,,\n");
  ASSERT_TRUE(workload);
  workload->jobs[0].work[4] = Time(7);
  EXPECT_FALSE(to_job_csv(*workload));
  workload->jobs[0].work[4] = kCannotRun;
  workload->names = {"two\nlines"};
  EXPECT_FALSE(to_job_csv(*workload));
}

}  // namespace
}  // namespace smartmig
