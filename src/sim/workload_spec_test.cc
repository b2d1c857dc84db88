#include "sim/workload_spec.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/rng.h"
#include "support/paths.h"

namespace smartmig {
namespace {

const std::string kData = source_dir() + "/tests/data/";

TEST(WorkloadSpec, ReadsEverySetting) {
  const auto spec = parse_workload_spec("paper:12.5x,seed=7,days=3,slack=1.5-3,hours=8-12");
  ASSERT_TRUE(spec) << spec.error().what;
  EXPECT_EQ(spec->multiplier, 12.5);
  EXPECT_EQ(spec->seed, 7u);
  EXPECT_EQ(spec->days, 3);
  EXPECT_EQ(spec->slack.low, 1.5);
  EXPECT_EQ(spec->slack.high, 3);
  EXPECT_EQ(spec->first_hour, 8);
  EXPECT_EQ(spec->last_hour, 12);
  const auto fixed = parse_workload_spec("fixed:rate=8,jobs=1000,mix=capped,slack=2");
  ASSERT_TRUE(fixed) << fixed.error().what;
  EXPECT_EQ(fixed->rate, 8);
  EXPECT_EQ(fixed->jobs, 1000);
  EXPECT_EQ(fixed->mix, "capped");
  EXPECT_EQ(fixed->slack.low, 2);
  EXPECT_EQ(fixed->slack.high, 2);
}

TEST(WorkloadSpec, PrintsWhatItWillReadAgain) {
  for (const char* text : {"paper:20x", "paper:0.5x,seed=9,days=2,hours=0-1", "fixed:rate=0.25,jobs=3,mix=linear",
                           "miso:rate=2,jobs=500", "parva:2500x,slack=0-0"}) {
    const auto spec = parse_workload_spec(text);
    ASSERT_TRUE(spec) << spec.error().what;
    const auto again = parse_workload_spec(to_string(*spec));
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(to_string(*spec), to_string(*again));
  }
  EXPECT_EQ(to_string(*parse_workload_spec("paper:20x,seed=7")), "paper:20x,seed=7,days=1,slack=1-1.5");
}

TEST(WorkloadSpec, RefusalsSayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {{"paper:", "neither a load"},
                                                       {"paper:20", "neither a load"},
                                                       {"paper:x", "neither a load"},
                                                       {"paper:-1x", "neither a load"},
                                                       {"paper:0x", "neither a load"},
                                                       {"paper:nanx", "neither a load"},
                                                       {"paper:infx", "neither a load"},
                                                       {"paper:20x,", "given twice"},
                                                       {"paper:20x,30x", "given twice"},
                                                       {"paper:20x,sede=1", "did you mean seed"},
                                                       {"paper:20x,seed=-1", "seed must be"},
                                                       {"paper:20x,seed=1.5", "seed must be"},
                                                       {"paper:20x,days=0", "days must be"},
                                                       {"paper:20x,hours=12-8", "hours must be"},
                                                       {"paper:20x,hours=8", "hours must be"},
                                                       {"paper:20x,hours=0-25", "hours must be"},
                                                       {"paper:20x,slack=2-1", "slack must"},
                                                       {"paper:20x,slack=1-101", "slack must"},
                                                       {"paper:20x,slack=a-b", "slack must"},
                                                       {"paper:20x,slack=-1-2", "slack must"},
                                                       {"paper:20x,slack=", "slack must"},
                                                       {"paper:20x,jobs=5", "both"},
                                                       {"fixed:rate=8", "has no load"},
                                                       {"fixed:jobs=8", "has no load"},
                                                       {"fixed:rate=0,jobs=1", "rate must be"},
                                                       {"fixed:rate=8,jobs=0", "jobs must be"},
                                                       {"fixed:rate=8,jobs=10,days=2", "days="},
                                                       {"miso:20x,mix=linear", "only fixed:"},
                                                       {"fixed:20x,mix=square", "mix must be"},
                                                       {"paper:1e9x", "more than"},
                                                       {"fixed:rate=0.000001,jobs=20000000", "spans more"},
                                                       {"papers:20x", "not a workload spec"},
                                                       {"", "not a workload spec"}};
  for (const auto& [text, words] : cases) {
    const auto spec = parse_workload_spec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_NE(spec.error().what.find(words), std::string::npos) << text << ": " << spec.error().what;
  }
}

TEST(LoadWorkload, OptionsOverrideTheSpec) {
  LoadOptions options;
  options.seed = 5;
  options.slack = SlackRange{2, 4};
  const auto changed = load_workload("paper:1x,seed=1", options), direct = load_workload("paper:1x,seed=5,slack=2-4");
  ASSERT_TRUE(changed && direct);
  EXPECT_EQ(hash_of(*changed), hash_of(*direct));
  EXPECT_EQ(changed->source, "paper:1x,seed=5,days=1,slack=2-4");
}

TEST(LoadWorkload, RecognisesFilesByContent) {
  LoadOptions options;
  options.tokens_per_s = 1000;
  const std::pair<const char*, std::size_t> files[] = {{"jobs.csv", 4},         {"jobs.csv.gz", 4}, {"trace.csv", 3},
                                                       {"trace_tokens.csv", 3}, {"batsim.json", 2}, {"small.swf", 3}};
  for (const auto& [file, jobs] : files) {
    const auto workload = load_workload(kData + file, options);
    ASSERT_TRUE(workload) << workload.error().what;
    EXPECT_EQ(workload->jobs.size(), jobs) << file;
    EXPECT_FALSE(workload->generated);
    EXPECT_FALSE(workload->rules.empty());
  }
  EXPECT_EQ(hash_of(*load_workload(kData + "jobs.csv")), hash_of(*load_workload(kData + "jobs.csv.gz")));
}

TEST(LoadWorkload, TruncatedGzipIsAnError) {
  std::string packed;
  {
    FILE* file = std::fopen((kData + "jobs.csv.gz").c_str(), "rb");
    ASSERT_NE(file, nullptr);
    char buffer[4096];
    packed.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  const std::string path = testing::TempDir() + "truncated_jobs.csv.gz";
  for (const std::size_t keep : {packed.size() - 1, packed.size() - 9, packed.size() / 2}) {
    ASSERT_TRUE(write_file(path, packed.substr(0, keep)));
    const auto workload = load_workload(path);
    ASSERT_FALSE(workload) << keep;
    EXPECT_NE(workload.error().what.find("truncated"), std::string::npos) << workload.error().what;
  }
}

TEST(LoadWorkload, SaysWhatAFileIsNot) {
  const std::string path = testing::TempDir() + "not_a_workload";
  const std::pair<const char*, const char*> cases[] = {{"", "empty"},
                                                       {"\n# only words\n", "empty"},
                                                       {"a,b,c\n1,2,3\n", "no known workload format"},
                                                       {"hello\n", "no known"}};
  for (const auto& [text, words] : cases) {
    ASSERT_TRUE(write_file(path, text));
    const auto workload = load_workload(path);
    ASSERT_FALSE(workload) << text;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << workload.error().what;
  }
  EXPECT_NE(load_workload("papr:20x").error().what.find("did you mean paper:"), std::string::npos);
  EXPECT_FALSE(load_workload(testing::TempDir() + "there/is/no/such.csv"));
  EXPECT_FALSE(load_workload(testing::TempDir()));
  LoadOptions options;
  options.gpu = "a9000";
  EXPECT_FALSE(load_workload(kData + "trace.csv", options));
}

TEST(FinishWorkload, NumbersKindsByFirstUseAndDropsIndexNames) {
  Workload workload;
  workload.kinds = {"unused", "late", "early"};
  for (int i = 0; i < 2; ++i) {
    Job job;
    job.submit = Time(5 - i);
    job.work[6] = Time(1);
    job.kind = 1 + i;
    workload.jobs.push_back(job);
  }
  workload.names = {"1", "0"};
  const auto done = finish_workload(workload);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->kinds, (std::vector<std::string>{"early", "late"}));
  EXPECT_TRUE(done->names.empty());
  EXPECT_EQ(done->days, 1);
  workload.jobs[0].submit = from_seconds(3 * 86400);
  workload.jobs[1].submit = Time(0);
  EXPECT_EQ(finish_workload(workload)->days, 3);
  EXPECT_EQ(finish_workload(workload, 0.5)->days, 0.5);
}

}  // namespace
}  // namespace smartmig
