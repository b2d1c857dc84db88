#include "policy/planner/job_rest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

struct OneJob {
  std::shared_ptr<const Platform> platform = fixture::platform("1xa100-40gb");
  Cluster cluster;
  explicit OneJob(double spread)
      : cluster(platform,
                fixture::bind(
                    [&] {
                      Job job = fixture::job(0, 60, fixture::linear(10));
                      job.spread = spread;
                      return std::vector<Job>{job};
                    }(),
                    *platform),
                CostModel{CostModel::kHardware, {}}, fixture::layouts(*platform, {"4g@0+3g@4"})) {
    cluster.apply(Event::submitted(min(0), JobId(0)));
  }
  TypeId four() const { return platform->type_of(GpuId(0), fixture::slice(*platform, 0, "4g@0")); }
  void start(double at) {
    cluster.apply(Event::started(min(at), JobId(0), GpuId(0), fixture::slice(*platform, 0, "4g@0")));
  }
};

TEST(JobRest, WhatIsKnownIsAPoint) {
  OneJob one(0);
  const JobRest rest(one.cluster, JobId(0));
  EXPECT_TRUE(rest.known());
  EXPECT_EQ(rest.on(one.cluster, JobId(0), one.four()), min(17.5));
  EXPECT_EQ(rest.minutes_late(min(60), min(61), min(17.5)), 1);
  EXPECT_EQ(rest.minutes_late(min(60), min(59), min(17.5)), 0);
  one.start(0);
  EXPECT_EQ(expected_finish(one.cluster, JobId(0)), min(17.5));
}

TEST(JobRest, OnTimeAtTheMeanIsLateInTheMean) {
  OneJob one(0.69);
  const JobRest rest(one.cluster, JobId(0));
  const Time run = rest.on(one.cluster, JobId(0), one.four());
  EXPECT_GT(run, min(17.5)) << "the mean is above the median";
  EXPECT_LT(run, min(17.5 * std::exp(0.69 * 0.69 / 2)));
  const double late = rest.minutes_late(min(60), min(60), run);
  EXPECT_GT(late, 0.2 * minutes(run));
  EXPECT_LT(late, 0.4 * minutes(run));
  EXPECT_NEAR(rest.minutes_late(min(60), min(60) + 3 * run, run), 3 * minutes(run), 1e-6)
      << "late in every case: the mean";
  EXPECT_EQ(rest.minutes_late(min(60), min(60) - 3 * run, run), 0);
}

TEST(JobRest, ARunThatOutlivesItsMedianHasMoreLeft) {
  OneJob one(0.69);
  one.start(0);
  const Time at_first = expected_finish(one.cluster, JobId(0));
  one.cluster.pass(min(17.5));
  const Time left_at_median = expected_finish(one.cluster, JobId(0)) - one.cluster.now();
  one.cluster.pass(min(60));
  const Time later = expected_finish(one.cluster, JobId(0)) - one.cluster.now();
  EXPECT_GT(at_first, min(17.5));
  EXPECT_GT(left_at_median, min(5));
  EXPECT_GT(later, left_at_median);
}

TEST(JobRest, ARunOfWhichNothingIsKnownHasAnEnd) {
  OneJob one(20);
  EXPECT_EQ(JobRest(one.cluster, JobId(0)).on(one.cluster, JobId(0), one.four()), from_seconds(kMaxSeconds));
  one.start(0);
  one.cluster.pass(min(600));
  const Time end = expected_finish(one.cluster, JobId(0));
  EXPECT_GT(end, one.cluster.now());
  EXPECT_LE(end, one.cluster.now() + from_seconds(kMaxSeconds));
}

}  // namespace
}  // namespace smartmig
