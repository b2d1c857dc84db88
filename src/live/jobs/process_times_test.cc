#include "live/jobs/process_times.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace smartmig {
namespace {

TEST(ProcessTimes, AreReadBehindAnyName) {
  const auto times =
      parse_process_times("42 (a b) c) S 7 42 42 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 1000 1 1 1", 100);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->parent, 7);
  EXPECT_EQ(times->cpu, Time(2'000'000));
  for (const char* broken :
       {"", "42 (a) S", "42 (a) S x 1 1 0 -1 0 1 2 3 4 1 1 1 1 0", "42 (a) S 7 1 1 0 -1 0 1 2 3 4 -1 1 1 1 0"})
    EXPECT_FALSE(parse_process_times(broken, 100)) << broken;
}

TEST(ProcessTimesClock, ATreeIsSummedWithThoseThatWereWaitedFor) {
  const pid_t root = ::fork();
  ASSERT_GE(root, 0);
  if (root == 0) {
    const pid_t busy = ::fork();
    if (busy == 0) {
      while (std::clock() < CLOCKS_PER_SEC / 5) {
      }
      ::_exit(0);
    }
    ::waitpid(busy, nullptr, 0);
    for (;;) ::pause();
  }
  Time seen{};
  for (int round = 0; round < 400 && seen < Time(50'000); ++round) {
    ::usleep(50'000);
    const auto times = cpu_of_trees({root, 999'999'999});
    ASSERT_EQ(times.count(root), 1u);
    EXPECT_EQ(times.count(999'999'999), 0u);
    seen = times.at(root);
  }
  EXPECT_GE(seen, Time(50'000));
  ::kill(root, SIGKILL);
  ::waitpid(root, nullptr, 0);
}

}  // namespace
}  // namespace smartmig
