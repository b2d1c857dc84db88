#include <thread>

#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class VirtualClock : public MachineTest {
 protected:
  static unsigned long long now() {
    unsigned long long us = 0;
    EXPECT_EQ(nvmlSimNow(&us), NVML_SUCCESS);
    return us;
  }
};

TEST_F(VirtualClock, StandsStillWhileAnyoneRunsAndJumpsWhenAllWait) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(0);
  std::vector<std::unique_ptr<Child>> children;
  for (unsigned i = 1; i <= 4; ++i) {
    children.push_back(std::make_unique<Child>([i] {
      nvmlSimClockJoin(0);
      Child::ready();
      unsigned long long began = 0, at = 0;
      for (unsigned round = 1; round <= 100; ++round) {
        if (nvmlSimSleep(i * 1000000) != NVML_SUCCESS) return 1;
        nvmlSimNow(&at);
        if (at - began != round * i * 1000000ull) return 2;  // to the microsecond, every time
      }
      nvmlSimClockLeave();
      return 0;
    }));
    ASSERT_TRUE(children.back()->await_ready());
  }
  ::usleep(20000);
  EXPECT_EQ(now(), 0u);  // this thread has not waited yet
  EXPECT_EQ(nvmlSimSleep(1000000000), NVML_SUCCESS);
  EXPECT_EQ(now(), 1000000000u);
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
}

TEST_F(VirtualClock, ADeadProcessDoesNotHoldIt) {
  start("1xa100-40gb", "virtual");
  Child stuck([] {
    nvmlSimClockJoin(0);
    Child::ready();
    return wait_for_ever();
  });
  ASSERT_TRUE(stuck.await_ready());
  std::thread killer([&] {
    ::usleep(50000);
    ::kill(stuck.pid(), SIGKILL);
  });
  EXPECT_EQ(nvmlSimSleep(5000000), NVML_SUCCESS);
  EXPECT_EQ(now(), 5000000u);
  killer.join();
}

TEST_F(VirtualClock, CreateAndDestroyTakeTheirTimes) {
  start("1xa100-40gb", "virtual");
  nvmlGpuInstance_t gi = nullptr;
  nvmlComputeInstance_t ci = nullptr;
  ASSERT_EQ(make_gi(gi, 14), NVML_SUCCESS);
  ASSERT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 1, &ci), NVML_SUCCESS);
  EXPECT_EQ(now(), 170000u);  // data/reconfig.csv: 0.17 s for two slices
  ASSERT_EQ(nvmlComputeInstanceDestroy(ci), NVML_SUCCESS);
  ASSERT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
  EXPECT_EQ(now(), 370000u);
}

TEST_F(VirtualClock, ChangesOfOneBoardFollowEachOtherAndBoardsAreIndependent) {
  start("2xa100-40gb", "virtual");
  const auto create_in = [](unsigned gpu) {
    return std::make_unique<Child>([gpu] {
      nvmlSimClockJoin(0);
      Child::ready();
      nvmlSimSleep(1000000);
      nvmlGpuInstance_t gi = nullptr;
      return make_gi(gi, 19, -1, gpu) == NVML_SUCCESS ? 0 : 1;
    });
  };
  nvmlSimClockJoin(0);
  auto a = create_in(0), b = create_in(0), c = create_in(1);
  ASSERT_TRUE(a->await_ready() && b->await_ready() && c->await_ready());
  nvmlSimSleep(1000000 + 80000);
  ::usleep(1000);
  EXPECT_EQ(nvmlSimSleep(10000), NVML_SUCCESS);
  EXPECT_EQ(instances(0) + instances(1), 2);
  EXPECT_EQ(nvmlSimSleep(200000), NVML_SUCCESS);
  EXPECT_EQ(a->wait() + b->wait() + c->wait(), 0);
  EXPECT_EQ(instances(0), 2);
}

TEST_F(VirtualClock, AnExpectedProcessHoldsItUntilItJoins) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(0);
  Child late([] {
    ::usleep(50000);
    nvmlSimClockJoin(0);
    unsigned long long at = 1;
    nvmlSimNow(&at);
    return at == 0 ? 0 : 1;
  });
  ASSERT_EQ(nvmlSimExpectProcess(unsigned(late.pid())), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSleep(1000000), NVML_SUCCESS);
  EXPECT_EQ(late.wait(), 0);
  EXPECT_EQ(nvmlSimExpectProcess(999999999), NVML_ERROR_NOT_FOUND);
}

TEST_F(VirtualClock, AWokenSleeperReturnsEarlyAndHoldsTheClock) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(0);
  Child sleeper([] {
    nvmlSimClockJoin(0);
    Child::ready();
    if (nvmlSimSleep(100000000) != NVML_ERROR_NOT_READY) return 1;
    unsigned long long at = 0;
    nvmlSimNow(&at);
    return at == 3000000 ? 0 : 2;
  });
  ASSERT_TRUE(sleeper.await_ready());
  EXPECT_EQ(nvmlSimSleep(3000000), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimWake(unsigned(sleeper.pid())), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSleep(1000000), NVML_SUCCESS);
  EXPECT_EQ(sleeper.wait(), 0);
}

TEST_F(VirtualClock, AChildThatLeavesWakesItsParent) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(NVML_SIM_WAKE_ON_CHILD);
  Child child([] {
    nvmlSimClockJoin(0);
    Child::ready();
    nvmlSimSleep(2500000);
    nvmlSimClockLeave();
    return 0;
  });
  ASSERT_TRUE(child.await_ready());
  EXPECT_EQ(nvmlSimSleep(100000000), NVML_ERROR_NOT_READY);
  EXPECT_EQ(now(), 2500000u);
}

TEST_F(VirtualClock, WhatASupervisorKilledDrawsNoPowerInItsNextSleep) {
  start("1xa100-40gb", "virtual");
  const Slice slice = make_slice(0, 4);
  nvmlSimClockJoin(NVML_SIM_WAKE_ON_CHILD);
  Child job([&] {
    if (nvmlSimRegisterProcess(slice.uuid.c_str(), "") != NVML_SUCCESS) return 1;
    Child::ready();
    return int(nvmlSimSleep(1000000000));
  });
  ASSERT_TRUE(job.await_ready());
  const double before = joules();
  EXPECT_EQ(nvmlSimSleep(10000000), NVML_SUCCESS);
  EXPECT_NEAR(joules() - before, 10 * 248.5, 0.002);
  job.kill();
  while (nvmlSimSleep(20000000) == NVML_ERROR_NOT_READY) {
  }
  EXPECT_NEAR(joules() - before, 10 * 248.5 + 20 * 40, 0.002);
}

TEST_F(VirtualClock, ABlockedThreadDoesNotHoldIt) {
  start("1xa100-40gb", "virtual");
  Child blocked([] {
    nvmlSimClockJoin(0);
    nvmlSimClockBlock();
    Child::ready();
    return wait_for_ever();
  });
  ASSERT_TRUE(blocked.await_ready());
  EXPECT_EQ(nvmlSimSleep(1000000), NVML_SUCCESS);
  EXPECT_EQ(now(), 1000000u);
}

TEST_F(VirtualClock, AWakeCutsNoOperationShortAndIsRemembered) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(0);
  std::atomic<int> thread{0};
  std::atomic<unsigned long long> ended{0};
  std::atomic<bool> woken_next{false};
  std::thread worker([&] {
    nvmlSimClockJoin(0);
    thread = thread_id();
    nvmlGpuInstance_t gi = nullptr;
    EXPECT_EQ(make_gi(gi, 14), NVML_SUCCESS);  // 0.085 s
    ended = now();
    woken_next = nvmlSimSleep(50000000) == NVML_ERROR_NOT_READY;
    nvmlSimClockLeave();
  });
  while (thread == 0) ::usleep(100);
  EXPECT_EQ(nvmlSimSleep(40000), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimWakeThread(unsigned(thread)), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimWake(unsigned(::getpid())), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSleep(1000000), NVML_ERROR_NOT_READY);  // this thread was woken, too
  nvmlSimClockBlock();
  worker.join();
  nvmlSimClockUnblock();
  EXPECT_EQ(ended, 85000u);
  EXPECT_TRUE(woken_next);
  EXPECT_EQ(now(), 85000u);
  nvmlSimClockLeave();
}

TEST_F(VirtualClock, AWakeDoesNotMakeABlockedThreadHoldIt) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(0);
  std::atomic<int> thread{0};
  std::atomic<bool> stop{false};
  std::thread blocked([&] {
    nvmlSimClockJoin(0);
    nvmlSimClockBlock();
    thread = thread_id();
    while (!stop) ::usleep(100);
    nvmlSimClockLeave();
  });
  while (thread == 0) ::usleep(100);
  EXPECT_EQ(nvmlSimWakeThread(unsigned(thread)), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSleep(1000000), NVML_SUCCESS);
  EXPECT_EQ(now(), 1000000u);
  EXPECT_EQ(nvmlSimClockUnblockThread(unsigned(thread)), NVML_SUCCESS);  // it has something to do, says its employer
  std::thread ends([&] {
    ::usleep(30000);
    EXPECT_EQ(now(), 1000000u);
    stop = true;
  });
  EXPECT_EQ(nvmlSimSleep(1000000), NVML_SUCCESS);
  EXPECT_TRUE(stop);
  EXPECT_EQ(now(), 2000000u);
  ends.join();
  blocked.join();
  nvmlSimClockLeave();
}

TEST_F(VirtualClock, TheLastToRunFindsItsInstantDone) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(NVML_SIM_RUN_LAST);
  constexpr int kThreads = 6, kRounds = 50;
  std::atomic<int> joined{0}, done{0};
  const int owner = thread_id();
  std::vector<std::thread> workers;
  for (int i = 0; i < kThreads; ++i)
    workers.emplace_back([&] {
      nvmlSimClockJoin(0);
      ++joined;
      for (int round = 0; round < kRounds; ++round) {
        nvmlSimSleep(1000000);
        if (round % 7 == 0) ::usleep(300);
        ++done;
        nvmlSimWakeThread(unsigned(owner));
      }
      nvmlSimClockLeave();
    });
  while (joined < kThreads) ::usleep(100);
  for (int round = 1; round <= kRounds; ++round) {
    // Woken by the workers, or by a time of its own that is the same instant: either way all of them are through.
    nvmlSimSleep(round % 2 ? NVML_SIM_UNTIL_WOKEN : 1000000);
    EXPECT_EQ(now(), round * 1000000ull);
    EXPECT_EQ(done, round * kThreads);
  }
  nvmlSimClockLeave();
  for (auto& worker : workers) worker.join();
}

TEST_F(VirtualClock, ASleepWithoutEndDoesNotMoveIt) {
  start("1xa100-40gb", "virtual");
  nvmlSimClockJoin(0);
  const int thread = thread_id();
  std::thread other([&] {
    ::usleep(20000);
    EXPECT_EQ(now(), 0u);
    nvmlSimWakeThread(unsigned(thread));
  });
  EXPECT_EQ(nvmlSimSleep(NVML_SIM_UNTIL_WOKEN), NVML_ERROR_NOT_READY);
  EXPECT_EQ(now(), 0u);
  other.join();
  nvmlSimClockLeave();
}

TEST_F(VirtualClock, RealAndZeroClocksFollowTheHost) {
  start("1xa100-40gb", "real");
  unsigned mode = 9;
  EXPECT_EQ(nvmlSimClockMode(&mode), NVML_SUCCESS);
  EXPECT_EQ(mode, NVML_SIM_CLOCK_REAL);
  const unsigned long long before = now();
  nvmlGpuInstance_t gi = nullptr;
  ASSERT_EQ(make_gi(gi, 0), NVML_SUCCESS);  // half of 0.24 s
  EXPECT_GE(now() - before, 120000u);
  EXPECT_LT(now() - before, 2000000u);
}

}  // namespace
}  // namespace smartmig::nvsim
