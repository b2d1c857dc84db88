#include "base/thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace smartmig {
namespace {

// In a process of its own: it may not have another byte of address space.
[[noreturn]] void without_room() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlimit room{pages * 4096 + (1 << 20), RLIM_INFINITY};
  if (::setrlimit(RLIMIT_AS, &room) != 0) ::_exit(3);
  std::thread others[200];  // stacks of threads that have ended are used again first
  for (std::thread& other : others) {
    auto thread = start_thread("a test", [] { ::pause(); });
    if (!thread)
      ::_exit(thread.error().code == Error::kIo && thread.error().what.find("no thread for a test") == 0 ? 0 : 1);
    other = std::move(*thread);
  }
  ::_exit(2);
}

TEST(StartThreadProcess, OneThatCannotBeHadIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need their own room";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers need their own room";
#endif
#endif
  EXPECT_EXIT(without_room(), ::testing::ExitedWithCode(0), "");
}

TEST(StartThreadProcess, OneThatCanBeHadRuns) {
  int ran = 0;
  auto thread = start_thread("a test", [&] { ran = 1; });
  ASSERT_TRUE(thread);
  thread->join();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace smartmig
