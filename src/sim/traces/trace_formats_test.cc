#include "sim/traces/trace_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "sim/kind_curve.h"
#include "sim/traces/trace_map.h"
#include "sim/traces/trace_reading.h"
#include "sim/traces/trace_times.h"
#include "support/paths.h"

namespace smartmig {
namespace {

struct ReadSample {
  Workload workload;
  TraceReading reading;
};

ReadSample sample(const std::string& file, LoadOptions options = {}) {
  ReadSample out;
  options.reading = &out.reading;
  auto workload = load_workload(source_dir() + "/tests/data/traces/" + file, options);
  EXPECT_TRUE(workload) << workload.error().what;
  if (workload) out.workload = std::move(*workload);
  return out;
}

const Job* job_named(const Workload& workload, const std::string& name) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    if (workload.name_of(i) == name) return &workload.jobs[i];
  return nullptr;
}

Time hms(int h, int m, int s) { return std::chrono::hours(h) + std::chrono::minutes(m) + std::chrono::seconds(s); }

TEST(TraceFormats, EverySampleIsRecognised) {
  LoadOptions options;
  options.tokens_per_s = 100;
  options.throughputs = source_dir() + "/tests/data/traces/gavel_throughputs.json";
  const std::tuple<const char*, const char*, std::size_t> files[] = {{"philly.json", "philly", 2},
                                                                     {"alibaba_2020.csv", "alibaba-2020", 3},
                                                                     {"alibaba_2023.csv", "alibaba-2023", 2},
                                                                     {"alibaba_2025.csv", "alibaba-2025", 1},
                                                                     {"alibaba_2026_hourly.csv", "alibaba-2026", 2},
                                                                     {"alibaba_2026_jobs.csv", "alibaba-2026-jobs", 2},
                                                                     {"helios.csv", "helios", 2},
                                                                     {"acme_seren.csv", "acme", 2},
                                                                     {"chronus.csv", "chronus", 3},
                                                                     {"elasticflow.csv", "elasticflow", 2},
                                                                     {"sia.csv", "sia", 4},
                                                                     {"azure_llm.csv", "azure-llm", 3},
                                                                     {"mit_supercloud.csv", "mit-supercloud", 1},
                                                                     {"gavel.trace", "gavel", 2},
                                                                     {"gavel_slo.trace", "gavel", 2},
                                                                     {"migbench.jsonl", "migbench", 3}};
  for (const auto& [file, format, jobs] : files) {
    const ReadSample read = sample(file, options);
    EXPECT_EQ(read.reading.format, format) << file;
    EXPECT_EQ(read.workload.jobs.size(), jobs) << file;
    EXPECT_TRUE(validate(read.workload)) << file;
    EXPECT_FALSE(read.reading.source.empty()) << file;
    EXPECT_FALSE(read.reading.used.empty()) << file;
  }
}

TEST(TraceFormats, PhillyAddsAttemptsAndKeepsTheTimeOfDay) {
  const Workload workload = sample("philly.json").workload;
  const Job* retried = job_named(workload, "application_1_0001");
  ASSERT_NE(retried, nullptr);
  EXPECT_EQ(retried->submit, hms(1, 11, 39));
  EXPECT_EQ(whole_gpu_work(*retried), std::chrono::seconds(74 + 3600));
  EXPECT_EQ(job_named(workload, "application_1_0004")->submit, hms(33, 0, 0));
}

TEST(TraceFormats, DatesKeepTheirZonesClock) {
  const Workload workload = sample("acme_seren.csv").workload;
  EXPECT_EQ(workload.jobs[0].submit, hms(0, 20, 0)) << "midnight in the zone that the first submit is written in";
  EXPECT_EQ(split_kind(workload.kind_of(workload.jobs[0])).phase, "infer") << "evaluation";
  EXPECT_EQ(split_kind(workload.kind_of(workload.jobs[1])).phase, "train") << "SFT";
  EXPECT_TRUE(std::any_of(workload.rules.begin(), workload.rules.end(), [](const std::string& rule) {
    return rule == "time 0 is 2023-03-01 00:00:00 +08:00, the midnight before the first submit";
  })) << fmt::format("{}", fmt::join(workload.rules, "\n"));
}

TEST(TraceFormats, WhatTheFamiliesSay) {
  const Workload pai = sample("alibaba_2020.csv").workload;
  EXPECT_EQ(whole_gpu_work(*job_named(pai, "a1")), std::chrono::seconds(38));
  EXPECT_NE(job_named(pai, "a2"), nullptr) << "two halves of a GPU are one";
  const Workload chronus = sample("chronus.csv").workload;
  EXPECT_EQ(job_named(chronus, "0")->deadline, std::chrono::minutes(19 + 88));
  EXPECT_EQ(job_named(chronus, "2")->deadline, kNever) << "best effort";
  EXPECT_EQ(job_named(chronus, "3")->deadline, std::chrono::minutes(60 + 241)) << "the first of a list";
  const Workload hourly = sample("alibaba_2026_hourly.csv").workload;
  EXPECT_EQ(whole_gpu_work(*job_named(hourly, "p1")), std::chrono::minutes(90));
  EXPECT_EQ(job_named(hourly, "p2")->submit, hms(2, 0, 0)) << "the first hour in which it runs";
  EXPECT_EQ(whole_gpu_work(*job_named(hourly, "p2")), std::chrono::minutes(30));
  EXPECT_EQ(job_named(hourly, "p1")->mem_mib, 12 * 1024);
  const Workload sia = sample("sia.csv").workload;
  EXPECT_EQ(whole_gpu_work(*job_named(sia, "cifar10-1")), std::chrono::seconds(5644));
  const Workload slurm = sample("mit_supercloud.csv").workload;
  EXPECT_EQ(slurm.jobs[0].submit, hms(13, 0, 0)) << "Unix times";
  const Workload bench = sample("migbench.jsonl").workload;
  EXPECT_EQ(bench.reference_gpu, "h100-80gb-sxm");
  EXPECT_EQ(bench.jobs[0].work_on(1), std::chrono::milliseconds(684915));
  EXPECT_EQ(bench.jobs[1].work_on(2), kCannotRun) << "40 GB";
  EXPECT_EQ(bench.jobs[1].work_on(3), std::chrono::milliseconds(2720227));
  EXPECT_EQ(bench.jobs[2].work_on(7), kCannotRun) << "a profile of its own";
}

TEST(TraceFormats, GavelNeedsThroughputs) {
  const std::string file = source_dir() + "/tests/data/traces/gavel.trace";
  const auto refused = load_workload(file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("--throughputs"), std::string::npos) << refused.error().what;
  LoadOptions options;
  options.throughputs = source_dir() + "/tests/data/traces/gavel_throughputs.json";
  EXPECT_EQ(whole_gpu_work(load_workload(file, options)->jobs[0]), std::chrono::seconds(1800));
  options.throughputs += ":k80";
  EXPECT_FALSE(load_workload(file, options)) << "the Transformer was not measured there";
  options.throughputs = source_dir() + "/tests/data/traces/gavel_throughputs.json:p100";
  EXPECT_NE(load_workload(file, options).error().what.find("it has k80, v100"), std::string::npos);
  options.throughputs = source_dir() + "/tests/data/traces/gavel_throughputs.json";
  const auto slo = load_workload(source_dir() + "/tests/data/traces/gavel_slo.trace", options);
  ASSERT_TRUE(slo);
  EXPECT_EQ(slo->jobs[0].deadline, from_seconds(1.2 * 1800));
}

TEST(TraceFormats, AnyTableByAMap) {
  LoadOptions options;
  options.map = "id=job,submit=eingang,start=Beginn,end=Ende,gpus=Karten,kind=Modell,class=@training";
  const ReadSample read = sample("any_table.csv", options);
  ASSERT_EQ(read.workload.jobs.size(), 1u);
  EXPECT_EQ(read.workload.jobs[0].submit, hms(8, 0, 0));
  EXPECT_EQ(whole_gpu_work(read.workload.jobs[0]), std::chrono::hours(1));
  EXPECT_TRUE(read.workload.kind_of(read.workload.jobs[0]).starts_with("bert-train"));
  const auto without = load_workload(source_dir() + "/tests/data/traces/any_table.csv");
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().what.find("its columns are Job, Eingang, Beginn, Ende, Karten, Modell"), std::string::npos)
      << without.error().what;
  options.map = "submit=Eingng,end=Ende";
  EXPECT_NE(load_workload(source_dir() + "/tests/data/traces/any_table.csv", options)
                .error()
                .what.find("did you mean Eingang?"),
            std::string::npos);
}

TEST(TraceFormats, JobsWithoutADeadline) {
  LoadOptions options;
  options.missing_slack = parse_slack("none").value();
  for (const Job& job : sample("helios.csv", options).workload.jobs) EXPECT_EQ(job.deadline, kNever);
  const Workload elastic = sample("elasticflow.csv", options).workload;
  EXPECT_NE(elastic.jobs[0].deadline, kNever) << "the file's own stay";
  options = {};
  options.slack = parse_slack("none").value();
  EXPECT_EQ(sample("elasticflow.csv", options).workload.jobs[0].deadline, kNever);
  EXPECT_EQ(load_workload("paper:1x,seed=3,slack=none")->jobs[0].deadline, kNever);
}

TEST(TraceFormats, GuessesAreCounted) {
  const ReadSample guessed = sample("helios.csv");
  ASSERT_EQ(guessed.reading.warnings.size(), 1u);
  EXPECT_NE(guessed.reading.warnings[0].find("2 of 2 jobs name no known model"), std::string::npos);
  LoadOptions options;
  options.default_kind = "bert-train-8";
  const ReadSample given = sample("helios.csv", options);
  EXPECT_TRUE(given.reading.warnings.empty());
  EXPECT_EQ(given.workload.kind_of(given.workload.jobs[0]), "bert-train-8");
}

TEST(TraceFormats, ArchivesAndStrangersAreNamed) {
  const auto said = [](std::string text) {
    TraceSource source;
    source.name = "x";
    source.open = [&]() -> Result<LineReader> { return LineReader::over("x", text); };
    source.whole = [&]() -> Result<std::string> { return text; };
    const auto read = read_trace_file(source, {});
    return read ? std::string("accepted") : read.error().what;
  };
  EXPECT_NE(said("PAR1abc\n").find("Parquet"), std::string::npos);
  EXPECT_NE(said("PK\x03\x04zz\n").find("ZIP"), std::string::npos);
  EXPECT_NE(said("job_id,vc,gpu_num,state,submit_time,start_time,end_time\n1\n")
                .find("nearest to helios, but lacks duration"),
            std::string::npos)
      << said("job_id,vc,gpu_num,state,submit_time,start_time,end_time\n1\n");
  LoadOptions options;
  options.format = "helois";
  EXPECT_NE(
      load_workload(source_dir() + "/tests/data/traces/helios.csv", options).error().what.find("did you mean helios?"),
      std::string::npos);
}

TEST(TraceMap, SaysWhatIsWrong) {
  const auto said = [](const char* text) {
    const auto map = parse_trace_map(text);
    return map ? std::string("accepted") : map.error().what;
  };
  EXPECT_EQ(said("submit=a:ms,duration=\"b, c: d\":min,gpus=#3,class=@infer"), "accepted");
  EXPECT_NE(said("submitt=a").find("did you mean submit?"), std::string::npos);
  EXPECT_NE(said("submit=a:weeks").find("'weeks' is not a unit of submit: s, ms"), std::string::npos);
  EXPECT_NE(said("submit=a,submit=b").find("twice"), std::string::npos);
  EXPECT_NE(said("submit=").find("names no column"), std::string::npos);
  EXPECT_NE(said("").find("is not FIELD=COLUMN"), std::string::npos);
}

TEST(TraceTimes, DatesAndNumbers) {
  const auto at = [](const char* text, const char* unit = "") { return parse_trace_instant(text, unit); };
  EXPECT_EQ(at("1970-01-02")->at, std::chrono::hours(24));
  EXPECT_EQ(at("1970-01-01T08:00:00+08:00")->at, Time(0));
  EXPECT_EQ(at("1970-01-01 00:00:01.6805900")->at, Time(1'680'590));
  EXPECT_EQ(at("1970-01-01 00:00:00-0530")->at, hms(5, 30, 0));
  EXPECT_EQ(at("1970/01/01 12:30Z")->at, hms(12, 30, 0));
  EXPECT_EQ(at("1500", "ms")->at, Time(1'500'000));
  EXPECT_EQ(at("2", "h")->at, hms(2, 0, 0));
  for (const char* wrong :
       {"1970-02-30", "1970-01-01 24:00:00", "yesterday", "1970-01-01 00:00:00 PST", "1e99", "1970-13-01"})
    EXPECT_FALSE(at(wrong)) << wrong;
  EXPECT_FALSE(at("2020-01-01", "s"));
  EXPECT_EQ(date_words(Time(0), -90), "1969-12-31 22:30:00 -01:30");
}

}  // namespace
}  // namespace smartmig
