#include "queue/belief/live_session.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "queue/config/settings.h"
#include "support/set_clock.h"

namespace smartmig {
namespace {

constexpr UnixTime kOrigin{std::chrono::hours(1000)};  // of belief time 0

struct Fleet1 {
  SetClock clock{kOrigin + std::chrono::minutes(5)};
  std::shared_ptr<const Platform> platform =
      std::make_shared<const Platform>(Platform::parse("1xa100-40gb", "auto").value());
  LiveSession session{clock, platform, kOrigin, 16, {whole()}, {"0", "none+edf", "test", kPaperA}, 0};

  Layout whole() const {
    const GpuModel& model = *platform->models()[0].gpu;
    return *model.with(Layout{}, placement_of(model, {"7g.40gb", 0}));
  }
  JobRecord job(int id, Time estimate = std::chrono::minutes(10)) const {
    JobRecord out;
    out.id = QueueId(id);
    out.spec.command = {"x"};
    out.times.submitted = clock.now();
    out.work.estimate = estimate;
    return out;
  }
  void tell_all() {
    while (session.session().advance()) {
    }
  }
};

TEST(LiveSession, TheJournalIsWeighedAsTheSessionDecides) {
  SetClock clock{kOrigin};
  const auto platform = std::make_shared<const Platform>(Platform::parse("1xa100-40gb", "auto").value());
  Settings settings;
  const auto header = [&] {
    LiveSession session(clock, platform, kOrigin, 16, {Layout{}}, {"0", "none+edf", "test", mean_weight_of(settings)},
                        0);
    return Json::parse(session.journal().take().at(0).line);
  };
  EXPECT_EQ(header()["a"], kPaperA);
  settings.prices = {0.3, 2};
  EXPECT_EQ(header()["a"], 0.3 / 1000 / 2 / kPaperJobs);
}

TEST(LiveSession, AJobIsVisibleFromShowToItsEnd) {
  Fleet1 f;
  const JobRecord job = f.job(7);
  ASSERT_TRUE(f.session.show(job, kNeverUnix, f.clock.now()));
  f.tell_all();
  const JobId row = f.session.belief().row(job.id);
  ASSERT_NE(row, kNoJob);
  EXPECT_EQ(f.session.belief().record(row), job.id);
  EXPECT_EQ(f.session.cluster().unfinished(), 1u);
  EXPECT_FALSE(f.session.expected_finish(job.id)) << "it waits";
  f.session.withdraw(job.id);
  f.session.withdraw(job.id);
  f.tell_all();
  EXPECT_EQ(f.session.cluster().unfinished(), 0u);
  EXPECT_EQ(f.session.belief().row(job.id), kNoJob);
}

TEST(LiveSession, AJobThatIsFoundRunningHasWhatItsEstimateLeaves) {
  Fleet1 f;
  JobRecord job = f.job(1);
  job.times.started = job.times.first_started = f.clock.now() - std::chrono::minutes(4);
  const PlacementId where = *f.whole().begin();
  ASSERT_TRUE(f.session.found_running(job, GpuId(0), where, f.clock.now()));
  EXPECT_EQ(f.session.expected_finish(job.id), f.clock.now() + std::chrono::minutes(6));
  EXPECT_TRUE(f.session.overdue().empty());
  f.clock.set(f.clock.now() + std::chrono::minutes(6) + kOverrunGrace);
  EXPECT_EQ(f.session.next_due(), f.clock.now());
  EXPECT_EQ(f.session.overdue(), std::vector<QueueId>{job.id});
  f.session.tell_overrun(job.id);
  f.tell_all();
  EXPECT_GT(*f.session.expected_finish(job.id), f.clock.now());
}

TEST(LiveSession, AJobThatGoesOnFromWhatItSavedNeedsItsRestartTime) {
  Fleet1 f;
  JobRecord job = f.job(1);
  job.spec.checkpoint_signal = 10;
  job.spec.restart = std::chrono::minutes(1);
  const Time whole = f.session.belief().time_on(job, 7);
  EXPECT_EQ(f.session.belief().job_of(job, kNeverUnix).restart, *job.spec.restart);
  job.work.remaining = 0.5;
  EXPECT_EQ(f.session.belief().time_on(job, 7), whole / 2 + *job.spec.restart);
  job.counts.preempted = kMostPreemptions;
  EXPECT_LT(f.session.belief().job_of(job, kNeverUnix).restart, Time{0}) << "it is left alone from now on";
  EXPECT_EQ(f.session.belief().time_on(job, 7), whole / 2 + *job.spec.restart) << "and resumes all the same";
  // It has resumed and done a quarter of the whole.
  const PlacementId where = *f.whole().begin();
  job.times.started = f.clock.now() - *job.spec.restart - whole / 4;
  ASSERT_TRUE(f.session.found_running(job, GpuId(0), where, f.clock.now()));
  EXPECT_NEAR(f.session.share_left(job), 0.25, 1e-9);
  job.spec.checkpoint_signal = 0;
  EXPECT_EQ(f.session.belief().time_on(job, 7), whole / 2);
}

TEST(LiveSession, AJobThatEndedWhileNobodyLookedHasWhatItHadThen) {
  Fleet1 f;
  JobRecord job = f.job(1);
  job.spec.checkpoint_signal = 10;
  job.times.started = f.clock.now() - std::chrono::hours(5);
  const Time whole = f.session.belief().time_on(job, 7);
  ASSERT_TRUE(f.session.found_running(job, GpuId(0), *f.whole().begin(), job.times.started + whole / 4));
  EXPECT_NEAR(f.session.share_left(job), 0.75, 1e-9);
}

TEST(LiveSession, WhatAJobDidBesideOthersIsLess) {
  Fleet1 f;
  f.session.belief().set_sharing({true, 7});
  JobRecord job = f.job(1);
  job.work.log_slowdown = 1;
  job.times.started = f.clock.now() - std::chrono::minutes(4);
  const Time whole = f.session.belief().time_on(job, 7);
  ASSERT_TRUE(f.session.found_running(job, GpuId(0), *f.whole().begin(), f.clock.now(), 12.0 / 7));
  const Time done = rounded(4 * 60e6 / std::exp(6.0 / 7));
  EXPECT_NEAR(seconds(f.session.time_to_finish(job.id)), seconds(whole - done), 1e-3);
  EXPECT_LT(*f.session.expected_finish(job.id) - f.clock.now(), whole - done) << "alone from now on";
}

TEST(LiveSession, RowsOfThePastAreDroppedWhenRoomRunsOut) {
  Fleet1 f;
  ASSERT_TRUE(f.session.show(f.job(1), kNeverUnix, f.clock.now()));
  f.tell_all();
  EXPECT_FALSE(f.session.compact_if_needed(16));
  bool compacted = false;
  for (int i = 2; i < 1000 && !compacted; ++i) {
    ASSERT_TRUE(f.session.show(f.job(i), kNeverUnix, f.clock.now()));
    f.tell_all();
    f.session.withdraw(QueueId(i));
    EXPECT_FALSE(f.session.compact_if_needed(16)) << "the fleet has something to tell of old rows";
    f.tell_all();
    compacted = f.session.compact_if_needed(16);
  }
  EXPECT_TRUE(compacted);
  const JobId row = f.session.belief().row(QueueId(1));
  ASSERT_NE(row, kNoJob);
  EXPECT_EQ(f.session.belief().record(row), QueueId(1));
  EXPECT_EQ(f.session.belief().visible(), 1u);
}

}  // namespace
}  // namespace smartmig
