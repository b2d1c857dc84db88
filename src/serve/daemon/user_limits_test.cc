// What one user may cost the others: bytes of the store, the owner's time, the way of long requests.
#include <chrono>
#include <ctime>

#include "serve/attempts/job_launch.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using J = Service::Json;

constexpr int kMany = 5'000;

std::vector<int> tasks(int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

// Answers a question in steps, and gives the largest number of jobs that left the queue in one of them.
std::size_t largest_step(Queue& q, std::function<Result<J>(DaemonService&)> question) {
  std::size_t most = 0;
  auto answer = std::async(std::launch::async, [&] { return question(q.host->service()); });
  while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    const std::size_t before = q.daemon().live_jobs().size();
    q.daemon().step();
    most = std::max(most, before - std::min(before, q.daemon().live_jobs().size()));
  }
  const auto result = answer.get();
  EXPECT_TRUE(result) << result.error().what;
  return most;
}

// A step takes in so many tasks of an array.
void let_all_in(Queue& q) {
  do q.daemon().step();
  while (!q.daemon().jobs().unfolding().empty());
}

TEST(DaemonUserLimits, AnArrayHasOneEnvironment) {
  Queue q;
  const auto id = q.submit(q.alice, 10, [](JobSpec& s) {
    s.array = tasks(1'200);
    for (int i = 0; i < 10; ++i) s.environment.push_back(fmt::format("V{}={}", i, std::string(100'000, 'v')));
  });
  let_all_in(q);
  EXPECT_LT(q.host->store().bytes(), std::uint64_t(8) << 20);
  for (const auto& [each, job] : q.daemon().live_jobs()) {
    EXPECT_EQ(job.launch.id, number(id));
    EXPECT_TRUE(job.spec.environment.empty());
  }
  q.host.reset();  // the next daemon finds them so
  q.open("1xa100-40gb");
  EXPECT_EQ(q.daemon().live_jobs().size(), 1'200u);
  EXPECT_GT(q.daemon().state().book.bytes_of_user(1001), 1'000'000u);
  EXPECT_LT(q.daemon().state().book.bytes_of_user(1001), 3'000'000u);
}

TEST(DaemonUserLimits, AnArrayHasOneLongCommand) {
  constexpr int kTasks = 130, kArguments = 19;
  constexpr std::size_t kArgument = 100'000;
  Queue q;
  q.daemon().pause(true);
  J array = J::array();
  for (int i = 0; i < kTasks; ++i) array.push_back(i);
  std::vector<std::string> command = {"train"};
  for (int i = 0; i < kArguments; ++i) command.push_back(std::to_string(i) + std::string(kArgument, 'x'));
  const J body = {{"command", command}, {"directory", "/"}, {"array", array}};
  const auto answer = answered<J>(q, [&](DaemonService& s) { return s.submit(q.alice, body, {}); });
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ((*answer)["jobs"].size(), std::size_t(kTasks));
  EXPECT_LT(answer->dump().size(), 1'000'000u);
  for (int daemons = 0; daemons < 2; ++daemons) {
    EXPECT_LT(q.host->store().bytes(), std::uint64_t(10) << 20);
    EXPECT_LT(q.daemon().state().book.bytes_of_user(1001), 3'000'000u);
    EXPECT_GT(q.daemon().state().book.bytes_of_user(1001), kArguments * kArgument);
    ASSERT_EQ(q.daemon().live_jobs().size(), std::size_t(kTasks));
    for (const auto& [id, job] : q.daemon().live_jobs()) {
      EXPECT_LE(bytes_of_command(job.spec), kLongCommand);
      const auto launch = launch_of_job(job, q.daemon().state().book);
      ASSERT_TRUE(launch) << launch.error().what;
      EXPECT_TRUE(launch->spec.command == command);
    }
    const auto list = answered<J>(q, [&](DaemonService& s) { return s.jobs(q.alice, {}); });
    ASSERT_TRUE(list);
    EXPECT_EQ((*list)["jobs"].size(), std::size_t(kTasks));
    EXPECT_LT(list->dump().size(), 1'000'000u);
    EXPECT_EQ((*list)["jobs"][0]["command"][0], "train");
    const auto shown =
        answered<J>(q, [&](DaemonService& s) { return s.job(q.alice, (*answer)["ids"][5].get<std::uint64_t>()); });
    ASSERT_TRUE(shown);
    EXPECT_TRUE((*shown)["command"] == J(command)) << "show has it whole";
    EXPECT_TRUE((*shown)["spec"]["command"] == J(command));
    q.host.reset();
    q.open("1xa100-40gb");
  }
}

TEST(DaemonUserLimits, WhatNoProgramCanBeGivenIsRefused) {
  Queue q;
  const auto refused = [&](const std::function<void(JobSpec&)>& change) {
    JobSpec spec;
    spec.command = {"train"};
    spec.directory = "/";
    change(spec);
    const auto ids = q.daemon().jobs().submit(q.alice, {spec}, q.warnings);
    return ids ? std::string() : ids.error().what;
  };
  EXPECT_EQ(refused([](JobSpec& s) { s.environment = {"A=" + std::string(131'069, 'x')}; }), "");
  EXPECT_NE(refused([](JobSpec& s) { s.environment = {"A=" + std::string(131'070, 'x')}; }).find("the variable A has"),
            std::string::npos);
  EXPECT_NE(refused([](JobSpec& s) { s.command.push_back(std::string(131'072, 'x')); }).find("an argument has"),
            std::string::npos);
  EXPECT_NE(refused([](JobSpec& s) {
              for (int i = 0; i < 20; ++i) s.environment.push_back(fmt::format("V{}={}", i, std::string(110'000, 'v')));
            }).find("command and environment have"),
            std::string::npos);
  EXPECT_NE(refused([](JobSpec& s) { s.command.resize(1 + 30'000, std::string(60, 'x')); }), "");
}

TEST(DaemonUserLimits, BytesOfOneUserAreLimitedAndThoseOfEndedJobsGo) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.limits.user_store_mib = 1; });
  const auto large = [](JobSpec& s) {
    for (int i = 0; i < 6; ++i) s.environment.push_back(fmt::format("V{}={}", i, std::string(100'000, 'v')));
  };
  const auto first = q.submit(q.alice, 1, large);
  JobSpec second;
  second.command = {"train"};
  second.directory = "/";
  large(second);
  const auto refused = q.daemon().jobs().submit(q.alice, {second}, q.warnings);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy);
  EXPECT_NE(refused.error().what.find("the limit is 1 (limits.user_store)"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(q.daemon().jobs().submit(q.bob, {second}, q.warnings)) << "another user has room";
  q.run();
  ASSERT_EQ(q.ended(first).status, JobStatus::kDone);
  const auto then = q.submit(q.alice, 1, large);
  q.run();
  EXPECT_EQ(q.ended(then).status, JobStatus::kDone);
  const auto again = q.daemon().jobs().requeue(first, false);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().what.find("has been removed"), std::string::npos) << again.error().what;
  EXPECT_TRUE(q.daemon().jobs().requeue(then, false));
}

TEST(DaemonUserLimits, ManyJobsOfOneNameAreCancelledInManySteps) {
  Queue q;
  q.daemon().pause(true);
  q.submit(q.alice, 10, [](JobSpec& s) { s.array = tasks(kMany); });
  let_all_in(q);
  const std::size_t most = largest_step(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kCancel, {{"all", true}});
  });
  EXPECT_TRUE(q.daemon().live_jobs().empty());
  EXPECT_LT(most, std::size_t(kMany)) << "others would have waited for all of them";
}

// CPU time of the owner's steps, for jobs of one name.
double cancel_s(int count) {
  Queue q;
  q.daemon().pause(true);
  q.submit(q.alice, 10, [&](JobSpec& s) { s.array = tasks(count); });
  let_all_in(q);
  timespec before{}, after{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  largest_step(q, [&](DaemonService& s) { return s.change_jobs(q.alice, JobVerb::kCancel, {{"all", true}}); });
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  EXPECT_TRUE(q.daemon().live_jobs().empty());
  return double(after.tv_sec - before.tv_sec) + 1e-9 * double(after.tv_nsec - before.tv_nsec);
}

TEST(DaemonUserLimits, FourTimesTheJobsOfOneNameTakeNoMoreThanSomeFourTimesTheTimeToCancel) {
  const double few = cancel_s(2'000), many = cancel_s(8'000);
  EXPECT_LT(many, 9 * few) << "quadratic would be 16 times: " << few << " s and " << many << " s";
}

TEST(DaemonUserLimits, ALongChainOfDependentsEndsInManySteps) {
  Queue q;
  q.daemon().pause(true);
  const auto first = q.submit(q.alice, 10);
  QueueId last = first;
  for (int i = 0; i < kMany; ++i)
    last = q.submit(q.alice, 10, [&](JobSpec& s) { s.dependencies = {{Dependency::kAfterOk, number(last)}}; });
  q.daemon().step();
  EXPECT_TRUE(q.daemon().jobs().cancel(first, "cancelled by its owner"));
  std::size_t most = 0;
  while (!q.daemon().live_jobs().empty()) {
    const std::size_t before = q.daemon().live_jobs().size();
    ASSERT_LE(q.daemon().next_due(), q.daemon().now());
    q.daemon().step();
    ASSERT_LT(q.daemon().live_jobs().size(), before);
    most = std::max(most, before - q.daemon().live_jobs().size());
  }
  EXPECT_LE(most, 1'001u);
  EXPECT_EQ(q.ended(last).reason, fmt::format("its dependency cannot be met: job {} is cancelled", number(last) - 1));
}

TEST(DaemonUserLimits, ASingletonWaitsForTheOneBeforeIt) {
  Queue q;
  q.daemon().pause(true);
  std::vector<QueueId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(q.submit(q.alice, 10, [](JobSpec& s) { s.singleton = true; }));
  q.daemon().step();
  const auto reason = [&](int i) { return q.daemon().live_jobs().at(ids[std::size_t(i)]).reason; };
  EXPECT_EQ(reason(3), fmt::format("waits for job {} of the same name", ids[2]));
  EXPECT_TRUE(q.daemon().jobs().cancel(ids[2], "cancelled by its owner"));
  EXPECT_EQ(reason(3), fmt::format("waits for job {} of the same name", ids[1]));
  EXPECT_TRUE(q.daemon().jobs().cancel(ids[0], "cancelled by its owner"));
  EXPECT_EQ(q.daemon().live_jobs().at(ids[1]).status, JobStatus::kQueued);
  EXPECT_EQ(q.daemon().live_jobs().at(ids[3]).status, JobStatus::kHeld);
}

TEST(DaemonUserLimits, ToTheFrontIsAboveTheHighestThatWaits) {
  Queue q;
  q.daemon().pause(true);
  const Caller root{0, 0, true};
  const auto first = q.submit(root, 10, [](JobSpec& s) { s.priority = 7; });
  const auto held = q.submit(root, 10, [](JobSpec& s) { s.priority = 9, s.hold = true; });
  const auto third = q.submit(root, 10);
  EXPECT_TRUE(q.daemon().jobs().to_front(third));
  EXPECT_EQ(q.daemon().live_jobs().at(third).spec.priority, 10) << "held ones count";
  EXPECT_TRUE(q.daemon().jobs().to_front(third));
  EXPECT_EQ(q.daemon().live_jobs().at(third).spec.priority, 10) << "it is there already";
  EXPECT_TRUE(q.daemon().jobs().to_front(first));
  EXPECT_EQ(q.daemon().live_jobs().at(first).spec.priority, 11);
  (void)held;
}

TEST(DaemonUserLimits, EndedJobsAreListedInFewSteps) {
  Queue q;
  q.daemon().pause(true);
  q.submit(q.alice, 10, [](JobSpec& s) { s.array = tasks(1'000); });
  let_all_in(q);
  ASSERT_TRUE(answered<J>(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kCancel, {{"all", true}});
  }));
  // Each step here answers one question at most, and comes when one waits.
  int steps = 0;
  auto answer = std::async(std::launch::async, [&] { return q.host->service().jobs(q.alice, {}); });
  while (answer.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    q.daemon().step();
    ++steps;
  }
  const auto list = answer.get();
  ASSERT_TRUE(list) << list.error().what;
  EXPECT_EQ((*list)["jobs"].size(), 1'000u);
  EXPECT_LT(steps, 100) << "not one for each job";
}

}  // namespace
}  // namespace smartmig
