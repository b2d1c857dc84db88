#include "serve/attempts/prelaunches.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

// It fits no slice of a smaller fleet, or what it depends on has failed: its processes wait for nothing.
TEST(Prelaunches, AJobThatEndsWhileItWaitsLeavesNoProcesses) {
  DaemonParts p;
  Prelaunches prelaunches(p.state->settings, p.runner, false, p.state->session, p.state->book, p.state->attempts,
                          *p.attempts);
  JobRecord& ends = p.accept();
  JobRecord& waits = p.accept();
  for (JobRecord* job : {&ends, &waits}) {
    job->attempt = 1;
    job->prelaunch.began = p.clock.now();
    p.state->attempts.began_ahead(*job);
  }
  const AttemptId left = attempt_of(ends), held = attempt_of(waits);
  p.lifecycle->finish(ends, JobStatus::kFailed, "it fits no slice", false);
  ASSERT_TRUE(p.commit());
  prelaunches.carry_out();
  prelaunches.carry_out();
  EXPECT_EQ(p.runner.stopped, std::vector<AttemptId>{left}) << "once";
  AttemptExit exit;
  exit.id = left;
  exit.signal = 15;
  exit.started = exit.ended = p.clock.now();
  p.runner.exits.push_back(exit);
  p.ends->take_exits();
  EXPECT_EQ(p.state->attempts.prelaunched(), std::set<AttemptId>{held});
}

}  // namespace
}  // namespace smartmig
