#include "policy/placing/job_value.h"

#include <gtest/gtest.h>

#include "base/embedded.h"

namespace smartmig {
namespace {

double gain_of(const JobOutlook& job, double speed, double late = 0) {
  JobValue value(JobWeights{}, late);
  value.look(job);
  return value.gain(speed);
}

TEST(JobValue, LateJobsAreWorthMoreThanEarlyOnes) {
  const double late = gain_of({10, -5, 1}, 1), tight = gain_of({10, 11, 1}, 1), early = gain_of({10, 500, 1}, 1);
  EXPECT_GE(late, tight);
  EXPECT_GT(tight, early);
  EXPECT_GT(early, 0);
}

TEST(JobValue, SpeedBeyondTheDeadlinesNeedIsWorthLess) {
  JobWeights weights;
  weights.pace = 1;
  weights.beyond_pace = 0.25;
  weights.early = 0;
  weights.lead = 100;  // urgent throughout
  JobValue value(weights, 0);
  value.look({10, 20, 1});  // half the greatest speed is enough
  EXPECT_DOUBLE_EQ(value.pace(), 0.5);
  const double half = value.gain(0.5), whole = value.gain(1);
  EXPECT_NEAR(whole - half, 0.25 * half, 1e-5);
}

TEST(JobValue, JobsThatGainLittleFromLargeSlicesCountLess) {
  EXPECT_LT(gain_of({10, 5, 0.4}, 1), gain_of({10, 5, 1}, 1));
  EXPECT_GT(gain_of({10, 5, 0}, 1), 0);
}

TEST(WeightFile, ShippedOneReadsBack) {
  const auto file = parse_weight_file("policies/market.json", embedded_file("policies/market.json"));
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_FALSE(file->seeds.empty());
  const auto again = parse_weight_file("again", to_json(*file));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(*file));
}

TEST(WeightFile, BadOnesAreRefusedByName) {
  const auto refusal = [](std::string text) {
    const auto file = parse_weight_file("w.json", text);
    return file ? std::string("accepted") : file.error().what;
  };
  std::string good = to_json(WeightFile{});
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_NE(refusal("[1]").find("w.json is not a file of planner weights"), std::string::npos);
  EXPECT_NE(refusal("{\"smartmig_planner\": 2}").find("version 2"), std::string::npos);
  EXPECT_NE(refusal("{\"smartmig_planner\": 1, \"weights\": {}}").find("weights.urgent is missing"), std::string::npos);
  const auto with = [&](std::string from, std::string to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_NE(refusal(with("\"pace\": ", "\"pace\": -")).find("between 0 and 1000000000"), std::string::npos);
  EXPECT_NE(refusal(with("\"urgent\":", "\"urgnet\": 1, \"urgent\":"))
                .find("weights.urgnet is not a key of this object, did you mean urgent?"),
            std::string::npos);
  EXPECT_NE(refusal(with("\"long_min\": ", "\"long_min\": 0, \"x\": ")).find("weights.x is not a key"),
            std::string::npos);
}

}  // namespace
}  // namespace smartmig
