// Orders about jobs: hold, release, front, suspend, continue, update; which jobs they mean, and who may give them.
#include <sqlite3.h>

#include "serve/api/daemon_service.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using J = Service::Json;

const Caller kRoot{0, 0, true};

Result<J> order(Queue& q, const Caller& who, JobVerb verb, const J& body) {
  return answered<J>(q, [&](DaemonService& s) { return s.change_jobs(who, verb, body); });
}
J jobs_by(std::initializer_list<QueueId> list) {
  J out = J::array();
  for (const QueueId id : list) out.push_back(number(id));
  return {{"ids", out}};
}
// The message of the only refusal; "" where all was done.
std::string refusal_in(const Result<J>& answer) {
  if (!answer) return answer.error().what;
  return (*answer)["refused"].empty() ? "" : (*answer)["refused"][0]["message"].get<std::string>();
}
const JobRecord& live(Queue& q, QueueId id) { return q.daemon().live_jobs().at(id); }

TEST(DaemonOrders, AHeldJobWaitsUntilItIsReleased) {
  Queue q;
  q.daemon().pause(true);
  const auto mine = q.submit(q.alice, 2), other = q.submit(q.alice, 2);
  EXPECT_NE(refusal_in(order(q, q.bob, JobVerb::kHold, jobs_by({mine}))).find("belongs to another"), std::string::npos);
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kHold, jobs_by({mine}))), "");
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kHold, jobs_by({other}))), "");
  q.daemon().pause(false);
  q.run(60);
  EXPECT_EQ(live(q, mine).status, JobStatus::kHeld);
  const auto why = answered<J>(q, [&](DaemonService& s) { return s.why(q.alice, number(mine)); });
  EXPECT_EQ((*why)["code"], "held_by_owner") << why->dump();
  q.host.reset();  // it is on the disk
  q.open("1xa100-40gb");
  q.run(60);
  EXPECT_EQ(live(q, mine).status, JobStatus::kHeld);
  EXPECT_NE(refusal_in(order(q, q.alice, JobVerb::kRelease, jobs_by({other}))).find("operator"), std::string::npos);
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kRelease, jobs_by({mine}))), "");
  EXPECT_NE(refusal_in(order(q, q.alice, JobVerb::kRelease, jobs_by({mine}))).find("not held"), std::string::npos);
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kRelease, jobs_by({other}))), "");
  q.run();
  EXPECT_EQ(q.ended(mine).status, JobStatus::kDone);
  EXPECT_EQ(q.ended(other).status, JobStatus::kDone);
}

TEST(DaemonOrders, TheFrontIsTheOperatorsAndComesFirst) {
  Queue q;
  q.daemon().pause(true);
  std::vector<QueueId> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(q.submit(q.alice, 10, [](JobSpec& s) { s.min_slices = 7; }));
  EXPECT_EQ(order(q, q.alice, JobVerb::kFront, jobs_by({jobs[3]})).error().code, Error::kNoPermission);
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kFront, jobs_by({jobs[2]}))), "");
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kFront, jobs_by({jobs[3]}))), "");
  q.daemon().pause(false);
  q.run();
  EXPECT_LT(q.ended(jobs[3]).times.started, q.ended(jobs[2]).times.started);
  EXPECT_LT(q.ended(jobs[2]).times.started, q.ended(jobs[0]).times.started);
}

TEST(DaemonOrders, ASuspendedJobKeepsItsSliceAndItsTime) {
  Queue q;
  const auto job = q.submit(q.alice, 10, [](JobSpec& s) { s.min_slices = 7; });
  q.run(2);
  ASSERT_EQ(live(q, job).status, JobStatus::kRunning);
  const UnixTime began = live(q, job).times.started;
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kSuspend, jobs_by({job}))), "");
  const auto next = q.submit(q.alice, 1, [](JobSpec& s) { s.min_slices = 7; });
  q.run(120);
  EXPECT_EQ(live(q, job).status, JobStatus::kRunning);
  EXPECT_TRUE(live(q, job).suspended);
  EXPECT_EQ(live(q, next).status, JobStatus::kQueued) << "the slice is held";
  EXPECT_EQ(live(q, job).counts.overruns, 0) << "nobody expects its end";
  const auto shown = answered<J>(q, [&](DaemonService& s) { return s.job(q.alice, number(job)); });
  EXPECT_EQ((*shown)["suspended"], true);
  EXPECT_TRUE((*shown)["expected_finish_at"].is_null());
  EXPECT_NE(refusal_in(order(q, q.alice, JobVerb::kContinue, jobs_by({next}))).find("not suspended"),
            std::string::npos);
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kContinue, jobs_by({job}))), "");
  q.run();
  EXPECT_EQ(q.ended(job).status, JobStatus::kDone);
  EXPECT_GE(q.ended(job).times.ended - began, from_minutes(129));
  EXPECT_LE(q.ended(job).times.ended - began, from_minutes(132)) << "what it had left, and no more";
  EXPECT_EQ(q.ended(next).status, JobStatus::kDone);
}

TEST(DaemonOrders, ASuspendedJobCanBeCancelled) {
  Queue q;
  const auto job = q.submit(q.alice, 10);
  q.run(1);
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kSuspend, jobs_by({job}))), "");
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kSuspend, jobs_by({job}))), "") << "once more is the same";
  q.run(5);
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kCancel, jobs_by({job}))), "");
  q.run();
  EXPECT_EQ(q.ended(job).status, JobStatus::kCancelled);
}

TEST(DaemonOrders, AnUpdateChangesWhatAWaitingJobAsksFor) {
  Queue q;
  q.daemon().pause(true);
  const auto job = q.submit(q.alice, 10);
  const auto update = [&](const Caller& who, QueueId id, const J& set) {
    J body = jobs_by({id});
    body["set"] = set;
    return refusal_in(order(q, who, JobVerb::kUpdate, body));
  };
  EXPECT_EQ(
      update(q.alice, job,
             {{"deadline_s", 600}, {"mem_mib", 9000}, {"time_limit_s", 60}, {"estimate_s", 120}, {"priority", -3}}),
      "");
  EXPECT_EQ(live(q, job).spec.deadline, q.daemon().now() + from_seconds(600));
  EXPECT_EQ(live(q, job).memory.mib, 9000);
  EXPECT_EQ(live(q, job).spec.time_limit, from_seconds(60));
  EXPECT_EQ(live(q, job).work.estimate, from_seconds(120));
  EXPECT_EQ(live(q, job).spec.priority, -3);
  EXPECT_EQ(update(q.alice, job, {{"deadline_at", nullptr}, {"mem_mib", nullptr}}), "");
  EXPECT_FALSE(live(q, job).spec.deadline);
  EXPECT_FALSE(live(q, job).spec.mem_mib);
  EXPECT_NE(update(q.alice, job, {{"priority", 5}}).find("only root"), std::string::npos);
  EXPECT_EQ(update(kRoot, job, {{"priority", 5}}), "");
  EXPECT_NE(update(q.alice, job, {{"mem_mib", 900000}}).find("the largest slice"), std::string::npos);
  EXPECT_NE(update(q.alice, job, {{"command", {"rm"}}}).find("command is not a key"), std::string::npos);
  EXPECT_NE(update(q.bob, job, {{"priority", -5}}).find("belongs to another"), std::string::npos);
  q.host.reset();  // the new spec is on the disk
  q.open("1xa100-40gb");
  EXPECT_EQ(live(q, job).spec.priority, 5);
  EXPECT_EQ(live(q, job).spec.time_limit, from_seconds(60));
  EXPECT_EQ(live(q, job).spec.command, std::vector<std::string>{"train"});
  q.daemon().pause(false);
  q.run(1);
  ASSERT_EQ(live(q, job).status, JobStatus::kRunning);
  EXPECT_NE(update(q.alice, job, {{"mem_mib", 100}}).find("only its deadline and priority can change"),
            std::string::npos);
  EXPECT_EQ(update(q.alice, job, {{"deadline_s", 60}}), "");
}

TEST(DaemonOrders, JobsAreMeantByUserNameAndState) {
  Queue q;
  q.daemon().pause(true);
  const auto named = [](const char* name) { return [name](JobSpec& s) { s.name = name; }; };
  const auto a = q.submit(q.alice, 1, named("sweep")), b = q.submit(q.alice, 1, named("sweep")),
             c = q.submit(q.alice, 1, named("train")), d = q.submit(q.bob, 1, named("sweep"));
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kHold, jobs_by({b}))), "");
  auto answer = order(q, q.alice, JobVerb::kCancel, {{"name", "sweep"}, {"state", "queued"}});
  ASSERT_EQ((*answer)["jobs"].size(), 1u) << answer->dump();
  EXPECT_EQ((*answer)["jobs"][0]["id"], number(a)) << "not the held one, and not another user's";
  EXPECT_EQ(order(q, q.alice, JobVerb::kCancel, {{"user", "1002"}}).error().code, Error::kNoPermission);
  EXPECT_EQ(order(q, q.alice, JobVerb::kCancel, {{"everyone", true}}).error().code, Error::kNoPermission);
  EXPECT_EQ(order(q, q.alice, JobVerb::kCancel, {{"state", "asleep"}}).error().code, Error::kInvalid);
  EXPECT_EQ((*order(q, kRoot, JobVerb::kCancel, {{"user", "1002"}}))["jobs"][0]["id"], number(d));
  EXPECT_EQ((*order(q, kRoot, JobVerb::kCancel, {{"everyone", true}}))["jobs"].size(), 2u) << number(c);
  answer = order(q, q.alice, JobVerb::kRequeue, {{"state", "cancelled"}, {"name", "sweep"}});
  ASSERT_EQ((*answer)["jobs"].size(), 2u) << "ended ones are looked for in the store";
  const double later = unix_seconds(q.daemon().now()) + 60;
  EXPECT_EQ(
      (*order(q, kRoot, JobVerb::kRequeue, {{"state", "cancelled"}, {"everyone", true}, {"since_at", later}}))["jobs"]
          .size(),
      0u);
}

TEST(DaemonOrders, AGroupRunsNoMoreThanItsLimit) {
  Queue q("2xa100-40gb");
  const auto set = [&](const Caller& who, int limit) {
    return answered<J>(q, [&](DaemonService& s) { return s.set_group(who, {{"name", "big"}, {"limit", limit}}); });
  };
  EXPECT_EQ(set(q.alice, 2).error().code, Error::kNoPermission);
  ASSERT_TRUE(set(kRoot, 2));
  q.host.reset();
  q.open("2xa100-40gb");  // the limit is on the disk
  for (int i = 0; i < 8; ++i)
    q.submit(i % 2 ? q.alice : q.bob, 3, [](JobSpec& s) {
      s.group = "big";
      s.mem_mib = 1000;
    });
  const auto free = q.submit(q.alice, 3, [](JobSpec& s) { s.mem_mib = 1000; });
  EXPECT_TRUE(q.warnings.empty());
  int most = 0;
  bool full = false;
  q.daemon().step();
  while (!q.daemon().live_jobs().empty()) {
    int running = 0;
    for (const auto& [id, job] : q.daemon().live_jobs()) running += job.status == JobStatus::kRunning && id != free;
    most = std::max(most, running);
    if (running == 2 && !full) {
      full = true;
      for (const auto& [id, job] : q.daemon().live_jobs())
        if (job.status == JobStatus::kQueued && id != free) {
          const auto why = answered<J>(q, [id = number(id)](DaemonService& s) { return s.why(kRoot, id); });
          EXPECT_EQ((*why)["code"], "held_group_limit") << why->dump();
          break;
        }
    }
    q.host->clock().wait_until(q.daemon().next_due());
    q.daemon().step();
  }
  EXPECT_LE(most, 2);
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 9u);
}

TEST(DaemonOrders, UsageAddsUpWhatEnded) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.prices.energy_per_kwh = 0.3; });
  q.submit(q.alice, 10, [](JobSpec& s) { s.kind = "bert-infer"; });
  q.submit(q.alice, 5);
  q.submit(q.bob, 5);
  q.run();
  q.host->clock().wait_until(q.daemon().now() + from_seconds(60));
  q.daemon().step();
  const auto usage = [&](const UsageQuery& query) {
    return answered<J>(q, [&](DaemonService& s) { return s.usage(q.bob, query); }).value();
  };
  const J by_user = usage({"user", {}, 0, INT64_MAX});
  ASSERT_EQ(by_user["rows"].size(), 2u) << by_user.dump();
  EXPECT_EQ(by_user["rows"][0]["jobs"], 2);
  EXPECT_EQ(by_user["rows"][0]["done"], 2);
  double joules = 0;
  for (const J& row : by_user["rows"]) joules += row["energy_j"].get<double>();
  double stored = 0;
  for (const int id : {1, 2, 3}) stored += q.ended(QueueId(id)).energy.joules;
  EXPECT_NEAR(joules, stored, 0.01);
  EXPECT_NEAR(by_user["total"]["cost"].get<double>(), 0.3 * joules / 3.6e6, 1e-9);
  EXPECT_GT(by_user["total"]["slice_s"].get<double>(), 20 * 60);
  const J by_kind = usage({"kind", {}, 0, INT64_MAX});
  ASSERT_EQ(by_kind["rows"].size(), 2u);
  EXPECT_EQ(by_kind["rows"][1]["key"], "bert-infer");
  EXPECT_EQ(usage({"day", 1002, 0, INT64_MAX})["total"]["jobs"], 1);
  EXPECT_EQ(usage({"day", {}, std::int64_t(unix_seconds(q.daemon().now())) + 60, INT64_MAX})["rows"].size(), 0u);
}

TEST(DaemonOrders, UsageCountsTheSlicesOfAllAttempts) {
  Queue q;
  const auto id = q.submit(q.alice, 10, [](JobSpec& s) { s.min_slices = 7; });
  q.run(8);
  ASSERT_TRUE(q.daemon().jobs().requeue(id));
  q.run();
  q.daemon().step();
  const auto usage = [&] {
    return answered<J>(q,
                       [&](DaemonService& s) {
                         return s.usage(q.alice, {"user", {}, 0, INT64_MAX});
                       })
        .value()["total"]["slice_s"]
        .get<double>();
  };
  EXPECT_NEAR(usage(), 7 * 60 * (8 + 10), 7 * 60) << "the attempt that was stopped, and the last one";
  ASSERT_TRUE(q.daemon().jobs().requeue(id));
  q.run();
  q.daemon().step();
  EXPECT_NEAR(usage(), 7 * 60 * (8 + 10 + 10), 7 * 60) << "and one after its end";
}

TEST(DaemonOrders, TheOperatorSubmitsForAnother) {
  Queue q;
  const J spec = {{"command", {"x"}}, {"directory", "/"}};
  const auto submit = [&](const Caller& who, std::optional<std::uint32_t> owner) {
    return answered<J>(q, [&](DaemonService& s) { return s.submit(who, spec, owner); });
  };
  EXPECT_EQ(submit(q.alice, 0).error().code, Error::kNoPermission);
  EXPECT_EQ(submit(kRoot, 4'000'000'001).error().code, Error::kNotFound);
  const auto job = submit(kRoot, 1);  // "daemon" on every machine
  ASSERT_TRUE(job) << job.error().what;
  EXPECT_EQ((*job)["jobs"][0]["uid"], 1);
}

TEST(DaemonOrders, AnOperatorsHoldOutlivesCancelAndRequeueByTheOwner) {
  Queue q;
  q.daemon().pause(true);
  const auto job = q.submit(q.alice, 2), own = q.submit(q.alice, 2);
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kHold, jobs_by({job}))), "");
  EXPECT_EQ(refusal_in(order(q, q.alice, JobVerb::kHold, jobs_by({own}))), "");
  q.daemon().pause(false);
  for (const QueueId id : {job, own}) {
    ASSERT_TRUE(q.daemon().jobs().cancel(id, "by its owner"));
    q.daemon().step();
    ASSERT_TRUE(q.daemon().jobs().requeue(id, false));
  }
  q.run(60);
  EXPECT_EQ(q.ended(own).status, JobStatus::kDone) << "an owner's own hold ends with the job";
  EXPECT_EQ(live(q, job).status, JobStatus::kHeld);
  EXPECT_EQ(live(q, job).held_by, HeldBy::kOperator);
  EXPECT_EQ(refusal_in(order(q, kRoot, JobVerb::kRelease, jobs_by({job}))), "");
  q.run();
  EXPECT_EQ(q.ended(job).status, JobStatus::kDone);
}

TEST(DaemonOrders, NothingIsCancelledThatCannotBeStored) {
  Queue q;
  q.daemon().pause(true);
  const auto job = q.submit(q.alice, 2), other = q.submit(q.alice, 2);
  q.daemon().step();
  sqlite3* lock = nullptr;
  ASSERT_EQ(sqlite3_open((q.dir.path() + "/queue.db").c_str(), &lock), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(lock, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_TRUE(q.daemon().jobs().hold(other, false));
  q.daemon().step();  // its commit fails
  ASSERT_FALSE(q.daemon().state().book.disk_trouble().empty());
  const auto cancelled = q.daemon().jobs().cancel(job, "enough");
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, Error::kIo);
  EXPECT_EQ(cancelled.error().what.rfind("nothing was changed", 0), 0u) << cancelled.error().what;
  EXPECT_EQ(live(q, job).status, JobStatus::kQueued);
  sqlite3_exec(lock, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(lock);
  q.daemon().step();
  ASSERT_TRUE(q.daemon().jobs().cancel(job, "enough"));
  q.daemon().step();
  EXPECT_EQ(q.ended(job).status, JobStatus::kCancelled);
}

// An order that is the first to meet a store that takes nothing: what is answered with an error has not happened.
TEST(DaemonOrders, TheFirstOrderThatCannotBeStoredIsRefusedAndNotDone) {
  Queue q;
  q.daemon().pause(true);
  const auto job = q.submit(q.alice, 2);
  q.daemon().step();
  sqlite3* lock = nullptr;
  ASSERT_EQ(sqlite3_open((q.dir.path() + "/queue.db").c_str(), &lock), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(lock, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::vector<std::function<Result<J>(DaemonService&)>> orders = {
      [&](DaemonService& s) { return s.cancel(q.alice, number(job)); },
      [&](DaemonService& s) {
        return s.change_jobs(q.alice, JobVerb::kHold, {{"ids", {number(job)}}});
      }};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const auto answer = answered<J>(q, orders[i]);
    ASSERT_FALSE(answer) << i;
    EXPECT_EQ(answer.error().code, Error::kIo) << i;
    EXPECT_EQ(answer.error().what.rfind("nothing was changed", 0), 0u) << answer.error().what;
    EXPECT_EQ(live(q, job).status, JobStatus::kQueued) << i;
    EXPECT_TRUE(q.daemon().state().book.disk_trouble().empty()) << "nothing was tried before: " << i;
  }
  sqlite3_exec(lock, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(lock);
  const auto answer = answered<J>(q, orders[0]);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ((*answer)["state"], "cancelled");
}

// While nothing can be stored nothing is decided, so the policy hears late of what came and left meanwhile.
TEST(DaemonOrders, AJobThatIsReleasedAndHeldOnAFullDiskIsHeld) {
  Queue q;
  const auto job = q.submit(q.alice, 2), other = q.submit(q.alice, 2);
  ASSERT_TRUE(q.daemon().jobs().hold(job, false));
  ASSERT_TRUE(q.daemon().jobs().hold(other, false));
  q.daemon().step();
  sqlite3* lock = nullptr;
  ASSERT_EQ(sqlite3_open((q.dir.path() + "/queue.db").c_str(), &lock), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(lock, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_TRUE(q.daemon().jobs().release(other, false));
  q.daemon().step();  // its commit fails
  ASSERT_FALSE(q.daemon().state().book.disk_trouble().empty());
  ASSERT_TRUE(q.daemon().jobs().release(job, false));
  q.daemon().step();
  ASSERT_TRUE(q.daemon().jobs().hold(job, false));
  q.daemon().step();
  sqlite3_exec(lock, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(lock);
  q.daemon().step();
  EXPECT_EQ(live(q, job).status, JobStatus::kHeld);
}

TEST(DaemonOrders, ADependencyOnANumberThatNoJobCanHaveIsRefusedInWords) {
  Queue q;
  for (const std::uint64_t other : {kPhantoms + 1, kPhantoms, std::uint64_t(INT64_MAX)}) {
    JobSpec spec;
    spec.command = {"train"};
    spec.directory = "/";
    spec.dependencies = {{Dependency::kAfterAny, other}};
    const auto answer = q.daemon().jobs().submit(q.alice, {spec}, q.warnings);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Error::kInvalid);
    EXPECT_NE(answer.error().what.find("cannot exist"), std::string::npos) << answer.error().what;
  }
}

}  // namespace
}  // namespace smartmig
