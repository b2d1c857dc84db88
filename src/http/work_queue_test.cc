#include "http/work_queue.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <future>
#include <string>

namespace smartmig {
namespace {

constexpr std::uint64_t kAlice = 1001, kBob = 1002, kCarol = 1003;

// Holds tasks until it is opened.
struct Gate {
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  std::function<void()> task() {
    return [gate = opened] { gate.wait(); };
  }
};

TEST(WorkQueueThread, UsersAreServedByTurns) {
  std::string order;
  Gate gate;
  WorkQueue queue(1);
  ASSERT_TRUE(queue.start());
  queue.add(gate.task(), kAlice, true, 100);
  for (int i = 0; i < 5; ++i) queue.add([&order] { order += 'a'; }, kAlice, true, 100);
  queue.add([&order] { order += 'b'; }, kBob, true, 100);
  queue.add([&order] { order += 'b'; }, kBob, true, 100);
  queue.add([&order] { order += 'c'; }, kCarol, true, 100);
  gate.open.set_value();
  queue.stop();
  EXPECT_EQ(order, "bcabaaaa");
}

TEST(WorkQueueThread, OneUsersSlowTasksLeaveSlowThreadsToOthers) {
  Gate gate;
  std::promise<void> done;
  WorkQueue queue(8);
  ASSERT_TRUE(queue.start());
  for (int i = 0; i < 60; ++i) queue.add(gate.task(), kAlice, true, 1000);
  queue.add([&done] { done.set_value(); }, kBob, true, 1000);
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  gate.open.set_value();
}

TEST(WorkQueueThread, OneUsersTasksLeaveThreadsToOthers) {
  Gate gate;
  std::promise<void> done, slow;
  WorkQueue queue(8);
  ASSERT_TRUE(queue.start());
  for (int i = 0; i < 60; ++i) queue.add(gate.task(), kAlice, i % 2 == 0, 1000);
  queue.add([&done] { done.set_value(); }, kBob, false, 1000);
  queue.add([&slow] { slow.set_value(); }, kBob, true, 1000);
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(slow.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  gate.open.set_value();
}

TEST(WorkQueueThread, RefusesWhatIsTooMuchAndFinishesWhatItTook) {
  Gate gate;
  int done = 0;
  WorkQueue queue(1);
  ASSERT_TRUE(queue.start());
  EXPECT_EQ(queue.add(gate.task(), kAlice, false, 3), WorkQueue::Taken::kYes);
  while (queue.add([&done] { ++done; }, kBob, false, 1) != WorkQueue::Taken::kYes)
    std::this_thread::yield();  // until the first one runs
  EXPECT_EQ(queue.add([] {}, kCarol, false, 1), WorkQueue::Taken::kFull);
  EXPECT_EQ(queue.add([&done] { ++done; }, kCarol, true, 1), WorkQueue::Taken::kYes);
  gate.open.set_value();
  queue.stop();
  EXPECT_EQ(done, 2);
  EXPECT_EQ(queue.add([] {}, kAlice, false, 100), WorkQueue::Taken::kStopped) << "busy and going down are two answers";
}

// No machine has room for a thread with such a stack.
TEST(WorkQueueClock, ThreadsThatCannotBeHadAreAnError) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t(1) << 47), 0);
  WorkQueue queue(8);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  const auto started = queue.start();
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Error::kIo);
  EXPECT_NE(started.error().what.find("no thread for requests"), std::string::npos) << started.error().what;
}

}  // namespace
}  // namespace smartmig
