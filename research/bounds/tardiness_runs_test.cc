#include "research/bounds/tardiness_runs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"
#include "research/bounds/tardiness_search.h"
#include "support/cases.h"

namespace smartmig {
namespace {

const std::vector<Machines> kFastAndSlow = {{3, kNoType, 1}, {1, kNoType, 2}};

// Work in slice-minutes: a machine of 3 slices is three times as fast.
LateJob runs_job(double release, double deadline, double work, double gain = 3) {
  LateJob job{release, deadline, {gain / work, 1 / work}};
  job.fastest = work / gain;
  job.second = job.slowest = work;
  job.deadline = std::max(job.deadline, release + job.fastest);
  return job;
}

// The least over all orders of ends and all places of the releases among them.
double best_of_all_orders(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  double best = kMipInfinity;
  do {
    std::vector<std::size_t> gap(jobs.size(), 0);  // after which release the k-th end comes
    const auto place = [&](const auto& self, std::size_t k, std::size_t from) -> void {
      if (k == order.size()) {
        std::vector<double> ends(jobs.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
          const double begin = jobs[gap[i]].release;
          const double end = gap[i] + 1 < jobs.size() ? jobs[gap[i] + 1].release : begin + 1;
          ends[order[i]] = begin + (end - begin) * double(i + 1) / double(order.size() + 1);
        }
        best = std::min(best, best_in_order(jobs, machines, ends).tardiness);
        return;
      }
      for (std::size_t g = std::max(from, order[k]); g < jobs.size(); ++g) {
        gap[k] = g;
        self(self, k + 1, g);
      }
    };
    place(place, 0, 0);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(OrderSchedule, ByHand) {
  // One machine of 3 and two of 1; two jobs of 6 slice-minutes: one ends at 2, the other has 2 of its 6 done then and ends at 3 1/3.
  const std::vector<LateJob> jobs = {runs_job(0, 2, 6), runs_job(0, 2, 6)};
  const OrderedSchedule schedule = best_in_order(jobs, kFastAndSlow, {2, 3});
  EXPECT_NEAR(schedule.tardiness, 4.0 / 3, 1e-6);
  EXPECT_NEAR(schedule.ends[1], 10.0 / 3, 1e-6);
}

TEST(OrderSchedule, NoWorseThanTheScheduleThatGaveTheOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<LateJob> jobs;
    double at = 0;
    for (int i = 0; i < 7; ++i) {
      at += rng.uniform(0, 1);
      jobs.push_back(runs_job(at, at + rng.uniform(0, 3), rng.uniform(0.5, 8)));
    }
    const auto order = search_order(jobs, kFastAndSlow, 50);
    const OrderedSchedule schedule = best_in_order(jobs, kFastAndSlow, ends_of_order(jobs, kFastAndSlow, order));
    EXPECT_LE(schedule.tardiness, tardiness_of_order(jobs, kFastAndSlow, order) + 1e-5);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      double done = 0;
      for (const RunPiece& piece : schedule.runs[j].pieces) {
        EXPECT_GE(piece.from, jobs[j].release - 1e-6);
        EXPECT_LE(piece.to, schedule.ends[j] + 1e-6);
        done += piece.minutes * jobs[j].speeds[piece.machine];
      }
      EXPECT_NEAR(done, 1, 1e-5);
    }
  }
}

TEST(TardinessRuns, NothingAndOneJob) {
  EXPECT_TRUE(solve_tardiness({}, kFastAndSlow, {}).value().solved);
  const RunsAnswer one = solve_tardiness({runs_job(1, 1, 6)}, kFastAndSlow, {}).value();
  EXPECT_TRUE(one.solved);
  EXPECT_NEAR(one.schedule, 0, 1e-5);
}

// Bound <= optimum <= schedule, and with branches they meet.
TEST(TardinessRuns, EncloseTheBestOfAllOrders) {
  int solved = 0, tried = 0;
  double root = 0, branched = 0;
  for (int i = 0; i < cases(24); ++i) {
    SCOPED_TRACE(i);
    Rng rng(std::uint64_t(700 + i));
    std::vector<LateJob> jobs;
    double at = 0;
    const bool own_speeds = i % 3 == 2;
    for (int k = 0; k < 4; ++k) {
      const double gain = own_speeds ? rng.uniform(1, 3) : 3;
      const double deadline = at + rng.uniform(0, 4);
      jobs.push_back(runs_job(at, deadline, rng.uniform(2, 9), gain));
      if (i % 2 == 1) at += rng.uniform(0, 1.5);
    }
    const double optimum = best_of_all_orders(jobs, kFastAndSlow);
    RunsOptions options;
    options.search_steps = 200;
    const RunsAnswer without = solve_tardiness(jobs, kFastAndSlow, options).value();
    options.branches = 30;
    const RunsAnswer with = solve_tardiness(jobs, kFastAndSlow, options).value();
    for (const RunsAnswer& answer : {without, with}) {
      EXPECT_LE(answer.bound, optimum + 1e-5);
      EXPECT_GE(answer.schedule, optimum - 1e-5);
    }
    EXPECT_GE(with.bound, without.bound - 1e-9);
    EXPECT_LE(with.schedule, without.schedule + 1e-9);
    root += without.bound;
    branched += with.bound;
    solved += with.solved;
    ++tried;
  }
  EXPECT_GE(branched, root);
  EXPECT_GE(solved, tried * 3 / 4);
}

TEST(TardinessRuns, TheSameAnswerEachTime) {
  Rng rng(5);
  std::vector<LateJob> jobs;
  for (int k = 0; k < 10; ++k) jobs.push_back(runs_job(0.3 * k, 0.3 * k + rng.uniform(0, 2), rng.uniform(1, 12)));
  RunsOptions options;
  options.search_steps = 500;
  options.branches = 6;
  const RunsAnswer first = solve_tardiness(jobs, kFastAndSlow, options).value();
  const RunsAnswer again = solve_tardiness(jobs, kFastAndSlow, options).value();
  EXPECT_EQ(first.bound, again.bound);
  EXPECT_EQ(first.schedule, again.schedule);
  EXPECT_EQ(first.branches, again.branches);
  EXPECT_LT(first.schedule, 1.02 * first.bound + 1e-6);
}

}  // namespace
}  // namespace smartmig
