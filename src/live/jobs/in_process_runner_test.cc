#include "live/jobs/in_process_runner.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "support/sim_world.h"

namespace smartmig {
namespace {

struct Hand : LiveClock {
  UnixTime at{Time(1'000'000)};
  UnixTime now() const override { return at; }
  bool wait_until(UnixTime instant) override {
    at = instant;
    return true;
  }
  void wake() override {}
  void sleep(Time t) override { at += t; }
};

Launch launch(std::uint64_t job, Time predicted, std::string device = "", std::string kind = "", int attempt = 1) {
  Launch l;
  l.id = {job, attempt};
  l.predicted = predicted;
  l.device = std::move(device);
  l.emulated_kind = std::move(kind);
  return l;
}

TEST(InProcessRunnerTest, JobsEndWhenPredictedAndByIdAtOneInstant) {
  Hand clock;
  InProcessRunner runner(clock);
  EXPECT_EQ(runner.next_due(), kNeverUnix);
  ASSERT_TRUE(runner.start(launch(9, Time(500))));
  ASSERT_TRUE(runner.start(launch(3, Time(500))));
  ASSERT_TRUE(runner.start(launch(5, Time(200))));
  const auto twice = runner.start(launch(5, Time(200)));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Error::kBusy);
  EXPECT_EQ(runner.next_due(), from_unix_us(1'000'200));
  EXPECT_TRUE(runner.poll().empty());
  clock.at = from_unix_us(1'000'600);
  const auto exits = runner.poll();
  ASSERT_EQ(exits.size(), 3u);
  EXPECT_EQ(exits[0].id.job, 5u);
  EXPECT_EQ(exits[0].ended, from_unix_us(1'000'200)) << "when it was due, not when it was seen";
  EXPECT_EQ(exits[1].id.job, 3u);
  EXPECT_EQ(exits[2].id.job, 9u);
  for (const AttemptExit& e : exits) EXPECT_TRUE(e.code == 0 && e.signal == 0 && e.started == from_unix_us(1'000'000));
  EXPECT_EQ(runner.next_due(), kNeverUnix);
  EXPECT_EQ(runner.log_path({5, 1}), "");
  EXPECT_TRUE(runner.start(launch(5, Time(1), "", "", 2))) << "another attempt";
}

TEST(InProcessRunnerTest, AStopEndsAJobNowUnlessItHasEnded) {
  Hand clock;
  InProcessRunner runner(clock);
  ASSERT_TRUE(runner.start(launch(1, Time(1'000))));
  ASSERT_TRUE(runner.start(launch(2, Time(100))));
  clock.at += Time(400);
  ASSERT_TRUE(runner.stop({1, 1}, SIGUSR1, Time(0)));
  EXPECT_TRUE(runner.stop({1, 1}, SIGTERM, Time(0))) << "twice is no error";
  ASSERT_TRUE(runner.stop({2, 1}, SIGTERM, Time(0)));
  EXPECT_FALSE(runner.stop({3, 1}, SIGTERM, Time(0)));
  EXPECT_LE(runner.next_due(), clock.at);
  const auto exits = runner.poll();
  ASSERT_EQ(exits.size(), 2u);
  EXPECT_TRUE(exits[0].id.job == 2 && exits[0].code == 0);
  EXPECT_TRUE(exits[1].code == -1 && exits[1].signal == SIGTERM && exits[1].ended == clock.at);
  EXPECT_FALSE(runner.stop({1, 1}, SIGTERM, Time(0)));
}

TEST(InProcessRunnerTest, NothingSurvivesTheDaemon) {
  Hand clock;
  InProcessRunner runner(clock);
  const auto found = runner.recover({{7, 2}, {8, 1}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->running.empty());
  ASSERT_EQ(found->ended.size(), 2u);
  EXPECT_EQ(found->ended[0].id, (AttemptId{7, 2}));
  EXPECT_EQ(found->ended[0].words, "the daemon that emulated it ended");
  EXPECT_NE(found->ended[0].signal, 0);
}

TEST(InProcessRunnerTest, AJobStandsOnItsSliceAtItsKindsWatts) {
  SimWorld world("1xa100-40gb");
  const auto slice = world.driver->create(GpuId{0}, world.place(GpuId{0}, "7g@0"));
  ASSERT_TRUE(slice);
  const double before = *world.driver->energy(GpuId{0});
  {
    InProcessRunner runner(*world.clock, world.machine->sim());
    EXPECT_FALSE(runner.start(launch(1, Time(10'000'000), "MIG-none", "bert-train-8")));
    EXPECT_EQ(runner.next_due(), kNeverUnix);
    Launch fits = launch(1, Time(10'000'000), slice->uuid, "unknown");
    fits.spec.mem_mib = 4096;
    ASSERT_TRUE(runner.start(fits));
    EXPECT_NEAR(*world.driver->power(GpuId{0}), 248.5, 0.01);
    EXPECT_EQ(world.driver->read(GpuId{0})->instances[0].used_mib, 4096);
    EXPECT_TRUE(world.clock->wait_until(runner.next_due()));
    EXPECT_EQ(runner.poll().size(), 1u);
    EXPECT_NEAR(*world.driver->energy(GpuId{0}) - before, 2485, 0.01);
    EXPECT_NEAR(*world.driver->power(GpuId{0}), 40, 0.01);

    Launch large = launch(2, Time(10'000'000), slice->uuid, "unknown");
    large.spec.mem_mib = 100'000;
    ASSERT_TRUE(runner.start(large));
    const auto exits = runner.poll();
    ASSERT_EQ(exits.size(), 1u);
    EXPECT_EQ(exits[0].code, 1);
    EXPECT_NE(exits[0].words.find("out of memory"), std::string::npos);
    ASSERT_TRUE(runner.start(launch(3, Time(10'000'000), slice->uuid, "unknown")));
  }
  EXPECT_TRUE(world.driver->processes(GpuId{0})->empty()) << "it left with its runner";
}

// 2g.10gb has 9984 MiB; the job grows by 90 MiB a second from 1000 MiB there.
TEST(InProcessRunnerTest, AScriptedJobGrowsOnItsSliceAndFailsWhereItEnds) {
  SimWorld world("1xa100-40gb");
  const auto slice = world.driver->create(GpuId{0}, world.place(GpuId{0}, "2g@0"));
  ASSERT_TRUE(slice);
  const auto used = [&] { return world.driver->read(GpuId{0})->instances[0].used_mib; };
  InProcessRunner runner(*world.clock, world.machine->sim());
  Launch grows = launch(1, Time(5'000'000), slice->uuid, "unknown");
  grows.spec.environment = {"SMARTMIG_EMULATED_MEMORY=0:1000,1:19000", "SMARTMIG_EMULATED_SECONDS=2:200,7:80"};
  const UnixTime begin = world.clock->now();
  ASSERT_TRUE(runner.start(grows));
  EXPECT_EQ(used(), 1000);
  EXPECT_NEAR(seconds(runner.next_due() - begin), 8984.0 / 90, 1e-5) << "when 9984 MiB are passed, not when predicted";
  world.clock->wait_until(begin + from_seconds(50));
  EXPECT_TRUE(runner.poll().empty());
  EXPECT_EQ(used(), 5500);
  world.clock->wait_until(runner.next_due());
  const auto exits = runner.poll();
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_TRUE(exits[0].gpu_oom);
  EXPECT_EQ(exits[0].code, 1);
  EXPECT_NE(exits[0].words.find("out of memory"), std::string::npos);
  EXPECT_EQ(used(), 0) << "it left";

  Launch rest = grows;  // a quarter is left after a checkpoint
  rest.id.attempt = 2;
  rest.remaining = 0.25;
  rest.spec.environment = {"SMARTMIG_EMULATED_MEMORY=0:1000,1:9000", "SMARTMIG_EMULATED_SECONDS=2:200"};
  const UnixTime second = world.clock->now();
  ASSERT_TRUE(runner.start(rest));
  EXPECT_EQ(used(), 7000);
  EXPECT_EQ(runner.next_due(), second + from_seconds(50));
  ASSERT_TRUE(runner.stop({1, 2}, SIGTERM, Time(0)));
  EXPECT_FALSE(runner.poll().at(0).gpu_oom) << "it was stopped";

  rest.id.attempt = 3;
  rest.spec.environment = {"SMARTMIG_EMULATED_MEMORY=0:10000"};
  ASSERT_TRUE(runner.start(rest));
  EXPECT_TRUE(runner.poll().at(0).gpu_oom) << "at once";
  rest.id.attempt = 4;
  rest.spec.environment = {"SMARTMIG_EMULATED_MEMORY=much"};
  EXPECT_FALSE(runner.start(rest));
}

}  // namespace
}  // namespace smartmig
