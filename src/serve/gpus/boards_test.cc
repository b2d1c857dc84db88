#include "serve/gpus/boards.h"

#include <gtest/gtest.h>

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

UnixTime at(int s) { return from_unix_us(std::int64_t(s) * 1'000'000); }

TEST(BoardLoad, TheMeanOfOthers) {
  BoardLoad load;
  load.began(1, 1.0 / 7, at(0));
  load.began(2, 2.0 / 7, at(5));
  load.began(3, 4.0 / 7, at(5));
  EXPECT_NEAR(load.ended(2, at(10)), 5.0 / 7, 1e-9);
  EXPECT_NEAR(load.ended(1, at(20)), (2.0 / 7 * 5 + 4.0 / 7 * 15) / 20, 1e-9);
  EXPECT_NEAR(load.ended(3, at(25)), (1.0 / 7 * 15 + 2.0 / 7 * 5) / 20, 1e-9) << "those that ended before it count";
  EXPECT_EQ(load.ended(3, at(30)), 0) << "it is not there any more";
  for (const std::uint64_t id : {11u, 12u, 13u}) load.began(id, 0.8, at(25));
  EXPECT_NEAR(load.ended(11, at(28)), 1.6, 1e-9) << "slices of half the memory count whole: more than a board";
  load.ended(12, at(28));
  load.ended(13, at(28));
  load.began(4, 1, at(30));
  EXPECT_EQ(load.ended(4, at(30)), 0) << "no time at all";
}

TEST(Boards, TroubleStaysUntilTheBoardIsSoundAndPutBack) {
  DaemonParts p;
  Boards& boards = p.state->boards;
  const std::string uuid = boards.at(1).board.uuid;
  p.driver->inject(FakeDriver::Fault::kLost, GpuId{1});
  EXPECT_TRUE(boards.set_trouble(1, GpuTrouble::kLost, "it fell off the bus"));
  EXPECT_FALSE(boards.set_trouble(1, GpuTrouble::kQuarantined, "and more"));
  EXPECT_EQ(boards.at(1).words, "it fell off the bus") << "the first words are the cause";
  ASSERT_TRUE(p.reshaper.quarantine().find(uuid)) << "the next daemon must know";
  EXPECT_EQ(p.reshaper.quarantine().find(uuid)->reason, "it fell off the bus");
  EXPECT_TRUE(boards.failing(1));
  const auto refused = boards.drain(1, false);
  ASSERT_FALSE(refused) << "it is lost still";
  EXPECT_EQ(refused.error().code, Error::kBusy);
  EXPECT_TRUE(boards.at(1).in_trouble());
  p.driver->clear_faults();
  ASSERT_TRUE(boards.drain(1, false));
  EXPECT_TRUE(boards.at(1).in_service());
  EXPECT_FALSE(p.reshaper.quarantine().find(uuid));
}

TEST(Boards, DrainedOnesAreRememberedByIndex) {
  DaemonParts p("3xa100-40gb");
  Boards& boards = p.state->boards;
  EXPECT_EQ(boards.slices_in_service(), 21);
  ASSERT_TRUE(boards.drain(0, true));
  ASSERT_TRUE(boards.drain(2, true));
  EXPECT_EQ(boards.drained_list(), "0,2");
  EXPECT_EQ(boards.slices_in_service(), 7);
  EXPECT_EQ(boards.drain(3, true).error().code, Error::kNotFound);
  DaemonParts next("3xa100-40gb");
  next.state->boards.drained_before("0,2,9,x");
  EXPECT_EQ(next.state->boards.drained_list(), "0,2") << "what is no GPU of this machine is passed over";
}

TEST(Boards, JoulesBetweenBeginAndEndOfAnAttemptAreItsOwn) {
  DaemonParts p("1xa100-40gb", "7g@0");
  p.sample();
  const JobRecord& job = p.run_on("7g@0");
  ASSERT_TRUE(p.driver->start_process(GpuId{0}, p.place("7g@0"), {4711, -1, "train", 100}));
  p.driver->advance(std::chrono::seconds(30));
  p.pass(std::chrono::seconds(30));
  p.sample();
  const double with_job = job.energy.joules;
  EXPECT_GT(with_job, 0);
  EXPECT_EQ(job.energy.source, EnergySource::kCounter);
  p.state->boards.attempt_ended(job, p.clock.now());
  p.wait_for_lanes();
  EXPECT_EQ(p.state->boards.take_results().size(), 1u) << "its end asks for a sample";
  p.driver->end_process(4711);
  p.driver->advance(std::chrono::seconds(30));
  p.pass(std::chrono::seconds(30));
  p.sample();
  EXPECT_EQ(job.energy.joules, with_job) << "what comes after the end is nobody's";
  const EnergyTotals totals = p.state->boards.energy(0);
  EXPECT_NEAR(totals.jobs_j + totals.idle_j + totals.unattributed_j, totals.booked_j(), 1e-6);
}

}  // namespace
}  // namespace smartmig
