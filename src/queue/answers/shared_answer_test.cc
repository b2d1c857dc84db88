#include "queue/answers/shared_answer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/errors.h"

namespace smartmig {
namespace {

TEST(SharedAnswer, HoldsForItsStateOnly) {
  SharedAnswer shared(std::chrono::hours(1));
  int made = 0;
  const auto make = [&]() -> Result<SharedAnswer::Json> { return SharedAnswer::Json(++made); };
  EXPECT_EQ(*shared.get("20", "a", make), 1);
  EXPECT_EQ(*shared.get("20", "a", make), 1);
  EXPECT_EQ(*shared.get("20", "b", make), 2);
  EXPECT_EQ(*shared.get("5", "b", make), 3) << "another question";
  EXPECT_EQ(*shared.get("20", "b", make), 2);
}

TEST(SharedAnswer, GrowsOld) {
  SharedAnswer shared(std::chrono::seconds(0));
  int made = 0;
  const auto make = [&]() -> Result<SharedAnswer::Json> { return SharedAnswer::Json(++made); };
  EXPECT_EQ(*shared.get("", "a", make), 1);
  EXPECT_EQ(*shared.get("", "a", make), 2);
}

TEST(SharedAnswer, AnErrorIsNotKept) {
  SharedAnswer shared(std::chrono::hours(1));
  EXPECT_FALSE(shared.get("", "a", []() -> Result<SharedAnswer::Json> { return busy_error("not now"); }));
  EXPECT_EQ(*shared.get("", "a", []() -> Result<SharedAnswer::Json> { return SharedAnswer::Json(7); }), 7);
}

TEST(SharedAnswer, ParallelAskersWaitForOneAnswer) {
  SharedAnswer shared;
  std::atomic<int> made = 0, asking = 0;
  const auto make = [&]() -> Result<SharedAnswer::Json> {
    ++made;
    while (asking < 8) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return SharedAnswer::Json(made.load());
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      ++asking;
      EXPECT_EQ(*shared.get("20", "state " + std::to_string(i), make), 1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace smartmig
