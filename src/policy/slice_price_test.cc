#include "policy/slice_price.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

// The price after `count` arrivals, `gap` minutes apart, of jobs of `run` minutes on a whole GPU.
double price_after(int count, double gap, double run, std::size_t late, double waiting) {
  const auto platform = fixture::platform("1xa100-40gb");
  std::vector<Job> jobs;
  for (int j = 0; j < count; ++j) jobs.push_back(fixture::job(j * gap, -1, fixture::linear(run)));
  Cluster cluster(platform, fixture::bind(jobs, *platform), {CostModel::kHardware, {}},
                  fixture::layouts(*platform, {"7g@0"}));
  SlicePrice price{SlicePriceWeights{}};
  for (int j = 0; j < count; ++j) {
    cluster.apply(Event::submitted(fixture::min(j * gap), JobId(j)));
    price.see_arrival(cluster, JobId(j));
  }
  return price.price(cluster, late, waiting);
}

TEST(SlicePrice, NothingIsKnownOfTheFirstJob) { EXPECT_EQ(price_after(1, 1, 1, 0, 0), 0); }

TEST(SlicePrice, GrowsWithLoadWaitingWorkAndLateJobs) {
  const double calm = price_after(50, 10, 1, 0, 0), busy = price_after(50, 1.2, 1, 0, 0);
  EXPECT_LT(calm, busy);
  EXPECT_LT(busy, price_after(50, 1.2, 1, 0, 20));
  EXPECT_LT(busy, price_after(50, 1.2, 1, 3, 0));
}

// Three jobs of an hour within seconds, after nothing for long: the fleet is as free as before.
TEST(SlicePrice, AFewJobsAtOnceAreNoLoad) { EXPECT_LT(price_after(3, 0.05, 60, 0, 0), 0.05); }

// The same queue in seconds or in days has the same price.
TEST(SlicePrice, HasNoUnit) { EXPECT_NEAR(price_after(50, 2, 1, 2, 30), price_after(50, 2000, 1000, 2, 30'000), 1e-9); }

}  // namespace
}  // namespace smartmig
