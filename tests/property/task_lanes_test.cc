// TaskLanes: order within a lane, the bound on threads, and that parties which do not answer leave room for the others.
#include "cluster/task_lanes.h"

#include <gtest/gtest.h>

#include <latch>

#include "base/errors.h"
#include "base/rng.h"
#include "support/cases.h"

namespace smartmig {
namespace {

using Ms = std::chrono::milliseconds;

void await_tasks(const std::function<bool()>& what, const char* words) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!what()) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << words;
    std::this_thread::sleep_for(Ms(1));
  }
}

TEST(TaskLanesThreads, OrderIsKeptAndThreadsAreBounded) {
  const int count = cases(20);
  for (int c = 0; c < count; ++c) {
    const std::uint64_t seed = 4100 + std::uint64_t(c);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const std::size_t threads = 2 + rng.below(7), lanes = 1 + rng.below(40);
    struct Seen {
      std::vector<int> order;
      std::atomic<int> inside = 0;
    };
    std::vector<Seen> seen(lanes);
    std::vector<int> posted(lanes, 0);
    std::atomic<int> inside = 0, most = 0, shared = 0, done = 0;
    TaskLanes pool({threads, 1 + rng.below(threads - 1), Ms(5'000)});
    const int tasks = 300;
    for (int i = 0; i < tasks; ++i) {
      const std::size_t lane = rng.below(lanes);
      const int number = posted[lane]++;
      const bool answers = rng.below(4) != 0;
      const auto nap = std::chrono::microseconds(rng.below(8) == 0 ? rng.below(500) : 0);
      pool.post(fmt::format("lane {}", lane), fmt::format("node {}", lane % 7), [&, lane, number, answers, nap] {
        const int now = ++inside;
        for (int had = most; had < now && !most.compare_exchange_weak(had, now);) {
        }
        if (++seen[lane].inside > 1) ++shared;
        std::this_thread::sleep_for(nap);
        seen[lane].order.push_back(number);  // TSan says if two were ever here
        --seen[lane].inside;
        --inside;
        ++done;
        return answers;
      });
      if (rng.below(50) == 0) std::this_thread::sleep_for(Ms(1));
    }
    await_tasks([&] { return done == tasks; }, "all tasks");
    EXPECT_LE(most, int(threads));
    EXPECT_LE(pool.threads(), threads);
    EXPECT_EQ(shared, 0);
    EXPECT_EQ(pool.waiting(), 0u);
    for (std::size_t l = 0; l < lanes; ++l) {
      ASSERT_EQ(int(seen[l].order.size()), posted[l]);
      for (int n = 0; n < posted[l]; ++n) ASSERT_EQ(seen[l].order[std::size_t(n)], n) << "lane " << l;
    }
  }
}

TEST(TaskLanesThreads, SilentPartiesLeaveThreadsToTheOthers) {
  std::latch open(1);
  std::atomic<int> silent = 0, blocked = 0, most_blocked = 0, good = 0, late = 0;
  TaskLanes pool({4, 1, Ms(5'000)});
  const int parties = 20;
  for (int p = 0; p < parties; ++p)
    pool.post(fmt::format("status {}", p), fmt::format("dead {}", p), [&] {
      ++silent;
      return false;
    });
  await_tasks([&] { return silent == parties; }, "the first questions to the dead");
  for (int p = 0; p < parties; ++p)
    // Of the same lane: it begins when what came of the first is known.
    pool.post(fmt::format("status {}", p), fmt::format("dead {}", p), [&] {
      most_blocked = std::max<int>(most_blocked, ++blocked);
      open.wait();
      --blocked;
      ++late;
      return false;
    });
  for (int i = 0; i < 200; ++i)
    pool.post(fmt::format("node {}", i % 30), fmt::format("alive {}", i % 30), [&] {
      ++good;
      return true;
    });
  await_tasks([&] { return good == 200; }, "tasks of nodes that answer");
  EXPECT_EQ(late, 0) << "the dead were waited for";
  EXPECT_EQ(blocked, 1);
  open.count_down();
  await_tasks([&] { return late == parties; }, "the last questions to the dead");
  EXPECT_EQ(most_blocked, 1);
}

TEST(TaskLanesThreads, APartyThatAnswersAgainHasAllThreads) {
  TaskLanes pool({3, 1, Ms(5'000)});
  std::atomic<int> done = 0;
  for (const bool answers : {false, true})
    pool.post("status", "n1", [&, answers] {
      ++done;
      return answers;
    });
  await_tasks([&] { return done == 2; }, "a node that answers again");
  std::latch together(3);
  for (int i = 0; i < 3; ++i)
    pool.post(fmt::format("gpu {}", i), "n1", [&] {
      together.arrive_and_wait();
      ++done;
      return true;
    });
  await_tasks([&] { return done == 5; }, "three tasks at once");
}

// Each waits for the other: with a thread for each they end, with one that sleeps on they do not.
TEST(TaskLanesThreads, NoLaneIsForgotten) {
  TaskLanes pool({2, 1, Ms(5'000)});
  for (int i = 0; i < cases(200); ++i) {
    std::latch both(2);
    std::atomic<int> done = 0;
    for (const char* lane : {"a", "b"})
      pool.post(lane, lane, [&] {
        both.arrive_and_wait();
        ++done;
        return true;
      });
    await_tasks([&] { return done == 2; }, "two lanes at once");
    if (HasFatalFailure()) return;
  }
}

TEST(TaskLanesThreads, TheEndWaitsForWhatWasBegunAndDropsTheRest) {
  std::atomic<bool> begun = false, ended = false, other = false;
  const auto began = std::chrono::steady_clock::now();
  {
    TaskLanes pool({2, 1, Ms(50)});
    pool.post("a", "n1", [&] {
      begun = true;
      while (!pool.given_up()) std::this_thread::sleep_for(Ms(1));
      ended = true;
      return false;
    });
    pool.post("a", "n1", [&] {
      other = true;
      return true;
    });
    await_tasks([&] { return begun.load(); }, "the task");
  }
  EXPECT_TRUE(ended);
  EXPECT_FALSE(other);
  EXPECT_GE(std::chrono::steady_clock::now() - began, Ms(50));
}

}  // namespace
}  // namespace smartmig
