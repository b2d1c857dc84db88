#include "serve/gpus/memory_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "live/jobs/in_process_runner.h"

namespace smartmig {
namespace {

TEST(AllocatorSeen, ByLibrariesAndEnvironment) {
  const std::string torch = "7f00 r-xp /usr/lib/python3/torch/lib/libc10_cuda.so\n";
  EXPECT_EQ(allocator_of(torch, {}), AllocatorFamily::kCaching);
  EXPECT_EQ(allocator_of(torch, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of(torch, {"PYTORCH_ALLOC_CONF=backend:cudaMallocAsync"}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of(torch, {"PYTORCH_NO_CUDA_MEMORY_CACHING=1"}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of("/x/libtensorflow_cc.so.2", {}), AllocatorFamily::kReserved);
  EXPECT_EQ(allocator_of("/x/libtensorflow_cc.so.2", {"TF_FORCE_GPU_ALLOW_GROWTH=true"}), AllocatorFamily::kDoubling);
  EXPECT_EQ(allocator_of("/x/xla_cuda_plugin.so", {"XLA_PYTHON_CLIENT_PREALLOCATE=false"}), AllocatorFamily::kDoubling);
  EXPECT_EQ(allocator_of("/usr/lib/libcuda.so.580", {}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of("/usr/lib/libc.so.6", {}), AllocatorFamily::kUnknown);
}

TEST(AllocatorSeen, OfThisProcessNothingIsSeen) {
  EXPECT_EQ(allocator_of_processes({std::uint32_t(getpid()), 0}), AllocatorFamily::kUnknown);
}

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

TEST(MemoryWatch, WhoRunsOnceOrIsNotRetriedIsNotRestartedEarly) {
  Watched once, stays;
  once.job.spec.once = true;
  stays.job.spec.oom_retry = false;
  for (int second = 0; second < 600; second += 10) {
    EXPECT_FALSE(once.watch.project(once.job, 500 + 8 * second, second, 3600, 5000, 40000));
    EXPECT_FALSE(stays.watch.project(stays.job, 500 + 8 * second, second, 3600, 5000, 40000));
  }
}

struct LoggingRunner : InProcessRunner {
  using InProcessRunner::InProcessRunner;
  std::string path;
  std::string log_path(AttemptId) const override { return path; }
};

// A job that prints its tokens and takes 4 MiB for each; the seconds at which it is restarted, or -1.
int decodes(int total, MemoryWatch::Earlier earlier, std::optional<PastWork>* past = nullptr) {
  RealClock clock;
  LoggingRunner runner(clock);
  runner.path = testing::TempDir() + "smartmig-decodes.log";
  std::ofstream log(runner.path, std::ios::trunc);
  MemoryWatch watch(runner, std::move(earlier));
  JobRecord job;
  job.id = QueueId(1);
  job.attempt = 1;
  job.spec.requeue = true;
  job.spec.command = {"python3", "generate.py"};
  for (int second = 10, tokens = 0; tokens < total; second += 10, tokens += 20) {
    if (tokens > 0) log << "generated " << tokens << "/" << total << " tokens" << std::endl;
    if (watch.project(job, 1000 + 4 * tokens, second, 0, 5000, 40000)) return second;
  }
  if (past) *past = watch.past_of(job, 5000);
  return -1;
}

TEST(MemoryWatch, WhatAJobPrintsTellsWhetherItWillFit) {
  const int restarted = decodes(3000, nullptr);
  EXPECT_GT(restarted, 0);
  EXPECT_LT(restarted, 400) << "the slice is full after 510 s";
  EXPECT_EQ(decodes(900, nullptr), -1) << "4.6 of 5 GB";
}

TEST(MemoryWatch, AnEarlierRunTellsWhatThisOneComesTo) {
  std::optional<PastWork> past;
  EXPECT_EQ(decodes(900, nullptr, &past), -1);
  ASSERT_TRUE(past);
  EXPECT_NEAR(past->peak_mib, 4600, 100);
  EXPECT_EQ(past->end_done, 880);
  past->held_mib = past->peak_mib = 9000;
  past->by_size.points = 0;
  const int restarted = decodes(3000, [&](const JobRecord&) { return std::vector{*past}; });
  EXPECT_GT(restarted, 0);
  EXPECT_LT(restarted, 60) << "before its own growth tells";
}

struct ReportingRunner : InProcessRunner {
  using InProcessRunner::InProcessRunner;
  std::optional<JobMemory> told;
  std::optional<JobMemory> memory_of(AttemptId) const override { return told; }
};

struct Reporting {
  RealClock clock;
  ReportingRunner runner{clock};
  MemoryWatch watch{runner};
  JobRecord job;
  Reporting() {
    job.id = QueueId(1);
    job.attempt = 1;
    job.spec.exact_memory = true;
    runner.told = JobMemory{};
  }
};

TEST(MemoryWatch, WhatTensorsHeldIsToldWithEachSampleAndNeverFalls) {
  Reporting r;
  EXPECT_EQ(r.watch.sample(r.job, 3000, 1).held_peak_mib, -1) << "no framework has told";
  r.runner.told->tensors_bytes = std::int64_t(600) << 20;
  r.runner.told->tensors_peak_bytes = (std::int64_t(900) << 20) - 5;
  EXPECT_EQ(r.watch.sample(r.job, 3000, 2).held_peak_mib, 900);
  r.runner.told->tensors_peak_bytes = std::int64_t(700) << 20;  // of two processes the larger one is gone
  EXPECT_EQ(r.watch.sample(r.job, 3000, 3).held_peak_mib, 900);
  EXPECT_EQ(r.watch.sample(r.job, 3000, 4).device_mib, 3000) << "no CUDA requests were reported";
  r.watch.forget(r.job.id);
  EXPECT_EQ(r.watch.sample(r.job, 3000, 1).held_peak_mib, 700) << "of another attempt";
  r.job.spec.exact_memory = false;
  r.watch.forget(r.job.id);
  EXPECT_EQ(r.watch.sample(r.job, 3000, 1).held_peak_mib, -1);
}

TEST(MemoryWatch, TheDeviceHeldAtLeastWhatTensorsDid) {
  Reporting r;
  EXPECT_TRUE(r.watch.saw(r.job, 500));
  r.runner.told->tensors_peak_bytes = std::int64_t(300) << 20;
  EXPECT_TRUE(r.watch.saw(r.job, 500)) << "tensors are news";
  EXPECT_EQ(r.job.memory.tensors_mib, 300);
  EXPECT_EQ(r.job.memory.peak_mib, 500);
  EXPECT_FALSE(r.watch.saw(r.job, 500));
  r.runner.told->tensors_peak_bytes = std::int64_t(800) << 20;  // after the last sample
  r.watch.attempt_ended(r.job);
  EXPECT_EQ(r.job.memory.tensors_mib, 800);
  EXPECT_EQ(r.job.memory.peak_mib, 800);
  AttemptExit exit;
  exit.id = {1, 1};
  exit.code = 1;
  exit.gpu_oom = true;
  const auto shortage = r.watch.shortage(r.job, exit, 5000, {});
  ASSERT_TRUE(shortage);
  EXPECT_FALSE(shortage->certain) << "which request was refused is not known";
}

TEST(MemoryWatch, AnAbsurdReportStaysInBounds) {
  Reporting r;
  r.runner.told->tensors_peak_bytes = std::int64_t(1) << 58;
  EXPECT_TRUE(r.watch.saw(r.job, 500));
  EXPECT_EQ(r.job.memory.tensors_mib, 1 << 26);
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
