#include "slurm/request.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(SlurmRequest, IsFoundAmongOtherWords) {
  const auto request = find_slurm_request("note smartmig:mem=18432M,slices=3,deadline=2h,estimate=20m used:node=n1");
  ASSERT_TRUE(request && *request);
  EXPECT_EQ((*request)->mem_mib, 18432);
  EXPECT_EQ((*request)->min_slices, 3);
  EXPECT_EQ((*request)->deadline, Time(hours(2)));
  EXPECT_EQ((*request)->estimate, Time(minutes(20)));
  EXPECT_FALSE((*request)->restart);
}

TEST(SlurmRequest, ATextWithoutOneHasNone) {
  for (const char* text : {"", "mem=3G", "smartmi:mem=3G"}) {
    const auto request = find_slurm_request(text);
    ASSERT_TRUE(request) << text;
    EXPECT_FALSE(*request) << text;
  }
}

TEST(SlurmRequest, WhatIsNotUnderstoodIsNamed) {
  const std::pair<const char*, const char*> cases[] = {{"smartmig:", "''"},
                                                       {"smartmig:mem", "'mem'"},
                                                       {"smartmig:mem=", "'mem='"},
                                                       {"smartmig:mem=x", "'mem=x'"},
                                                       {"smartmig:slices=9", "'slices=9'"},
                                                       {"smartmig:deadline=-1s", "'deadline=-1s'"},
                                                       {"smartmig:kind=a/b", "'kind=a/b'"},
                                                       {"smartmig:mem=1G,mem=2G", "twice"},
                                                       {"smartmig:color=red", "'color=red'"}};
  for (const auto& [text, words] : cases) {
    const auto request = find_slurm_request(text);
    ASSERT_FALSE(request) << text;
    EXPECT_NE(request.error().what.find(words), std::string::npos) << request.error().what;
  }
}

TEST(SlurmRequest, WrittenAndReadIsTheSame) {
  SlurmRequest request;
  request.mem_mib = 9984;
  request.min_slices = 2;
  request.estimate = Time(1'500'000);
  request.restart = Time(seconds(30));
  request.kind = "resnet50-train";
  const auto read = find_slurm_request(to_string(request));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, request);
  EXPECT_EQ(with_request("a smartmig:mem=1M b", request), "a " + to_string(request) + " b");
  EXPECT_EQ(with_request("", request), to_string(request));
}

}  // namespace
}  // namespace smartmig
