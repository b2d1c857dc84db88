#include "research/bounds/tardiness_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

// One machine of speed 1 and one of speed 1/2 (shares of a job of two minutes).
const std::vector<Machines> kTwo = {{2, kNoType, 1}, {1, kNoType, 1}};
LateJob late_job(double release, double deadline, double fast_min) {
  LateJob job{release, deadline, {1 / fast_min, 0.5 / fast_min}};
  job.fastest = fast_min;
  job.second = job.slowest = 2 * fast_min;
  return job;
}

TEST(TardinessSearch, ASchedulesTardinessByHand) {
  const std::vector<LateJob> jobs = {late_job(0, 2, 2), late_job(0, 2, 2)};
  // The first ends at 2. The second does half on the slow machine, the other half on the fast one: ends at 3.
  EXPECT_NEAR(tardiness_of_order(jobs, kTwo, {0, 1}), 1, 1e-9);
  EXPECT_NEAR(tardiness_of_order(jobs, {kTwo[0]}, {0, 1}), 2, 1e-9) << "one machine: 2 and 4";
  // Who comes later and first in order takes the fast machine: 1 + 0.5 of the first are done by 2.
  const std::vector<LateJob> later = {late_job(0, 2, 2), late_job(1, 2, 1)};
  EXPECT_NEAR(tardiness_of_order(later, kTwo, {1, 0}), 0.5, 1e-9);
  EXPECT_EQ(tardiness_of_order({}, kTwo, {}), 0);
}

TEST(TardinessSearch, OrdersAreSearchedAndTheAnswerIsTheSameEachTime) {
  // By deadline the long one goes first and nine short ones are late by 9 each, too; the other way round it alone is, by 18.
  std::vector<LateJob> jobs = {late_job(0, 1, 10)};
  for (int i = 0; i < 9; ++i) jobs.push_back(late_job(0, 2 + i, 1));
  std::vector<std::size_t> by_deadline = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<Machines> one = {kTwo[0]};
  EXPECT_NEAR(tardiness_of_order(jobs, one, by_deadline), 9 + 9 * 9, 1e-9);
  const double found = search_tardiness(jobs, one, 2000);
  EXPECT_NEAR(found, 18, 1e-9);
  EXPECT_EQ(search_tardiness(jobs, one, 2000), found);
}

TEST(TardinessSearch, NoScheduleIsBetterThanTheBound) {
  const auto p = platform("1xa100-40gb");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<Job> jobs;
    for (int i = 0; i < 8; ++i) {
      const double at = rng.uniform(0, 4);
      jobs.push_back(job(at, at + rng.uniform(0.5, 2), linear(rng.uniform(0.5, 3))));
    }
    std::sort(jobs.begin(), jobs.end(), [](const Job& x, const Job& y) { return x.submit < y.submit; });
    TardinessOptions options;
    options.slot_min = 0.5;
    options.limits.seconds = 0;
    options.search_steps = 2000;
    options.layouts = {parse_shape(*p->models()[0].gpu, "8").value()};
    const TardinessBound b = tardiness_bound(*p, *bind(std::move(jobs), *p), options).value();
    EXPECT_LE(b.mean_min, b.schedule_min + 1e-6);
    EXPECT_LT(b.schedule_min, 2 * b.mean_min + 1);
  }
}

}  // namespace
}  // namespace smartmig
