#include "serve/daemon/memory_watch.h"

#include <gtest/gtest.h>

#include "live/jobs/in_process_runner.h"

namespace smartmig {
namespace {

struct Watched {
  RealClock clock;
  InProcessRunner runner{clock};
  MemoryWatch watch{runner};
  JobRecord job;
  Watched() {
    job.id = QueueId(1);
    job.attempt = 1;
    job.spec.requeue = true;
  }
};

TEST(MemoryWatch, TheHighestUseIsKept) {
  Watched w;
  EXPECT_TRUE(w.watch.saw(w.job, 100));
  EXPECT_FALSE(w.watch.saw(w.job, 90));
  EXPECT_EQ(w.job.memory.peak_mib, 100);
}

TEST(MemoryWatch, SteadyGrowthPastTheSliceIsRestartedEarly) {
  Watched w;
  std::optional<MemoryWatch::Early> early;
  int second = 0;
  for (; second < 600 && !early; second += 10)
    early = w.watch.project(w.job, 500 + 8 * second, second, 3600, 5000, 40000);
  ASSERT_TRUE(early);
  EXPECT_LT(500 + 8 * second, 5000) << "before it is full";
  EXPECT_GT(early->needs_mib, 5000);
  EXPECT_LE(early->needs_mib, 40000);
  EXPECT_NE(early->words.find("early restart"), std::string::npos);
}

TEST(MemoryWatch, ByALineItRestartsSoonerAndWhereItIsOffNever) {
  Watched w, off;
  std::optional<MemoryWatch::Early> early;
  int second = 0;
  for (; second < 600 && !early; second += 10)
    early = w.watch.project(w.job, 500 + 8 * second, second, 3600, 5000, 40000, EarlyRestart::kLine);
  ASSERT_TRUE(early);
  EXPECT_LE(second, 120);
  EXPECT_NEAR(early->needs_mib, 500 + 8 * 3600, 300);
  for (second = 0; second < 600; second += 10)
    EXPECT_FALSE(off.watch.project(off.job, 500 + 8 * second, second, 3600, 5000, 40000, EarlyRestart::kOff));
}

TEST(MemoryWatch, WhoIsOnTheLargestSliceOrDeclaredASizeIsLeftAlone) {
  Watched w;
  for (int second = 0; second < 600; second += 10)
    EXPECT_FALSE(w.watch.project(w.job, 500 + 8 * second, second, 3600, 40000, 40000));
  Watched declared;
  declared.job.spec.requeue = false;
  declared.job.spec.mem_mib = 4000;
  for (int second = 0; second < 600; second += 10)
    EXPECT_FALSE(declared.watch.project(declared.job, 500 + 8 * second, second, 3600, 5000, 40000));
}

TEST(MemoryWatch, AFailureForWantOfMemory) {
  Watched w;
  AttemptExit exit;
  exit.id = {1, 1};
  exit.code = 1;
  EXPECT_FALSE(w.watch.shortage(w.job, exit, 5000, {})) << "nothing says so";
  exit.gpu_oom = true;
  const auto known = w.watch.shortage(w.job, exit, 5000, {});
  ASSERT_TRUE(known);
  EXPECT_EQ(w.watch.after_failure(w.job, 5000, *known, 40000), 5001) << "one size up";
  AttemptExit killed;
  killed.id = {1, 1};
  killed.signal = 9;
  w.job.memory.peak_mib = 4990;
  const auto full = w.watch.shortage(w.job, killed, 5000, {});
  ASSERT_TRUE(full) << "its slice was full when it died";
  w.job.spec.requeue = false;
  EXPECT_FALSE(w.watch.shortage(w.job, killed, 5000, {})) << "somebody may have meant to kill it";
  w.job.spec.requeue = true;
  EXPECT_FALSE(full->certain);
  EXPECT_FALSE(w.watch.shortage(w.job, killed, 20000, {}));
  killed.signal = 11;
  EXPECT_FALSE(w.watch.shortage(w.job, killed, 5000, {})) << "another fault";
}

}  // namespace
}  // namespace smartmig
