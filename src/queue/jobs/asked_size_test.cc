#include "queue/jobs/asked_size.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

Platform fleet_of(const char* spec) {
  auto out = Platform::parse(spec);
  SMARTMIG_CHECK(bool(out), "{}", out ? "" : out.error().what);
  return std::move(*out);
}

JobSpec with(void (*change)(JobSpec&)) {
  JobSpec spec;
  change(spec);
  return spec;
}

std::string refusal(const JobSpec& spec, const char* fleet) {
  const auto good = check_size(spec, fleet_of(fleet));
  return good ? "" : good.error().what;
}

std::pair<int, int> allowed(const JobRecord& job, const char* fleet, SizeRules rules = {}, int user_slices = 0) {
  const AskedSize size = allowed_size(job, fleet_of(fleet), rules, user_slices);
  return {size.least, size.most};
}

TEST(AskedSize, AProfileIsThatProfile) {
  const Platform fleet = fleet_of("2xh100-80gb-sxm");
  JobSpec spec = with([](JobSpec& s) { s.profile = "1g.10gb"; });
  EXPECT_TRUE(check_size(spec, fleet));
  settle_size(spec, fleet, {});
  EXPECT_GT(spec.mem_mib.value_or(0), 9000);
  JobRecord job;
  job.spec = spec;
  job.memory.mib = *spec.mem_mib;
  EXPECT_EQ(allowed(job, "2xh100-80gb-sxm"), std::pair(1, 1));
  EXPECT_EQ(asked_slices(job, fleet), 1);
  spec.profile = "1g.5gb";
  EXPECT_EQ(
      refusal(spec, "2xh100-80gb-sxm"),
      "no GPU of this machine has the profile '1g.5gb'; it has 1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb");
  spec.profile = "1g.10gb";
  spec.mem_mib = 30'000;
  EXPECT_NE(refusal(spec, "2xh100-80gb-sxm").find("the largest slice for --profile 1g.10gb has"), std::string::npos);
}

TEST(AskedSize, BoundsThatNoSliceKeepsAreRefused) {
  JobSpec spec;
  spec.min_slices = 5;
  spec.max_slices = 6;
  EXPECT_EQ(
      refusal(spec, "1xa100-40gb"),
      "no GPU of this machine has a slice for --min-slices 5 --max-slices 6; slices have 1, 2, 3, 4, 7 compute slices");
  spec.max_slices = 7;
  EXPECT_EQ(refusal(spec, "1xa100-40gb"), "");
}

TEST(AskedSize, AGpusModelIsAskedOfTheMachine) {
  JobSpec spec;
  spec.exclusive = true;
  for (const char* name : {"h100", "h100_80gb", "nvidia_h100_80gb_hbm3", "h100-sxm5-80gb"}) {
    spec.gpu_model = name;
    EXPECT_EQ(refusal(spec, "1xh100-80gb-sxm"), "") << name;
  }
  for (const char* name : {"a100", "h100_94gb", "h200", "h100_pcie"}) {
    spec.gpu_model = name;
    EXPECT_NE(refusal(spec, "1xh100-80gb-sxm").find("it has h100-80gb-sxm"), std::string::npos) << name;
  }
  spec.gpu_model = "a100";
  EXPECT_NE(refusal(spec, "1xa100-40gb,1xa30-24gb").find("cannot choose 'a100'"), std::string::npos);
}

TEST(AskedSize, AGpuMeansWhatTheSiteSays) {
  const Platform fleet = fleet_of("1xa100-40gb");
  Settings settings;
  JobSpec spec;
  spec.one_gpu = true;
  settle_size(spec, fleet, settings);
  EXPECT_FALSE(spec.exclusive);
  settings.defaults.gpu_means = "whole";
  JobSpec small = spec;
  small.max_slices = 2;
  settle_size(small, fleet, settings);
  EXPECT_FALSE(small.exclusive) << "it names a size";
  settle_size(spec, fleet, settings);
  EXPECT_TRUE(spec.exclusive);
  JobRecord job;
  job.spec = spec;
  EXPECT_EQ(allowed(job, "1xa100-40gb"), std::pair(7, 7));
  EXPECT_EQ(asked_slices(job, fleet), 7);
}

TEST(AskedSize, TheSitesCapGivesWayToMemoryAndToWords) {
  JobRecord job;
  EXPECT_EQ(allowed(job, "1xa100-40gb", {2, 1}).second, 2);
  job.spec.pty = true;
  EXPECT_EQ(allowed(job, "1xa100-40gb", {2, 1}).second, 1);
  EXPECT_EQ(allowed(job, "1xa100-40gb", {0, 1}).second, 1);
  job.memory.mib = 18'000;
  EXPECT_EQ(allowed(job, "1xa100-40gb", {2, 1}).second, 3) << "3g.20gb is the smallest that holds it";
  EXPECT_EQ(asked_slices(job, fleet_of("1xa100-40gb")), 3);
  job.spec.max_slices = 4;
  EXPECT_EQ(allowed(job, "1xa100-40gb", {2, 1}).second, 4) << "it was asked for";
  EXPECT_EQ(allowed(job, "1xa100-40gb", {2, 1}, 3).second, 3) << "a user's cap holds all the same";
  job.place.gpu = 0;
  EXPECT_EQ(allowed(job, "1xa100-40gb", {2, 1}, 3).second, 4) << "it has its slice";
}

}  // namespace
}  // namespace smartmig
