#include "serve/daemon/attempts.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

struct Starting : DaemonParts {
  JobRecord& start() {
    JobRecord& job = accept();
    visible->update(clock.now());
    tell_all();
    LiveFleet::Effect effect;
    effect.what = LiveFleet::Effect::kStart;
    effect.job = state->session.belief().row(job.id);
    effect.gpu = GpuId{0};
    effect.where = place("3g@4");
    attempts->prepare({effect});
    EXPECT_TRUE(commit());
    attempts->carry_out();
    return job;
  }
};

TEST(Attempts, AShortageOfTheDaemonFailsNoJob) {
  Starting s;
  s.runner.start_error = Error{Error::kIo, "no pipe for a supervisor: too many open files"};
  JobRecord& job = s.start();
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("too many open files"), std::string::npos) << job.reason;
  EXPECT_TRUE(s.state->attempts.slices().empty());
  EXPECT_EQ(s.attempts->shortage(), s.runner.start_error->what);
  EXPECT_EQ(s.attempts->next_try(), s.clock.now() + from_seconds(1));
  s.pass(from_seconds(1));
  s.start();
  EXPECT_EQ(s.attempts->next_try(), s.clock.now() + from_seconds(2)) << "each time later";
  s.runner.start_error.reset();
  s.pass(from_seconds(2));
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
  EXPECT_EQ(s.attempts->shortage(), "");
  EXPECT_EQ(s.attempts->next_try(), kNeverUnix);
}

TEST(Attempts, AJobWaitsWhileAnotherUserHasItsBoard) {
  Starting s;
  s.driver->only_uid = 4711;
  EXPECT_EQ(s.start().status, JobStatus::kQueued);
  EXPECT_TRUE(s.runner.started.empty());
}

TEST(Attempts, AFaultOfTheJobFailsIt) {
  Starting s;
  s.runner.start_error = Error{Error::kNotFound, "no such directory"};
  const QueueId id = s.state->book.next_id();
  s.start();
  EXPECT_FALSE(s.state->book.find(id));
  EXPECT_EQ(s.attempts->shortage(), "");
}

}  // namespace
}  // namespace smartmig
