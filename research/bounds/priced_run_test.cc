#include "research/bounds/priced_run.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace smartmig {
namespace {

LateJob priced_job(double release, double deadline, std::vector<double> speeds) {
  LateJob job{release, deadline, std::move(speeds)};
  for (const double speed : job.speeds) job.fastest = job.fastest > 0 ? std::min(job.fastest, 1 / speed) : 1 / speed;
  return job;
}

TEST(PricedRun, ByHand) {
  // A job of 2 minutes. The first minute of the day is dear, the rest is free.
  const PriceGrid grid{{0, 1, 4}, {0.75, 0}, 1};
  const LateJob job = priced_job(0, 2, {0.5});
  const WholeRun pays = PricedRun(grid).solve(job, {});
  EXPECT_NEAR(pays.value, 0.75, 1e-12) << "a minute of waiting would cost 1";
  EXPECT_NEAR(pays.end, 2, 1e-12);
  const PriceGrid dearer{{0, 1, 4}, {1.5, 0}, 1};
  const WholeRun waits = PricedRun(dearer).solve(job, {});
  EXPECT_NEAR(waits.value, 1, 1e-12);
  EXPECT_NEAR(waits.end, 3, 1e-12);
  EXPECT_NEAR(PricedRun(dearer).solve(job, {0, 2}).value, 1.5, 1e-12) << "it must end by 2";
  EXPECT_NEAR(PricedRun(grid).solve(job, {3.5, kMipInfinity}).value, 1.5, 1e-12) << "it counts as ended at 3.5";
  EXPECT_EQ(PricedRun(grid).solve(job, {0, 1.9}).value, kMipInfinity) << "nobody is so fast";
  EXPECT_NEAR(PricedRun(PriceGrid{{0, 1}, {5}, 1}).solve(job, {}).end, 3, 1e-12) << "after the last edge all is free";
}

// F(C) = max over lambda of lambda - sum of lengths * max(0, lambda * speed - price): the dual of the knapsack, by trial of its kinks.
double least_paid(const LateJob& job, const PriceGrid& grid, double end) {
  std::vector<double> lambdas{0};
  for (std::size_t s = 0; s < grid.slots(); ++s)
    for (std::size_t c = 0; c < grid.classes; ++c) {
      lambdas.push_back(grid.prices[s * grid.classes + c] / job.speeds[c]);
      for (std::size_t d = 0; d < grid.classes; ++d)
        if (job.speeds[d] > job.speeds[c])
          lambdas.push_back((grid.prices[s * grid.classes + d] - grid.prices[s * grid.classes + c]) /
                            (job.speeds[d] - job.speeds[c]));
    }
  double best = 0;
  for (const double lambda : lambdas) {
    if (lambda < 0) continue;
    double value = lambda;
    for (std::size_t s = 0; s <= grid.slots(); ++s) {
      const bool tail = s == grid.slots();
      const double length =
          std::max(0.0, (tail ? end : std::min(end, grid.edges[s + 1])) - std::max(job.release, grid.edges[s]));
      double most = 0;
      for (std::size_t c = 0; c < grid.classes; ++c)
        most = std::max(most, lambda * job.speeds[c] - (tail ? 0 : grid.prices[s * grid.classes + c]));
      value -= length * most;
    }
    best = std::max(best, value);
  }
  return best;
}

TEST(PricedRun, NoEndIsCheaperAndTheRunIsWhatItSays) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    PriceGrid grid{{0}, {}, 1 + rng.below(3)};
    for (int s = 0; s < 6; ++s) {
      grid.edges.push_back(grid.edges.back() + rng.uniform(0.2, 1.5));
      for (std::size_t c = 0; c < grid.classes; ++c) grid.prices.push_back(rng.uniform() < 0.2 ? 0 : rng.uniform(0, 2));
    }
    std::vector<double> speeds;
    for (std::size_t c = 0; c < grid.classes; ++c) speeds.push_back(rng.uniform(0.2, 1.5));
    const double release = rng.uniform(0, 3);
    const LateJob job = priced_job(release, release + rng.uniform(0.5, 4), speeds);
    EndWindow window;
    if (rng.uniform() < 0.3) window.earliest = release + rng.uniform(0, 6);
    if (rng.uniform() < 0.3) window.latest = release + job.fastest + rng.uniform(0, 3);
    const WholeRun run = PricedRun(grid).solve(job, window);
    ASSERT_LT(run.value, kMipInfinity);
    EXPECT_LE(run.end, window.latest + 1e-9);
    const auto value_at = [&](double end) { return lateness(job, window, end) + least_paid(job, grid, end); };
    EXPECT_NEAR(run.value, value_at(run.end), 1e-7);
    for (int i = 0; i <= 200; ++i) {
      const double end = release + job.fastest + 1e-9 + 0.05 * i;
      if (end > window.latest) break;
      EXPECT_LE(run.value, value_at(end) + 1e-7) << end;
    }
    double paid = 0, done = 0, before_last = 0;
    for (const RunPiece& piece : run.pieces) {
      const std::size_t slot =
          std::size_t(std::upper_bound(grid.edges.begin(), grid.edges.end(), piece.from) - grid.edges.begin()) - 1;
      paid += piece.minutes * grid.prices[slot * grid.classes + piece.machine];
      done += piece.minutes * speeds[piece.machine];
      before_last += piece.minutes;
      EXPECT_GE(piece.from, release - 1e-12);
      EXPECT_LE(piece.to, run.end + 1e-9);
      EXPECT_LE(piece.minutes, piece.to - piece.from + 1e-9);
    }
    EXPECT_NEAR(paid + lateness(job, window, run.end), run.value, 1e-7);
    if (run.end <= grid.edges.back()) {
      EXPECT_NEAR(done, 1, 1e-7);
    }
    EXPECT_LE(before_last, run.end - release + 1e-7);
  }
}

}  // namespace
}  // namespace smartmig
