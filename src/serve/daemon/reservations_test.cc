// GPUs kept for some users for a time: who starts where and when, what why and eta say of it, what a restart keeps.
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using Json = nlohmann::json;

UnixTime minutes_from(UnixTime start, double minutes) { return start + from_minutes(minutes); }

Result<Ok> reserve(Queue& q, const std::string& name, std::vector<int> gpus, double from_min, double for_min,
                   std::vector<std::string> users = {"1001"}) {
  GpuReservation r;
  r.name = name;
  r.gpus = std::move(gpus);
  r.begin = q.daemon().now() + from_minutes(from_min);
  r.end = r.begin + from_minutes(for_min);
  r.users = std::move(users);
  return q.daemon().reservations().add(std::move(r), 0);
}

JobStatus state_of(Queue& q, QueueId id) { return q.daemon().state().book.status_of(id); }

void whole_gpu(JobSpec& spec) {
  spec.min_slices = 7;
  spec.mem_mib = 30'000;
}

TEST(DaemonReservations, AJobThatWouldRunIntoTheWindowIsNotStartedThere) {
  Queue q("1xa100-40gb");
  const UnixTime start = q.daemon().now();
  ASSERT_TRUE(reserve(q, "course", {0}, 60, 30));
  const auto too_long = q.submit(q.bob, 90, whole_gpu), fits = q.submit(q.bob, 20, whole_gpu);
  q.run(50);
  EXPECT_EQ(state_of(q, too_long), JobStatus::kQueued);
  EXPECT_EQ(state_of(q, fits), JobStatus::kDone) << "the time before the window is used";
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.bob, number(too_long)); });
  ASSERT_TRUE(why) << why.error().what;
  EXPECT_EQ((*why)["code"], "gpus_reserved");
  EXPECT_NE((*why)["sentence"].get<std::string>().find("GPU 0 is reserved for 1001 from "), std::string::npos)
      << (*why)["sentence"];
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.bob, number(too_long)); });
  ASSERT_TRUE(eta) << eta.error().what;
  q.run();
  const JobRecord ended = q.ended(too_long);
  EXPECT_GE(ended.times.first_started, minutes_from(start, 90));
  EXPECT_LE(ended.times.first_started, minutes_from(start, 91));
  EXPECT_NEAR((*eta)["expected_start_at"].get<double>(), unix_seconds(ended.times.first_started), 30);
}

TEST(DaemonReservations, JobsOfTheReservationRunThereAndThenAlone) {
  Queue q("2xa100-40gb");
  const UnixTime start = q.daemon().now();
  ASSERT_TRUE(reserve(q, "course", {1}, 30, 60));
  const auto mine = q.submit(q.alice, 10, [](JobSpec& s) { s.reservation = "course"; });
  std::vector<QueueId> others;
  for (int i = 0; i < 6; ++i) others.push_back(q.submit(q.bob, 25, whole_gpu));
  q.run(20);
  EXPECT_EQ(state_of(q, mine), JobStatus::kHeld);
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(mine)); });
  EXPECT_EQ((*why)["code"], "held_reservation") << why->dump();
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(mine)); });
  ASSERT_TRUE(eta) << eta.error().what;
  EXPECT_NEAR((*eta)["expected_start_at"].get<double>(), unix_seconds(minutes_from(start, 30)), 60);
  q.run();
  const JobRecord ended = q.ended(mine);
  EXPECT_EQ(ended.place.gpu, 1);
  EXPECT_GE(ended.times.first_started, minutes_from(start, 30));
  EXPECT_LE(ended.times.first_started, minutes_from(start, 31));
  for (const QueueId id : others) {
    const JobRecord other = q.ended(id);
    if (other.place.gpu != 1) continue;
    EXPECT_TRUE(other.times.ended <= minutes_from(start, 31) || other.times.first_started >= minutes_from(start, 90))
        << "job " << number(id) << " was on the reserved GPU";
  }
}

TEST(DaemonReservations, SubmitNeedsAReservationThatLetsItsUserIn) {
  Queue q;
  ASSERT_TRUE(reserve(q, "course", {0}, 30, 60));
  const auto refused = [&](const Caller& who, const std::string& name) {
    JobSpec spec;
    spec.command = {"train"};
    spec.directory = "/";
    spec.reservation = name;
    const auto ids = q.daemon().jobs().submit(who, {spec}, q.warnings);
    return ids ? std::string() : ids.error().what;
  };
  EXPECT_EQ(refused(q.bob, "course"), "reservation course is for 1001");
  EXPECT_EQ(refused(q.alice, "lecture"), "reservation lecture does not exist; smartmig reserve list shows all");
  EXPECT_EQ(refused(q.alice, "course"), "");
}

TEST(DaemonReservations, TheyDoNotOverlap) {
  Queue q("2xa100-40gb");
  ASSERT_TRUE(reserve(q, "course", {0}, 30, 60));
  EXPECT_FALSE(reserve(q, "course", {1}, 30, 60)) << "one name";
  EXPECT_FALSE(reserve(q, "other", {0, 1}, 80, 60)) << "one time";
  EXPECT_TRUE(reserve(q, "next", {0}, 90, 60));
  EXPECT_FALSE(reserve(q, "none", {2}, 0, 60)) << "no such GPU";
  GpuReservation any;
  any.name = "any";
  any.begin = q.daemon().now() + from_minutes(40);
  any.end = any.begin + from_minutes(10);
  EXPECT_FALSE(q.daemon().reservations().add(any, 2)) << "one of two is taken";
  ASSERT_TRUE(q.daemon().reservations().add(any, 1));
  EXPECT_EQ(q.daemon().state().reservations.find("any")->gpus, std::vector<int>{1});
}

TEST(DaemonReservations, TheyOutliveTheDaemonAndTheirJobsAreHeldWhenTheyEnd) {
  Queue q("1xa100-40gb");
  const UnixTime start = q.daemon().now();
  ASSERT_TRUE(reserve(q, "course", {0}, 60, 30));
  const auto others = q.submit(q.bob, 90, whole_gpu);
  const auto first = q.submit(q.alice, 25, [](JobSpec& s) {
    whole_gpu(s);
    s.reservation = "course";
  });
  const auto second = q.submit(q.alice, 25, [](JobSpec& s) {
    whole_gpu(s);
    s.reservation = "course";
    s.deadline = from_unix_us(4'000'000'000'000'000);
  });
  const auto third = q.submit(q.alice, 25, [](JobSpec& s) {
    whole_gpu(s);
    s.reservation = "course";
  });
  q.run(10);
  q.host.reset();
  q.open("1xa100-40gb");
  ASSERT_NE(q.daemon().state().reservations.find("course"), nullptr);
  q.run(115);
  EXPECT_GE(q.daemon().state().book.status_of(others), JobStatus::kStarting);
  int done = 0, held = 0;
  QueueId left = kNoId;
  for (const QueueId id : {first, second, third}) {
    done += state_of(q, id) == JobStatus::kDone;
    if (state_of(q, id) == JobStatus::kHeld) {
      ++held;
      left = id;
    }
  }
  EXPECT_EQ(done, 2) << "one after the other, the second beyond the end";
  ASSERT_EQ(held, 1);
  EXPECT_EQ(
      q.daemon().live_jobs().at(left).reason,
      fmt::format(
          "has lost its reservation: course has ended or was removed; smartmig release {} lets it run without one",
          number(left)));
  EXPECT_TRUE(q.daemon().state().reservations.all().empty());
  ASSERT_TRUE(q.daemon().jobs().release(left, false));
  q.run();
  EXPECT_EQ(state_of(q, left), JobStatus::kDone);
  EXPECT_GE(q.ended(others).times.first_started, minutes_from(start, 90));
}

TEST(DaemonReservations, WhatRunsWhenAWindowBeginsRunsOnAndIsSaid) {
  Queue q("1xa100-40gb");
  const auto running = q.submit(q.bob, 60, whole_gpu);
  q.run(5);
  ASSERT_EQ(state_of(q, running), JobStatus::kRunning);
  ASSERT_TRUE(reserve(q, "course", {0}, 10, 20));
  q.run(15);
  EXPECT_EQ(state_of(q, running), JobStatus::kRunning);
  const auto list = answered<Json>(q, [&](DaemonService& s) { return s.reservations(q.bob); });
  ASSERT_TRUE(list);
  EXPECT_EQ((*list)["reservations"][0]["still_running"], Json::array({number(running)})) << list->dump();
  EXPECT_EQ((*list)["reservations"][0]["active"], true);
  const auto lines = answered<Service::Lines>(q, [&](DaemonService& s) { return s.events(q.bob, 0, 10'000, 0); });
  ASSERT_TRUE(lines);
  bool said = false;
  for (const auto& [at, line] : lines->lines)
    said |= line.find("reservation_begins") != line.npos &&
            line.find(fmt::format("\"still_running\":[{}]", number(running))) != line.npos;
  EXPECT_TRUE(said);
}

TEST(DaemonReservations, OfSeveralGpusTheOthersGoOn) {
  Queue q("4xa100-40gb");
  const UnixTime start = q.daemon().now();
  ASSERT_TRUE(reserve(q, "course", {2, 3}, 30, 60));
  std::vector<QueueId> long_ones, short_ones;
  for (int i = 0; i < 4; ++i) long_ones.push_back(q.submit(q.bob, 120, whole_gpu));
  for (int i = 0; i < 4; ++i) short_ones.push_back(q.submit(q.bob, 10, whole_gpu));
  q.run();
  int early = 0;
  for (const QueueId id : long_ones) {
    const JobRecord job = q.ended(id);
    early += job.times.first_started < minutes_from(start, 30);
    if (job.place.gpu >= 2) EXPECT_GE(job.times.first_started, minutes_from(start, 90));
  }
  EXPECT_EQ(early, 2) << "two GPUs are open to long jobs";
  for (const QueueId id : short_ones)
    EXPECT_LE(q.ended(id).times.ended, minutes_from(start, 30)) << "short ones fill the time before the window";
}

}  // namespace
}  // namespace smartmig
