#include "sim/restart_rule.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/workload_spec.h"

namespace smartmig {
namespace {

// Restart costs by kind, in seconds; every job of a kind has the same one.
std::map<std::string, double> restarts_of(const std::string& spec, const char* rule) {
  LoadOptions options;
  if (rule) options.restart = parse_restart(rule).value();
  const auto workload = load_workload(spec, options);
  EXPECT_TRUE(workload);
  std::map<std::string, double> out;
  for (const Job& job : workload->jobs) {
    const double s = job.restart < Time{0} ? -1 : seconds(job.restart);
    const auto [known, added] = out.emplace(workload->kind_of(job), s);
    EXPECT_EQ(known->second, s) << known->first;
  }
  return out;
}

TEST(RestartRule, ReadsAndWrites) {
  for (const char* text : {"none", "table", "20", "0", "2.5"}) EXPECT_EQ(to_string(parse_restart(text).value()), text);
  for (const char* text : {"", "None", "-1", "20s", "nan", "1e9"}) EXPECT_FALSE(parse_restart(text)) << text;
}

TEST(RestartRule, TouchesTheKindsItSpeaksOf) {
  const std::map<std::string, double> table{
      {"bert-infer", -1}, {"bert-train", 120}, {"resnet50-infer", -1}, {"resnet50-train", 250}};
  EXPECT_EQ(restarts_of("paper:2x,seed=3", nullptr), table);
  EXPECT_EQ(restarts_of("paper:2x,seed=3", "table"), table);
  auto wanted = table;
  wanted["bert-train"] = wanted["resnet50-train"] = 20;
  EXPECT_EQ(restarts_of("paper:2x,seed=3", "20"), wanted) << "inference stays as it is";
  for (auto& [kind, s] : wanted) s = -1;
  EXPECT_EQ(restarts_of("paper:2x,seed=3", "none"), wanted);
  for (const auto& [kind, s] : restarts_of("fixed:2x,seed=3", "20")) EXPECT_EQ(s, -1) << kind << " is no training";
}

TEST(RestartRule, IsSaidAmongTheRules) {
  LoadOptions options;
  options.restart = parse_restart("20").value();
  const auto workload = load_workload("miso:rate=1,jobs=10", options);
  ASSERT_TRUE(workload);
  EXPECT_NE(workload->rules.back().find("training jobs 20 s (10 of 10 jobs can be stopped)"), std::string::npos)
      << workload->rules.back();
}

}  // namespace
}  // namespace smartmig
