// What jobs ask of their slice's size, in a queue on emulated GPUs: they get that and nothing else.
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

std::function<void(DaemonHostOptions&)> setting(std::function<void(Settings&)> change) {
  return [change = std::move(change)](DaemonHostOptions& options) { change(options.settings); };
}

std::string slice_of(TestQueue& q, QueueId id) { return to_string(q.ended(id).place.slice); }

int running(TestQueue& q) {
  int out = 0;
  for (const auto& [id, job] : q.daemon().live_jobs()) out += job.status == JobStatus::kRunning;
  return out;
}

TEST(SizeRequests, AloneOnAMachineAJobGetsNoMoreThanItAskedFor) {
  TestQueue q("1xh100-80gb-sxm");
  const auto profile = q.submit(q.alice, 30, [](JobSpec& s) { s.profile = "1g.10gb"; });
  q.run();
  EXPECT_TRUE(slice_of(q, profile).starts_with("1g.10gb@")) << slice_of(q, profile);
  const auto bounded = q.submit(q.alice, 30, [](JobSpec& s) { s.min_slices = 2, s.max_slices = 3; });
  q.run();
  EXPECT_TRUE(slice_of(q, bounded).starts_with("2g") || slice_of(q, bounded).starts_with("3g")) << slice_of(q, bounded);
  const auto whole = q.submit(q.alice, 30, [](JobSpec& s) { s.exclusive = true; });
  const auto beside = q.submit(q.alice, 30, [](JobSpec& s) { s.profile = "1g.20gb"; });
  q.run();
  EXPECT_TRUE(slice_of(q, whole).starts_with("7g.80gb")) << slice_of(q, whole);
  EXPECT_TRUE(slice_of(q, beside).starts_with("1g.20gb@")) << slice_of(q, beside);
}

TEST(SizeRequests, WhatNoGpuHasIsRefused) {
  TestQueue q("1xa100-40gb");
  JobSpec spec;
  spec.command = {"train"};
  spec.directory = "/";
  spec.profile = "1g.20gb";
  const auto refused = q.daemon().jobs().submit(q.alice, {spec}, q.warnings);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("it has 1g.5gb"), std::string::npos) << refused.error().what;
}

TEST(SizeRequests, AUsersCapCountsWhatWasAskedFor) {
  TestQueue q("2xa100-40gb", setting([](Settings& s) { s.limits.user_slices = 3; }));
  for (int i = 0; i < 6; ++i) q.submit(q.alice, 60, [](JobSpec& s) { s.min_slices = 1, s.mem_mib = 4000; });
  q.run(5);
  EXPECT_EQ(running(q), 3) << "one compute slice each, whatever they got";
  for (const auto& [id, job] : q.daemon().live_jobs())
    if (job.status == JobStatus::kRunning) {
      EXPECT_LE(job.place.slice.profile[0], '3') << job.place.slice.profile;
    }
}

TEST(SizeRequests, ASiteMayCapJobsThatNameNoSize) {
  TestQueue q("1xa100-40gb", setting([](Settings& s) { s.defaults.max_slices = 2; }));
  const auto small = q.submit(q.alice, 30);
  q.run();
  EXPECT_TRUE(slice_of(q, small).starts_with("1g") || slice_of(q, small).starts_with("2g")) << slice_of(q, small);
  const auto large = q.submit(q.alice, 30, [](JobSpec& s) { s.mem_mib = 30'000; });
  q.run();
  EXPECT_TRUE(slice_of(q, large).starts_with("7g")) << slice_of(q, large);
}

TEST(SizeRequests, ATerminalIsNotWorthAWholeGpu) {
  TestQueue q("1xa100-40gb");
  const auto pty = [](JobSpec& s) { s.pty = true; };
  const auto shell = q.submit(q.alice, 30, pty);
  q.run();
  EXPECT_TRUE(slice_of(q, shell).starts_with("1g.")) << slice_of(q, shell);
  const auto loaded = q.submit(q.alice, 30, [&](JobSpec& s) { pty(s), s.mem_mib = 15'000; });
  q.run();
  EXPECT_TRUE(slice_of(q, loaded).starts_with("3g.")) << slice_of(q, loaded);
}

TEST(SizeRequests, AJobThatRunsOutOfItsProfileSaysSo) {
  TestQueue q("1xa100-40gb");
  const auto id = q.submit(q.alice, 10, [](JobSpec& s) {
    s.profile = "1g.5gb";
    s.environment = {"SMARTMIG_EMULATED_MEMORY=0:1000,1:9000"};
  });
  q.run();
  const JobRecord job = q.ended(id);
  EXPECT_EQ(job.status, JobStatus::kFailed);
  EXPECT_NE(job.reason.find("the job allows no other (--profile 1g.5gb)"), std::string::npos) << job.reason;
}

}  // namespace
}  // namespace smartmig
