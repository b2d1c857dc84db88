#include "live/gpu/watched_driver.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/fake_driver.h"

namespace smartmig {
namespace {

TEST(WatchedDriverThread, HangingCallTimesOutAndNamesItself) {
  std::shared_ptr<FakeDriver> fake = std::move(*FakeDriver::open("1xa100-40gb", {}));
  WatchedDriver watched(fake, Time(50'000));
  ASSERT_TRUE(watched.read(GpuId{0}));
  fake->inject(FakeDriver::Fault::kHang, GpuId{0});
  const auto hung = watched.create(GpuId{0}, PlacementId{0});
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, Error::kTimeout);
  const auto next = watched.read(GpuId{0});
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().what.find("creating an instance on GPU 0"), std::string::npos) << next.error().what;
  fake->clear_faults();
  for (int i = 0; i < 100 && !watched.read(GpuId{0}); ++i) std::this_thread::sleep_for(Time(5'000));
  EXPECT_EQ(watched.read(GpuId{0})->instances.size(), 1u) << "the call that hung was done after all";
}

TEST(WatchedDriverThread, DestructionDoesNotWaitForAHangingCall) {
  std::shared_ptr<FakeDriver> fake = std::move(*FakeDriver::open("1xa100-40gb", {}));
  {
    WatchedDriver watched(fake, Time(20'000));
    fake->inject(FakeDriver::Fault::kHang, GpuId{0});
    EXPECT_FALSE(watched.read(GpuId{0}));
  }
  fake->clear_faults();
  std::this_thread::sleep_for(Time(50'000));
}

TEST(WatchedDriverThread, ManyCallersTakeTurns) {
  std::shared_ptr<FakeDriver> fake = std::move(*FakeDriver::open("2xa100-40gb", {}));
  WatchedDriver watched(fake, Time(5'000'000));
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const auto made = watched.create(GpuId{t}, PlacementId{0});
        EXPECT_TRUE(made && watched.destroy(GpuId{t}, *made));
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto boards = watched.inventory();
  for (const GpuBoard& board : *boards) EXPECT_TRUE(board.instances.empty());
}

TEST(WatchedDriverThread, OneGpuThatHangsLeavesTheOthersAndTheInventory) {
  std::shared_ptr<FakeDriver> fake = std::move(*FakeDriver::open("3xa100-40gb", {}));
  WatchedDriver watched(fake, Time(100'000));
  ASSERT_EQ(watched.inventory()->size(), 3u);
  fake->inject(FakeDriver::Fault::kHang, GpuId{1});
  std::vector<std::thread> threads;
  std::vector<int> worked(3);
  for (std::uint32_t g = 0; g < 3; ++g)
    threads.emplace_back([&, g] {
      for (int i = 0; i < 10; ++i)
        if (const auto made = watched.create(GpuId{g}, PlacementId{0}); made && watched.destroy(GpuId{g}, *made))
          ++worked[g];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worked[0], 10);
  EXPECT_EQ(worked[1], 0);
  EXPECT_EQ(worked[2], 10);
  const auto boards = watched.inventory();
  ASSERT_TRUE(boards);
  EXPECT_TRUE((*boards)[0].trouble.empty());
  EXPECT_NE((*boards)[1].trouble.find("has not returned from: creating an instance on GPU 1"), std::string::npos)
      << (*boards)[1].trouble;
  fake->clear_faults();
}

}  // namespace
}  // namespace smartmig
