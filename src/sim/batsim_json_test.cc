#include "sim/batsim_json.h"

#include <gtest/gtest.h>

#include "support/paths.h"

namespace smartmig {
namespace {

Result<Workload> read_jobs(const std::string& jobs) {
  return read_batsim_json(
      "w.json",
      R"({"profiles": {"d": {"type": "delay", "delay": 10}, "c": {"type": "parallel", "cpu": [1]}, "bad": {"type": "delay", "delay": "x"},
      "untyped": {}, "odd": 5}, "jobs": [)" +
          jobs + "]}");
}

TEST(BatsimJson, ReadsTheSample) {
  const auto workload = load_workload(source_dir() + "/tests/data/batsim.json");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"w0!2", "1"}));
  EXPECT_EQ(workload->jobs[0].submit, Time(500'000));
  EXPECT_EQ(workload->jobs[0].work_on(7), std::chrono::seconds(50)) << "the walltime";
  EXPECT_EQ(workload->jobs[1].work_on(7), std::chrono::seconds(100)) << "the delay, not the walltime";
  EXPECT_EQ(workload->kind_of(workload->jobs[1]), "bert-train-8") << "by the profile's name";
  const std::string rules = fmt::format("{}", fmt::join(workload->rules, "\n"));
  EXPECT_NE(rules.find("4 rows, 2 jobs kept; dropped: 1 with more than one GPU, 0 with none, 1 without "
                       "a usable duration"),
            std::string::npos)
      << rules;
  EXPECT_NE(rules.find("1 jobs have a profile without a delay"), std::string::npos) << rules;
}

TEST(BatsimJson, RefusesAndNamesTheJob) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"id": 1, "subtime": -1, "res": 1, "profile": "d"})", "job 1: 'subtime'"},
      {R"({"id": 1, "subtime": "0", "res": 1, "profile": "d"})", "'subtime' is not a number"},
      {R"({"id": 1, "subtime": 1e300, "res": 1, "profile": "d"})", "'subtime'"},
      {R"({"id": 1, "subtime": 0, "res": -2, "profile": "d"})", "'res'"},
      {R"({"id": 1, "subtime": 0, "res": 1})", "'profile' is missing"},
      {R"({"id": 1, "subtime": 0, "res": 1, "profile": "e"})", "no profile 'e'"},
      {R"({"id": 1, "subtime": 0, "res": 1, "profile": "odd"})", "no profile 'odd'"},
      {R"({"id": 1, "subtime": 0, "res": 1, "profile": "bad"})", "'delay' is not a number"},
      {R"({"id": 1, "subtime": 0, "res": 1, "profile": "untyped"})", "'type' is missing"},
      {R"({"id": 1, "subtime": 0, "res": 1, "profile": "c", "walltime": []})", "'walltime'"},
      {R"({"subtime": 0, "res": 1, "profile": "d"})", "job 1 of the list: 'id' is missing"},
      {R"({"id": {}, "subtime": 0, "res": 1, "profile": "d"})", "'id' must be"},
      {R"({"id": "a\nb", "subtime": 0, "res": 1, "profile": "d"})", "control character"},
      {R"({"id": 1, "subtime": 0, "res": 1, "profile": "d"}, {"id": "1", "subtime": 0, "res": 1, "profile": "d"})",
       "given twice"},
      {"7", "is not an object"}};
  for (const auto& [jobs, words] : cases) {
    const auto workload = read_jobs(jobs);
    ASSERT_FALSE(workload) << jobs;
    EXPECT_NE(workload.error().what.find(words), std::string::npos) << jobs << workload.error().what;
  }
  for (const char* text : {"", "{", "[]", "{}", R"({"jobs": []})", R"({"jobs": {}, "profiles": {}})", "nonsense",
                           R"({"jobs": [], "profiles": {}} x)"})
    EXPECT_FALSE(read_batsim_json("w.json", text)) << text;
}

TEST(BatsimJson, NoJobsIsAWorkload) {
  const auto workload = read_jobs("");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_TRUE(workload->jobs.empty());
}

}  // namespace
}  // namespace smartmig
