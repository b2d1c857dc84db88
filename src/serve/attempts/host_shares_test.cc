#include "serve/attempts/host_shares.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

JobRecord job_of(std::uint32_t uid, double cpus = 0, int mem_mib = 0) {
  JobRecord job;
  job.owner.uid = uid;
  job.spec.cpus = cpus;
  job.spec.host_mem_mib = mem_mib;
  return job;
}

TEST(HostShares, AShareGoesWithTheSliceUnlessTheJobSaysOtherwise) {
  Settings settings;
  settings.host.cpus = 28;
  settings.host.mem_mib = 1400;
  Quotas quotas(settings, 7);
  const HostShares shares(settings, quotas, 14);
  EXPECT_DOUBLE_EQ(shares.share_of(job_of(1), 7).cpus, 14);
  EXPECT_EQ(shares.share_of(job_of(1), 7).mem_mib, 700);
  EXPECT_DOUBLE_EQ(shares.share_of(job_of(1, 3, 50), 7).cpus, 3);
  EXPECT_EQ(shares.share_of(job_of(1, 3, 50), 7).mem_mib, 50);
}

TEST(HostShares, StartsOfOnePlanAreCountedTogether) {
  Settings settings;
  settings.host.cpus = 8;
  settings.host.mem_mib = 1000;
  settings.limits.user_slices = 4;
  Quotas quotas(settings, 7);
  HostShares shares(settings, quotas, 14);
  const JobRecord runs = job_of(1, 1, 1);
  shares.count({{&runs, 2, 2}});
  EXPECT_EQ(shares.check(job_of(1, 1, 1), 3, 3), StartObjection::kUserSlices);
  EXPECT_EQ(shares.check(job_of(1, 1, 1), 2, 2), StartObjection::kNone);
  EXPECT_TRUE(shares.user_full(1));
  EXPECT_EQ(shares.check(job_of(2, 7, 1), 1, 1), StartObjection::kHostCpus) << "2 of 8 are taken";
  EXPECT_EQ(shares.check(job_of(2, 1, 999), 1, 1), StartObjection::kHostMemory);
  EXPECT_EQ(shares.check(job_of(2, 6, 998), 1, 1), StartObjection::kNone);
  EXPECT_EQ(shares.free_mem_mib(), 0);
  shares.count({});
  EXPECT_FALSE(shares.user_full(1)) << "a new plan";
}

TEST(HostShares, AHalfCountsHalfOfTheHostAndOneOfAUsersCap) {
  Settings settings;
  settings.host.cpus = 7;
  settings.host.mem_mib = 0;
  settings.limits.user_slices = 14;
  Quotas quotas(settings, 7);
  HostShares shares(settings, quotas, 7);
  shares.count({});
  for (int i = 0; i < 14; ++i) ASSERT_EQ(shares.check(job_of(1), 1, 0.5), StartObjection::kNone) << i;
  EXPECT_EQ(shares.user_slices(1), 14);
  EXPECT_EQ(shares.check(job_of(1), 1, 0.5), StartObjection::kUserSlices);
  EXPECT_EQ(shares.check(job_of(2), 1, 0.5), StartObjection::kHostCpus);
}

}  // namespace
}  // namespace smartmig
