// Who waits and who does not, with the policy that `serve` has if it is told nothing, on an emulated clock.
#include "base/rng.h"
#include "serve/api/why_now.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

struct WaitingQueue : TestQueue {
  using TestQueue::TestQueue;
  void pass(double seconds) {
    const UnixTime end = daemon().now() + from_seconds(seconds);
    daemon().step();
    while (daemon().now() < end) {
      host->clock().wait_until(std::min(end, daemon().next_due()));
      daemon().step();
    }
  }
  int waiting() {
    int count = 0;
    for (const auto& [id, job] : daemon().live_jobs()) count += is_waiting(job.status);
    return count;
  }
};

TEST(Waiting, NobodyWaitsBesideIdleGpus) {
  WaitingQueue q("8xa100-40gb");
  q.submit(q.alice, 5);
  q.pass(2);
  for (int i = 0; i < 3; ++i) q.submit(q.alice, 5);
  q.pass(10);  // a slice may have to be made
  EXPECT_EQ(q.waiting(), 0);
}

TEST(Waiting, ADeadlineBesideALongJobIsKept) {
  for (const bool long_has_deadline : {false, true}) {
    WaitingQueue q("8xa100-40gb");
    q.submit(q.alice, 600, [&](JobSpec& spec) {
      if (long_has_deadline) spec.deadline = q.daemon().now() + std::chrono::hours(24);
    });
    q.pass(2);
    const QueueId due = q.submit(q.alice, 20.0 / 60,
                                 [&](JobSpec& spec) { spec.deadline = q.daemon().now() + std::chrono::minutes(3); });
    const UnixTime submitted = q.daemon().now();
    q.pass(120);
    const JobRecord job = q.ended(due);
    EXPECT_EQ(job.status, JobStatus::kDone);
    EXPECT_LE(job.times.started - submitted, from_seconds(10));
  }
}

// Jobs of all kinds come one after the other to a fleet that has room for all of them: each starts when it comes.
TEST(Waiting, WithRoomForAllEachStartsAtOnce) {
  Rng rng(4);
  for (int round = 0; round < 6; ++round) {
    WaitingQueue q("8xa100-40gb");
    for (int i = 0; i < 8; ++i) {
      const double minutes = rng.uniform(0.5, 120);
      q.submit(rng.below(3) == 0 ? q.bob : q.alice, minutes, [&](JobSpec& spec) {
        if (rng.below(2) == 0) spec.deadline = q.daemon().now() + from_minutes(minutes * rng.uniform(1, 20));
        if (rng.below(2) == 0) spec.mem_mib = int(1000 + rng.below(30'000));
      });
      q.pass(10);
      EXPECT_EQ(q.waiting(), 0) << "round " << round << ", job " << i;
    }
  }
}

// In a queue that is too long for the GPU, the one with a deadline goes before those without, however far it is.
TEST(Waiting, ADeadlineComesBeforeNone) {
  for (const double hours : {1.0, 1000.0}) {
    WaitingQueue q("1xa100-40gb");
    const auto whole = [](JobSpec& spec) { spec.min_slices = 7; };
    q.submit(q.alice, 10, whole);
    q.pass(5);
    std::vector<QueueId> without;
    for (int i = 0; i < 4; ++i) without.push_back(q.submit(q.alice, 10, whole));
    const QueueId with = q.submit(q.alice, 10, [&](JobSpec& spec) {
      whole(spec);
      spec.deadline = q.daemon().now() + from_minutes(60 * hours);
    });
    q.run();
    for (const QueueId id : without) EXPECT_LT(q.ended(with).times.started, q.ended(id).times.started) << hours;
  }
}

// Beside a job that runs for long, one that has time waits for the slice that another leaves soon; until it must.
TEST(Waiting, APatientJobIsHeldBackAndInTime) {
  for (const bool patient : {false, true}) {
    WaitingQueue q("2xa100-40gb");
    const auto sized = [&](int slices, double hours, bool waits) {
      return [&q, slices, hours, waits](JobSpec& spec) {
        spec.min_slices = slices;
        spec.kind = "capped";  // larger slices are no faster
        spec.mem_mib = 5000 * slices;
        spec.deadline = q.daemon().now() + from_minutes(60 * hours);
        spec.patient = waits;
      };
    };
    q.submit(q.alice, 300, sized(4, 40, false));
    q.pass(30);
    q.submit(q.alice, 20, sized(3, 40, false));
    q.pass(30);
    const UnixTime submitted = q.daemon().now();
    const QueueId mine = q.submit(q.alice, 20, sized(3, 5, patient));
    q.pass(30);
    EXPECT_EQ(is_waiting(q.daemon().live_jobs().at(mine).status), patient);
    if (patient) {
      const auto why = why_now(q.daemon(), mine);
      ASSERT_TRUE(why);
      EXPECT_EQ(why->code, "held_for_energy") << why->sentence;
      ASSERT_TRUE(why->reservation && why->reservation->latest);
      EXPECT_EQ(why->reservation->after.size(), 1u);
    }
    q.run();
    EXPECT_LE(q.ended(mine).times.ended, submitted + std::chrono::hours(5));
    EXPECT_EQ(q.ended(mine).status, JobStatus::kDone);
  }
}

}  // namespace
}  // namespace smartmig
