#include "serve/attempts/visible_jobs.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

TEST(VisibleJobs, AJobThatFitsNoSliceEnds) {
  DaemonParts p;
  const QueueId fits = p.accept().id;
  const QueueId large = p.accept(10, [](JobRecord& job) { job.memory.mib = 1 << 20; }).id;
  p.visible->update(p.clock.now());
  EXPECT_NE(p.state->session.belief().row(fits), kNoJob);
  EXPECT_FALSE(p.state->book.find(large));
  const auto ended = p.state->book.take_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, JobStatus::kFailed);
  EXPECT_FALSE(ended[0].reason.empty());
}

TEST(VisibleJobs, ADeadlineThatMovedByLittleStays) {
  DaemonParts p;
  JobRecord& job = p.accept(10, [&](JobRecord& j) { j.spec.deadline = p.clock.now() + std::chrono::hours(2); });
  const auto row = [&] { return p.state->session.belief().row(job.id); };
  p.visible->update(p.clock.now());
  p.tell_all();
  const JobId first = row();
  ASSERT_NE(first, kNoJob);
  job.spec.deadline = *job.spec.deadline + std::chrono::minutes(5);
  p.state->book.changed(job);
  p.visible->update(p.clock.now());
  p.tell_all();
  EXPECT_EQ(row(), first);
  job.spec.deadline = *job.spec.deadline + std::chrono::hours(2);
  p.state->book.changed(job);
  p.visible->update(p.clock.now());
  p.tell_all();
  EXPECT_NE(row(), first);
  EXPECT_EQ(p.state->session.belief().outside(p.state->session.belief().table()->job(row()).deadline),
            *job.spec.deadline);
  EXPECT_EQ(p.state->session.cluster().unfinished(), 1u) << "the old row is withdrawn";
}

// Between users the share decides, and all have a deadline; alone nobody needs one.
TEST(VisibleJobs, WithoutADeadlineItHasOneOnlyWhereOthersWait) {
  DaemonParts p;
  const QueueId mine = p.accept().id;
  const auto has_deadline = [&] {
    const Belief& belief = p.state->session.belief();
    return belief.table()->job(belief.row(mine)).has_deadline();
  };
  p.visible->update(p.clock.now());
  p.tell_all();
  EXPECT_FALSE(has_deadline());
  const QueueId other = p.accept(10, [](JobRecord& job) { job.owner.uid = 1002; }).id;
  p.visible->update(p.clock.now());
  p.tell_all();
  EXPECT_TRUE(has_deadline());
  p.transitions->finish(*p.state->book.find(other), JobStatus::kCancelled, "", false);
  p.visible->update(p.clock.now());
  p.tell_all();
  EXPECT_FALSE(has_deadline());
  EXPECT_EQ(p.state->session.cluster().unfinished(), 1u);
}

TEST(VisibleJobs, OfAnArrayAsManyAsItsLimitSays) {
  DaemonParts p;
  const QueueId array = p.state->book.next_id();
  std::vector<QueueId> tasks;
  for (int i = 0; i < 4; ++i)
    tasks.push_back(p.accept(10, [&](JobRecord& job) {
                       job.array.id = array;
                       job.array.index = i;
                       job.spec.array_limit = 2;
                     }).id);
  p.visible->update(p.clock.now());
  EXPECT_EQ(p.state->session.belief().visible(), 2u);
  p.transitions->finish(*p.state->book.find(tasks[0]), JobStatus::kDone, "", false);
  p.visible->update(p.clock.now());
  EXPECT_EQ(p.state->session.belief().visible(), 2u);
  EXPECT_NE(p.state->session.belief().row(tasks[2]), kNoJob) << "the next one takes its place";
}

TEST(VisibleJobs, AccountsOfUsersOutliveTheDaemon) {
  DaemonParts p;
  EXPECT_EQ(p.visible->accounts(), "");
  p.visible->charge(p.accept(60));
  const std::string text = p.visible->accounts();
  EXPECT_TRUE(text.starts_with("1001:")) << text;
  DaemonParts next;
  next.visible->set_accounts(text);
  EXPECT_EQ(next.visible->accounts(), text);
  next.visible->set_accounts("nonsense,7:,:8");
  EXPECT_EQ(next.visible->accounts(), text) << "what cannot be read is passed over";
}

}  // namespace
}  // namespace smartmig
