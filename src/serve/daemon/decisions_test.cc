#include "serve/daemon/decisions.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

Settings without_gathering() {
  Settings out;
  out.policy.gather = Time{0};
  out.policy.name = "best:alone";  // the whole GPU, which is there
  return out;
}

struct Deciding : DaemonParts {
  Deciding() : DaemonParts("1xa100-40gb", "7g@0", without_gathering()) {}
  void step() {
    state->session.begin_step();
    if (state->book.take_queue_changed()) visible->update(state->figures.started());
    decisions->decide_all();
  }
  std::uint64_t count() const { return state->figures.counts.decisions; }
};

TEST(Decisions, AStartIsPreparedAndHappensOnlyOnceItIsStored) {
  Deciding d;
  const JobRecord& job = d.accept();
  d.step();
  EXPECT_GT(d.count(), 0u);
  EXPECT_EQ(job.status, JobStatus::kStarting);
  EXPECT_TRUE(d.state->attempts.held({0, index(d.place("7g@0"))}));
  EXPECT_TRUE(d.runner.started.empty());
  ASSERT_TRUE(d.commit());
  d.carry_out();
  EXPECT_EQ(d.runner.started, std::vector<AttemptId>{attempt_of(job)});
  EXPECT_EQ(job.status, JobStatus::kRunning);
}

TEST(Decisions, APausedQueueStartsNothingUntilItGoesOn) {
  Deciding d;
  const JobRecord& job = d.accept();
  d.decisions->pause(true);
  d.step();
  d.pass(std::chrono::minutes(5));
  d.decisions->decide_anyway();
  d.step();
  EXPECT_EQ(d.count(), 0u);
  EXPECT_EQ(job.status, JobStatus::kQueued);
  d.decisions->pause(false);
  d.step();
  EXPECT_GT(d.count(), 0u);
  EXPECT_EQ(job.status, JobStatus::kStarting);
}

TEST(Decisions, TimeAloneIsNoReasonToDecideAboutAFleetWithoutJobs) {
  Deciding d;
  d.step();
  const std::uint64_t before = d.count();
  EXPECT_EQ(d.decisions->next_tick(), d.clock.now() + d.world.pace.tick);
  d.pass(d.world.pace.tick);
  d.step();
  EXPECT_EQ(d.count(), before);
  d.run_on("7g@0", 600);
  d.pass(d.world.pace.tick);
  d.step();
  EXPECT_GT(d.count(), before) << "with a job there is one";
}

}  // namespace
}  // namespace smartmig
