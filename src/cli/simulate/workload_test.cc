#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "sim/workload_spec.h"

namespace smartmig::cli {
namespace {

struct Outcome {
  int code = 0;
  std::string out, err;
};

Outcome run(const Arguments& arguments) {
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.code = run_workload(arguments);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(WorkloadVerb, ConvertsAndReadsBack) {
  const std::string file = testing::TempDir() + "verb_workload.csv";
  const Outcome written = run({"paper:2x,seed=5", "-o", file});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_NE(written.out.find("bert-infer"), std::string::npos);
  const auto direct = load_workload("paper:2x,seed=5"), read = load_workload(file);
  ASSERT_TRUE(direct && read);
  EXPECT_EQ(hash_of(*direct), hash_of(*read));
  const Outcome piped = run({"paper:2x,seed=5", "-o", "-"});
  EXPECT_TRUE(piped.out.starts_with("# gpu=a100-40gb\n# days=1\njob_id,"));
}

TEST(WorkloadVerb, JsonHoldsTheSummary) {
  const Outcome outcome = run({"paper:20x", "--seed", "7", "--slack", "2-2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["source"], "paper:20x,seed=7,days=1,slack=2-2");
  EXPECT_EQ(json["kinds"].size(), 4u);
  EXPECT_EQ(json["arrivals_by_hour"].size(), 24u);
  EXPECT_NEAR(json["slack"]["p50"].get<double>(), 2, 1e-3);
  EXPECT_EQ(json["without_deadline"], 0);
}

TEST(WorkloadVerb, ExitCodes) {
  EXPECT_EQ(run({"paper:20q"}).code, 2);
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"paper:1x", "--slack", "x"}).code, 2);
  EXPECT_EQ(run({"paper:1x", "--seed", "-3"}).code, 2);
  EXPECT_EQ(run({"paper:1x", "--tokens-per-s", "-3"}).code, 2);
  EXPECT_EQ(run({testing::TempDir() + "no/such/file.csv"}).code, 1);
  EXPECT_EQ(run({"paper:1x", "-o", testing::TempDir() + "no/such/folder/x.csv"}).code, 1);
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(run({"paper:0.000001x"}).code, 0) << "no jobs is a workload too";
}

}  // namespace
}  // namespace smartmig::cli
