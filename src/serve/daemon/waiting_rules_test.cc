// What keeps a job waiting besides slices: its begin, a hold, other jobs that are to start or end first.
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;

JobStatus status_of(Queue& q, QueueId id) { return q.daemon().state().book.status_of(id); }

TEST(DaemonWaitingRules, AJobStartsNoEarlierThanItsBegin) {
  Queue q;
  const UnixTime begin = q.daemon().now() + from_minutes(90);
  const auto later = q.submit(q.alice, 2, [&](JobSpec& s) { s.begin = begin; });
  const auto past = q.submit(q.alice, 2, [&](JobSpec& s) { s.begin = q.daemon().now() - from_minutes(5); });
  q.run(30);
  EXPECT_EQ(status_of(q, later), JobStatus::kHeld);
  EXPECT_TRUE(q.daemon().live_jobs().at(later).reason.starts_with("begins at "))
      << q.daemon().live_jobs().at(later).reason;
  EXPECT_EQ(status_of(q, past), JobStatus::kDone);
  q.run();
  EXPECT_EQ(status_of(q, later), JobStatus::kDone);
  EXPECT_GE(q.ended(later).times.started, begin);
  EXPECT_LE(q.ended(later).times.started, begin + from_seconds(30)) << "the begin is a timer";
}

TEST(DaemonWaitingRules, ABeginAndAHoldOutliveTheDaemon) {
  Queue q;
  const UnixTime begin = q.daemon().now() + from_minutes(90);
  const auto later = q.submit(q.alice, 2, [&](JobSpec& s) { s.begin = begin; });
  const auto held = q.submit(q.alice, 2, [&](JobSpec& s) { s.hold = true; });
  q.run(10);
  q.host.reset();
  q.open("1xa100-40gb");
  q.run(200);
  EXPECT_EQ(status_of(q, later), JobStatus::kDone);
  EXPECT_GE(q.ended(later).times.started, begin);
  EXPECT_EQ(status_of(q, held), JobStatus::kHeld);
  EXPECT_EQ(q.daemon().live_jobs().at(held).reason, "held by its owner: smartmig release 2");
}

TEST(DaemonWaitingRules, AfterWaitsForAStartAndSingletonForItsName) {
  Queue q;
  const auto first = q.submit(q.alice, 20, [](JobSpec& s) {
    s.name = "train";
    s.mem_mib = 1000;
  });
  const auto after = q.submit(q.alice, 2, [&](JobSpec& s) {
    s.dependencies = {{Dependency::kAfter, number(first)}};
    s.mem_mib = 1000;
  });
  std::vector<QueueId> alone;
  for (int i = 0; i < 3; ++i)
    alone.push_back(q.submit(q.alice, 2, [](JobSpec& s) {
      s.name = "train";
      s.singleton = true;
      s.mem_mib = 1000;
    }));
  const auto of_another = q.submit(q.bob, 2, [](JobSpec& s) {
    s.name = "train";
    s.singleton = true;
    s.mem_mib = 1000;
  });
  EXPECT_EQ(status_of(q, after), JobStatus::kHeld);
  EXPECT_EQ(status_of(q, alone[0]), JobStatus::kHeld);
  EXPECT_EQ(status_of(q, of_another), JobStatus::kQueued) << "another user's name";
  EXPECT_TRUE(q.daemon().jobs().cancel(alone[1], "cancelled by its owner"));
  for (int i = 0; i < 60 && status_of(q, first) == JobStatus::kQueued; ++i) q.run(1);
  q.run(0.1);
  EXPECT_EQ(status_of(q, first), JobStatus::kRunning);
  EXPECT_NE(status_of(q, after), JobStatus::kHeld) << "the other has started";
  q.run();
  EXPECT_GE(q.ended(after).times.started, q.ended(first).times.started);
  EXPECT_GE(q.ended(alone[0]).times.started, q.ended(first).times.ended);
  EXPECT_GE(q.ended(alone[2]).times.started, q.ended(alone[0]).times.ended);
}

TEST(DaemonWaitingRules, ATaskKnowsItsArray) {
  Queue q;
  q.submit(q.alice, 1, [](JobSpec& s) { s.array = {2, 4, 6, 8}; });
  q.submit(q.alice, 1, [](JobSpec& s) { s.array = {1, 9, 3}; });
  const auto& even = q.daemon().live_jobs().at(QueueId(2)).array;
  EXPECT_EQ(std::tuple(even.count, even.first, even.last, even.step), std::tuple(4, 2, 8, 2));
  const auto& odd = q.daemon().live_jobs().at(QueueId(5)).array;
  EXPECT_EQ(std::tuple(odd.count, odd.first, odd.last, odd.step), std::tuple(3, 1, 9, 1));
  const auto again = from_row(to_row(q.daemon().live_jobs().at(QueueId(2)), true));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->array.last, 8);
}

TEST(DaemonWaitingRules, MailIsForWhatWasAskedFor) {
  Queue q;
  q.submit(q.alice, 1, [](JobSpec& s) { s.mail = {MailEvent::kEnd}; });
  ASSERT_EQ(q.warnings.size(), 1u);
  EXPECT_NE(q.warnings[0].find("hooks.mail"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
