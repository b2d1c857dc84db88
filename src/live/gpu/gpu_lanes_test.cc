#include "live/gpu/gpu_lanes.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <thread>

#include "base/rng.h"
#include "live/gpu/watched_driver.h"
#include "model/reconfig.h"
#include "support/fake_driver.h"
#include "support/sim_world.h"

namespace smartmig {
namespace {

struct Inbox {
  std::mutex mutex;
  std::vector<LaneResult> results;
  std::function<void(LaneResult)> post() {
    return [this](LaneResult result) {
      const std::lock_guard lock(mutex);
      results.push_back(std::move(result));
    };
  }
  std::vector<LaneResult> take() {
    const std::lock_guard lock(mutex);
    auto taken = std::exchange(results, {});
    std::stable_sort(taken.begin(), taken.end());
    return taken;
  }
  std::vector<LaneResult> await(LiveClock& clock, std::size_t count) {
    std::vector<LaneResult> all;
    while (all.size() < count) {
      clock.wait_until(clock.now() + Time(100'000'000));
      for (LaneResult& r : take()) all.push_back(std::move(r));
    }
    return all;
  }
};

TEST(GpuLanesThread, EveryProfileTakesTheTablesTimeToTheMicrosecond) {
  for (const char* boards : {"1xa100-40gb", "1xh200-141gb", "1xa30-24gb", "1xrtx-pro-6000-blackwell-96gb"}) {
    SimWorld world(boards);
    Inbox inbox;
    GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
    const auto model = world.driver->read(GpuId{0})->model;
    for (std::size_t p = 0; p < model->placements().size(); ++p) {
      SCOPED_TRACE(fmt::format("{} {}", boards, slice_name(*model, PlacementId(p))));
      const ReconfigTime time = reconfig_time(*model, model->placement(PlacementId(p)).profile);
      const UnixTime before = world.clock->now();
      lanes.create(GpuId{0}, PlacementId(p));
      lanes.destroy(GpuId{0}, PlacementId(p));
      const auto results = inbox.await(*world.clock, 2);
      ASSERT_TRUE(results[0].ok) << results[0].words;
      ASSERT_TRUE(results[1].ok) << results[1].words;
      EXPECT_EQ(results[0].began, before);
      EXPECT_EQ(results[0].ended - results[0].began, time.create);
      EXPECT_EQ(results[1].began, results[0].ended);
      EXPECT_EQ(results[1].ended - results[1].began, time.destroy);
      EXPECT_EQ(results[0].board->instances.size(), 1u);
      EXPECT_TRUE(results[0].board->instances[0].uuid.starts_with("MIG-"));
      EXPECT_TRUE(results[1].board->instances.empty());
      EXPECT_EQ(lanes.pending(GpuId{0}), 0u);
    }
  }
}

class DayClock : public RealClock {
 public:
  UnixTime now() const override { return UnixTime(std::chrono::hours(24 * 365 * 56)); }
  Time steady() const override { return std::chrono::hours(7); }
};

// No machine has room for a thread with such a stack.
TEST(GpuLanesClock, ALaneThatCannotBeOpenedAnswersAtTheInstantOfTheOthers) {
  const auto driver = std::move(*FakeDriver::open("1xa100-40gb", {}));
  const TempDir dir;
  Reshaper reshaper = *Reshaper::open(*driver, dir.path());
  DayClock clock;
  Inbox inbox;
  GpuLanes lanes(*driver, reshaper, clock, inbox.post());
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t(1) << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  lanes.sample(GpuId{0});
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  const auto results = inbox.take();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NE(results[0].words.find("no thread for operations on GPU 0"), std::string::npos) << results[0].words;
  EXPECT_EQ(results[0].code, Error::kIo);
  EXPECT_EQ(results[0].began, UnixTime(std::chrono::hours(7))) << "the day is added by who takes it";
  EXPECT_EQ(results[0].ended, results[0].began);
}

TEST(GpuLanesThread, GpusOverlapAndEqualInstantsComeTogether) {
  SimWorld world("4xa100-40gb");
  Inbox inbox;
  GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
  const PlacementId half = world.place(GpuId{0}, "3g@4"), seventh = world.place(GpuId{0}, "1g@0");
  for (std::uint32_t g = 0; g < 4; ++g) lanes.create(GpuId{g}, g == 3 ? seventh : half);
  const auto model = world.driver->read(GpuId{0})->model;
  const Time small = reconfig_time(*model, model->placement(seventh).profile).create,
             large = reconfig_time(*model, model->placement(half).profile).create;
  ASSERT_LT(small, large);
  EXPECT_FALSE(world.clock->wait_until(UnixTime(Time(100'000'000))));
  EXPECT_EQ(world.clock->now(), UnixTime(small));
  ASSERT_EQ(inbox.take().size(), 1u);
  EXPECT_FALSE(world.clock->wait_until(UnixTime(Time(100'000'000))));
  EXPECT_EQ(world.clock->now(), UnixTime(large));
  const auto together = inbox.take();
  ASSERT_EQ(together.size(), 3u) << "all that end at one instant are there at once";
  for (std::uint32_t g = 0; g < 3; ++g) EXPECT_EQ(together[g].gpu, GpuId{g});
}

// Posts must hold the clock until they are taken, completions until they are seen: were one wake-up lost, the clock
// would jump to the owner's far-away instant.
TEST(GpuLanesThread, TheClockNeverJumpsOverAPostOrACompletion) {
  SimWorld world("8xa100-40gb");
  Inbox inbox;
  const auto watched = std::make_shared<WatchedDriver>(world.driver, Time(20'000'000), world.clock);
  auto reshaper = Reshaper::open(*watched, world.dir.path() + "/state");
  ASSERT_TRUE(reshaper);
  for (MigDriver* driver : {static_cast<MigDriver*>(world.driver.get()), static_cast<MigDriver*>(watched.get())}) {
    GpuLanes lanes(*driver, driver == watched.get() ? *reshaper : *world.reshaper, *world.clock, inbox.post());
    for (int round = 0; round < 25; ++round) {
      const UnixTime before = world.clock->now();
      for (std::uint32_t g = 0; g < 8; ++g) lanes.sample(GpuId{g});
      EXPECT_EQ(inbox.await(*world.clock, 8).size(), 8u);
      EXPECT_EQ(world.clock->now(), before);
      EXPECT_TRUE(world.clock->wait_until(before + Time(1'000)));
      EXPECT_EQ(world.clock->now(), before + Time(1'000));
    }
    // environment() does not wait for the change of its GPU, nor does time pass.
    const PlacementId where = world.place(GpuId{0}, "7g@0");
    const UnixTime before = world.clock->now();
    lanes.create(GpuId{0}, where);
    Instance slice;
    slice.uuid = "MIG-x";
    const auto environment = lanes.environment(GpuId{0}, slice, 0);
    ASSERT_FALSE(environment) << "the slice does not exist";
    EXPECT_EQ(environment.error().code, Error::kNotFound) << environment.error().what;
    EXPECT_EQ(world.clock->now(), before);
    EXPECT_TRUE(inbox.await(*world.clock, 1)[0].ok);
    lanes.destroy(GpuId{0}, where);
    EXPECT_TRUE(inbox.await(*world.clock, 1)[0].ok);
  }
}

TEST(GpuLanesThread, ARunRepeatsWhateverTheHostsScheduling) {
  const auto run = [] {
    SimWorld world("4xa100-40gb");
    Inbox inbox;
    GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
    const auto model = world.driver->read(GpuId{0})->model;
    Rng rng(42);
    std::string story;
    std::vector<Layout> layouts(4);
    for (int step = 0; step < 60; ++step) {
      for (std::uint32_t g = 0; g < 4; ++g) {
        if (lanes.pending(GpuId{g}) > 0) continue;
        const PlacementId p = PlacementId(rng.below(model->placements().size()));
        if (layouts[g].contains(p))
          lanes.destroy(GpuId{g}, p);
        else if (model->fits(layouts[g], p))
          lanes.create(GpuId{g}, p);
      }
      world.clock->wait_until(world.clock->now() + Time(30'000));
      for (const LaneResult& r : inbox.take()) {
        layouts[index(r.gpu)] = r.board->layout;
        story += fmt::format("{} {} {} {}\n", unix_us(r.ended), index(r.gpu), int(r.what),
                             to_string(*model, r.board->layout));
        EXPECT_TRUE(r.ok) << r.words;
      }
    }
    return story;
  };
  const std::string first = run();
  EXPECT_GT(std::count(first.begin(), first.end(), '\n'), 20);
  EXPECT_EQ(first, run());
}

TEST(GpuLanesThread, RefusalsAreWordsAndLeaveTheBoardAsItWas) {
  SimWorld world("2xa100-40gb");
  Inbox inbox;
  GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
  const PlacementId whole = world.place(GpuId{0}, "7g@0"), half = world.place(GpuId{0}, "3g@4");
  lanes.create(GpuId{0}, half);
  lanes.create(GpuId{0}, half);   // is there: done without a call
  lanes.create(GpuId{0}, whole);  // no room
  auto results = inbox.await(*world.clock, 3);
  ASSERT_TRUE(results[0].ok && results[0].changed);
  EXPECT_TRUE(results[1].ok && !results[1].changed);
  EXPECT_EQ(results[1].began, results[1].ended);
  EXPECT_FALSE(results[2].ok);
  EXPECT_NE(results[2].words.find("no room for 7g.40gb@0"), std::string::npos) << results[2].words;

  const std::string uuid = results[0].board->instances[0].uuid;
  ASSERT_EQ(world.machine->sim()->nvmlSimStandIn(uuid.c_str(), "", 1), NVML_SUCCESS);
  lanes.destroy(GpuId{0}, half);
  results = inbox.await(*world.clock, 1);
  EXPECT_FALSE(results[0].ok);
  EXPECT_EQ(results[0].code, Error::kBusy) << results[0].words;
  EXPECT_EQ(results[0].board->instances[0].uuid, uuid);

  // Neither forward nor back: the board goes into quarantine and is not touched again; the other one is.
  world.fault(NVML_SIM_FAULT_FAIL, 1, NVML_SIM_UNTIL_CLEARED, NVML_ERROR_UNKNOWN,
              "nvmlGpuInstanceCreateComputeInstance");
  world.fault(NVML_SIM_FAULT_FAIL, 1, NVML_SIM_UNTIL_CLEARED, NVML_ERROR_UNKNOWN, "nvmlGpuInstanceDestroy");
  lanes.create(GpuId{1}, half);
  lanes.create(GpuId{1}, half);
  results = inbox.await(*world.clock, 2);
  EXPECT_TRUE(results[0].quarantined) << results[0].words;
  EXPECT_FALSE(results[1].ok);
  EXPECT_NE(results[1].words.find("quarantine"), std::string::npos) << results[1].words;
}

TEST(GpuLanesThread, ASampleTellsEnergyProcessesAndTrouble) {
  SimWorld world("3xa100-40gb");
  Inbox inbox;
  GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
  const PlacementId whole = world.place(GpuId{0}, "7g@0");
  lanes.create(GpuId{0}, whole);
  const std::string uuid = inbox.await(*world.clock, 1)[0].board->instances[0].uuid;
  lanes.sample(GpuId{0});
  const GpuSample idle = inbox.await(*world.clock, 1)[0].sample;
  ASSERT_EQ(world.machine->sim()->nvmlSimStandIn(uuid.c_str(), "", 1), NVML_SUCCESS);
  ASSERT_EQ(world.machine->sim()->nvmlSimStandInMemory(1, 5ull << 30), NVML_SUCCESS);
  EXPECT_TRUE(world.clock->wait_until(world.clock->now() + Time(10'000'000)));
  lanes.sample(GpuId{0});
  auto result = inbox.await(*world.clock, 1)[0];
  EXPECT_TRUE(result.ok) << result.words;
  EXPECT_NEAR(*result.sample.joules - *idle.joules, 2485, 0.01);
  EXPECT_NEAR(*idle.watts, 40, 0.01);
  EXPECT_NEAR(*result.sample.watts, 248.5, 0.01);
  ASSERT_EQ(result.sample.processes.size(), 1u);
  EXPECT_EQ(result.sample.processes[0].gpu_instance, result.board->instances[0].gpu_instance);
  EXPECT_EQ(result.board->instances[0].used_mib, 5 << 10);

  const auto trouble = [&](std::uint32_t gpu) {
    lanes.sample(GpuId{gpu});
    auto told = inbox.await(*world.clock, 1)[0];
    EXPECT_EQ(told.ok, told.words.empty());
    if (!told.ok) {
      EXPECT_EQ(told.code, Error::kLost);
    }
    return told.words;
  };
  world.fault(NVML_SIM_FAULT_XID, 1, 1, 31);
  EXPECT_EQ(trouble(1), "") << "a program's own fault";
  world.fault(NVML_SIM_FAULT_XID, 1, 1, 74);
  EXPECT_NE(trouble(1).find("Xid 74 (an NVLink error)"), std::string::npos);
  EXPECT_EQ(trouble(1), "") << "told once";
  world.fault(NVML_SIM_FAULT_ECC, 1, 2);
  EXPECT_NE(trouble(1).find("2 memory errors that ECC could not correct"), std::string::npos);
  world.fault(NVML_SIM_FAULT_GPU_LOST, 2);
  const std::string lost = trouble(2);
  EXPECT_NE(lost.find("lost"), std::string::npos) << lost;
  EXPECT_NE(lost.find("Xid 79 (the GPU has fallen off the bus)"), std::string::npos) << lost;
  EXPECT_EQ(trouble(0), "");
}

// The lane is given its sample in the middle of what the owner does to the board, and all the host's time to take it.
TEST(GpuLanesThread, OnTheVirtualClockASampleShowsTheOwnersWholeStep) {
  SimWorld world("1xa100-40gb");
  Inbox inbox;
  GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
  lanes.create(GpuId{0}, world.place(GpuId{0}, "7g@0"));
  const std::string uuid = inbox.await(*world.clock, 1)[0].board->instances[0].uuid;
  for (unsigned int token = 1; token <= 5; ++token) {
    const UnixTime before = world.clock->now();
    lanes.sample(GpuId{0});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(world.machine->sim()->nvmlSimStandIn(uuid.c_str(), "", token), NVML_SUCCESS);
    const LaneResult result = inbox.await(*world.clock, 1)[0];
    EXPECT_EQ(result.ended, before);
    EXPECT_EQ(result.sample.processes.size(), 1u);
    world.machine->sim()->nvmlSimStandDown(token);
  }
}

TEST(GpuLanesThread, AGpuThatHangsHoldsNobodyElse) {
  std::shared_ptr<FakeDriver> fake = std::move(*FakeDriver::open("4xa100-40gb", {}));
  WatchedDriver watched(fake, Time(200'000));
  const TempDir dir;
  auto reshaper = Reshaper::open(watched, dir.path());
  ASSERT_TRUE(reshaper);
  RealClock clock;
  Inbox inbox;
  {
    GpuLanes lanes(watched, *reshaper, clock, inbox.post());
    fake->inject(FakeDriver::Fault::kHang, GpuId{2});
    for (int round = 0; round < 10; ++round)
      for (std::uint32_t g = 0; g < 4; ++g) {
        if (g == 2 && round > 0) continue;
        round % 2 == 0 ? lanes.create(GpuId{g}, PlacementId{0}) : lanes.destroy(GpuId{g}, PlacementId{0});
      }
    const auto results = inbox.await(clock, 31);
    for (const LaneResult& r : results) {
      EXPECT_EQ(r.ok, r.gpu != GpuId{2}) << r.words;
      if (!r.ok) {
        EXPECT_EQ(r.code, Error::kTimeout);
      }
    }
    fake->clear_faults();
    for (std::uint32_t g = 0; g < 4; ++g) lanes.sample(GpuId{g});  // and leave without waiting
  }
  for (int i = 0; i < 200 && !watched.read(GpuId{2}); ++i) std::this_thread::sleep_for(Time(5'000));
  EXPECT_TRUE(watched.read(GpuId{2}));
}

TEST(GpuLanesThread, EndingAmidAnOperationWaitsForItOnTheVirtualClock) {
  SimWorld world("2xa100-40gb");
  Inbox inbox;
  const PlacementId whole = world.place(GpuId{0}, "7g@0");
  {
    GpuLanes lanes(*world.driver, *world.reshaper, *world.clock, inbox.post());
    lanes.create(GpuId{0}, whole);
    EXPECT_TRUE(world.clock->wait_until(UnixTime(Time(10'000))));
    lanes.destroy(GpuId{0}, whole);  // not begun: dropped
  }
  EXPECT_EQ(inbox.take().size(), 1u);
  EXPECT_EQ(world.driver->read(GpuId{0})->instances.size(), 1u);
  EXPECT_FALSE(world.clock->wait_until(kNeverUnix)) << "the lane's result had woken us";
  EXPECT_TRUE(world.clock->wait_until(world.clock->now() + Time(1'000'000))) << "the clock still moves";
}

}  // namespace
}  // namespace smartmig
