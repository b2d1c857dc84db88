#include "live/energy/energy_meter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "support/cases.h"

namespace smartmig {
namespace {

Time s(double seconds) { return from_seconds(seconds); }
UnixTime at(double seconds) { return UnixTime(s(seconds)); }
const BoardMeter::Options kBoard{100, 1000, s(30)};

TEST(EnergyMeter, SharesByWeightAndSeconds) {
  BoardMeter meter(kBoard);
  meter.sample({at(0), 5000.0, {}, 0});
  meter.started(1, 60, at(0));
  meter.started(2, 120, at(5));
  const EnergyInterval interval = meter.sample({at(10), 5000.0 + 1000 + 1200, {}, 0});
  EXPECT_EQ(interval.source, EnergySource::kCounter);
  EXPECT_DOUBLE_EQ(interval.idle_j, 1000);
  ASSERT_EQ(interval.jobs.size(), 2u);
  EXPECT_DOUBLE_EQ(interval.jobs[0].second, 600) << "60 x 10 s against 120 x 5 s";
  EXPECT_DOUBLE_EQ(interval.jobs[1].second, 600);
  EXPECT_EQ(interval.unattributed_j, 0);
  EXPECT_EQ(interval.words, "");
  meter.ended(1, at(12));
  const EnergyInterval next = meter.sample({at(20), 5000.0 + 2200 + 500, {}, 0});
  EXPECT_DOUBLE_EQ(next.idle_j, 500) << "at most what was measured";
  EXPECT_TRUE(next.jobs.empty());
}

TEST(EnergyMeter, WithoutACounterPowerThenTheModel) {
  BoardMeter meter(kBoard);
  meter.sample({at(0), {}, 200.0, 0});
  meter.started(1, 1, at(0));
  EnergyInterval interval = meter.sample({at(10), {}, 300.0, 999});
  EXPECT_EQ(interval.source, EnergySource::kPowerIntegral);
  EXPECT_DOUBLE_EQ(interval.joules, 2500);
  interval = meter.sample({at(20), {}, {}, 400});
  EXPECT_EQ(interval.source, EnergySource::kModel);
  EXPECT_DOUBLE_EQ(interval.joules, 4000);
  EXPECT_DOUBLE_EQ(meter.totals().by_source_j[1], 2500);
  EXPECT_DOUBLE_EQ(meter.totals().by_source_j[2], 4000);
}

TEST(EnergyMeter, ACounterThatGoesBackIsUnattributed) {
  BoardMeter meter(kBoard);
  meter.sample({at(0), 90000.0, {}, 0});
  meter.started(1, 1, at(0));
  const EnergyInterval interval = meter.sample({at(10), 1500.0, {}, 0});
  EXPECT_NE(interval.words.find("went back from 90000.0 J to 1500.0 J"), std::string::npos) << interval.words;
  EXPECT_TRUE(interval.jobs.empty());
  EXPECT_DOUBLE_EQ(interval.joules, 1500);
  EXPECT_DOUBLE_EQ(interval.idle_j + interval.unattributed_j, 1500);
  EXPECT_EQ(meter.sample({at(20), 3500.0, {}, 0}).jobs.size(), 1u) << "and goes on from there";
}

TEST(EnergyMeter, AJumpAndAGapAreUnattributed) {
  BoardMeter meter(kBoard);
  meter.sample({at(0), 0.0, 200.0, 0});
  meter.started(1, 1, at(0));
  EnergyInterval interval = meter.sample({at(10), 1e9, 200.0, 0});
  EXPECT_NE(interval.words.find("jumped"), std::string::npos);
  EXPECT_DOUBLE_EQ(interval.joules, 2000);
  EXPECT_TRUE(interval.jobs.empty());
  interval = meter.sample({at(100), 1e9 + 18000, 200.0, 0});
  EXPECT_NE(interval.words.find("no sample for 90.0 s"), std::string::npos) << interval.words;
  EXPECT_DOUBLE_EQ(interval.unattributed_j, 9000);
  EXPECT_EQ(meter.sample({at(110), 1e9 + 20000, 200.0, 0}).words, "");
}

TEST(EnergyMeter, ARestartChargesTheJobsThatRanThrough) {
  EnergyMeter before;
  BoardMeter& board = before.board("GPU-a", kBoard);
  board.sample({at(0), 1000.0, 300.0, 0});
  board.started(1, 3, at(0));
  board.started(2, 1, at(0));
  board.sample({at(10), 4000.0, 300.0, 0});
  EnergyMeter after;
  ASSERT_TRUE(bool(after.restore(before.state())));
  EXPECT_EQ(after.state(), before.state());
  BoardMeter& again = after.board("GPU-a", kBoard);
  again.ended(2, at(110));
  const EnergyInterval interval = again.sample({at(610), 4000.0 + 180000, 300.0, 0});
  EXPECT_EQ(interval.words, "") << "ten minutes without a daemon are no missed sample";
  ASSERT_EQ(interval.jobs.size(), 2u);
  EXPECT_NEAR(interval.jobs[0].second, 120000.0 * 1800 / 1900, 1e-6);
  EXPECT_NEAR(interval.jobs[1].second, 120000.0 * 100 / 1900, 1e-6);
  EXPECT_NEAR(after.totals().booked_j(), 183000, 1e-6);

  EnergyMeter nobody;
  nobody.board("GPU-a", kBoard).sample({at(0), 0.0, {}, 0});
  EnergyMeter later;
  ASSERT_TRUE(bool(later.restore(nobody.state())));
  const EnergyInterval alone = later.board("GPU-a", kBoard).sample({at(100), 50000.0, {}, 0});
  EXPECT_DOUBLE_EQ(alone.unattributed_j, 40000);
  EXPECT_NE(alone.words.find("without samples"), std::string::npos);
}

TEST(EnergyMeter, RefusesAStateThatIsNotOne) {
  EnergyMeter meter;
  meter.board("GPU-a", kBoard).sample({at(1), 5.0, {}, 0});
  const std::string good = meter.state();
  const auto complaint = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    EnergyMeter other;
    const auto result = other.restore(text);
    return result ? std::string("accepted") : result.error().what;
  };
  EXPECT_NE(complaint("\"smartmig_energy\":1", "\"smartmig_energy\":2").find("version 2"), std::string::npos);
  EXPECT_NE(complaint("\"counter_j\":5.0", "\"counter_j\":\"5\"").find("boards[0].counter_j"), std::string::npos);
  EXPECT_NE(
      complaint("\"begun\"", "\"begon\"").find("boards[0].begon is not a key of this object, did you mean begun?"),
      std::string::npos);
  EXPECT_NE(complaint("\"at_us\":1000000", "\"at_us\":1e300").find("at_us"), std::string::npos);
  EXPECT_NE(complaint("{", "[").find("not valid JSON"), std::string::npos);
}

// Random boards: jobs come and go, samples are missed, the counter fails, goes back and jumps, the daemon restarts.
TEST(EnergyMeterProperty, NothingIsLostOrInvented) {
  for (std::uint64_t seed = 1; seed <= std::uint64_t(cases(300)); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 9);
    const bool faults = seed % 3 == 0, unreadable = seed % 2 == 0;
    EnergyMeter meter;
    BoardMeter* board = &meter.board("GPU-a", kBoard);
    UnixTime now = at(rng.uniform(0, 100));
    double truth = rng.uniform(0, 1e6);  // of the counter
    const double first = truth;
    double booked = 0, jobs = 0;
    board->sample({now, truth, 200.0, 200});
    std::uint64_t job = 1;
    for (int step = 0; step < 200; ++step) {
      const UnixTime next = now + s(rng.below(20) == 0 ? rng.uniform(31, 300) : rng.uniform(0.1, 10));
      const double watts = rng.uniform(50, 700);
      if (rng.below(2)) board->started(job++, rng.uniform(0, 100), now + s(rng.uniform(-1, seconds(next - now))));
      if (rng.below(2)) board->ended(1 + rng.below(job), now + s(rng.uniform(-1, seconds(next - now))));
      truth += watts * seconds(next - now);
      now = next;
      if (faults && rng.below(30) == 0) truth = rng.uniform(0, 50);
      if (faults && rng.below(30) == 0) truth += 1e8;
      EnergySample sample{now, truth, watts, watts * rng.uniform(0.5, 1.5)};
      if (unreadable && step < 199 && rng.below(4) == 0) sample.counter_j.reset();
      if (rng.below(5) == 0) sample.power_w.reset();
      const EnergyInterval interval = board->sample(sample);
      double sum = interval.idle_j + interval.unattributed_j;
      for (const auto& [id, joules] : interval.jobs) {
        EXPECT_GE(joules, 0);
        sum += joules;
        jobs += joules;
      }
      ASSERT_NEAR(sum, interval.joules, 1e-9 * (1 + std::abs(interval.joules)));
      ASSERT_GE(interval.idle_j, 0);
      booked += interval.joules;
      if (rng.below(20) == 0) {
        EnergyMeter again;
        ASSERT_TRUE(bool(again.restore(meter.state())));
        meter = again;
        board = &meter.board("GPU-a", kBoard);
      }
    }
    const EnergyTotals totals = meter.totals();
    EXPECT_NEAR(totals.booked_j(), booked, 1e-9 * booked);
    EXPECT_NEAR(totals.jobs_j, jobs, 1e-9 * booked);
    EXPECT_NEAR(totals.jobs_j + totals.idle_j + totals.unattributed_j, booked, 1e-9 * booked);
    if (!faults) {
      EXPECT_NEAR(booked, truth - first, 1e-9 * (truth - first));
    }
  }
}

}  // namespace
}  // namespace smartmig
