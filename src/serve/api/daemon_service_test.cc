// What users and operators ask of a daemon, and the limits it keeps.
#include "serve/api/daemon_service.h"

#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;

TEST(Daemon, WhyEtaAndWhatifLookIntoTheFuture) {
  Queue q;
  q.submit(q.alice, 60, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto waits = q.submit(q.bob, 30, [&](JobSpec& s) {
    s.min_slices = 7;
    s.deadline = q.daemon().now() + from_minutes(40);
  });
  q.run(1);
  using J = Service::Json;
  const auto why = answered<J>(q, [&](DaemonService& s) { return s.why(q.bob, number(waits)); });
  ASSERT_TRUE(why) << why.error().what;
  EXPECT_EQ((*why)["code"], "slices_busy") << why->dump();
  EXPECT_GE((*why)["alternatives"].size(), 2u);
  const auto eta = answered<J>(q, [&](DaemonService& s) { return s.eta(q.bob, number(waits)); });
  ASSERT_TRUE(eta) << eta.error().what;
  const double start = (*eta)["start_at"]["p50"].get<double>();
  EXPECT_NEAR(start, unix_seconds(q.daemon().now()) + 58 * 60, 30 * 60) << eta->dump();
  EXPECT_LE((*eta)["start_at"]["p10"].get<double>(), start);
  EXPECT_LT((*eta)["on_time_ratio"].get<double>(), 0.5);
  const auto more = answered<J>(q, [&](DaemonService& s) { return s.whatif(q.bob, {{"add_gpus", "1xa100-40gb"}}); });
  ASSERT_TRUE(more) << more.error().what;
  EXPECT_LT((*more)["then"]["late_s"].get<double>(), (*more)["now"]["late_s"].get<double>());
  const auto job = answered<J>(q, [&](DaemonService& s) {
    return s.whatif(q.bob, {{"job", {{"command", {"x"}}, {"directory", "/"}, {"estimate_s", 60}}}});
  });
  ASSERT_TRUE(job) << job.error().what;
  EXPECT_EQ((*job)["jobs"].size(), 3u);
  EXPECT_FALSE(answered<J>(q, [&](DaemonService& s) { return s.whatif(q.bob, {{"polic", "x"}}); }));
  EXPECT_FALSE(answered<J>(q, [&](DaemonService& s) { return s.eta(q.bob, 999); }));
}

TEST(Daemon, RightsAreTheOwnersAndTheOperators) {
  Queue q;
  const auto id = q.submit(q.alice, 10);
  using J = Service::Json;
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.cancel(q.bob, number(id)); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.requeue(q.bob, number(id)); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<Service::Log>(q, [&](DaemonService& s) { return s.log(q.bob, number(id), 0); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.set_gpu(q.alice, 0, true); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.set_queue(q.alice, true); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.backup(q.alice, "/tmp/x"); }).error().code,
            Error::kNoPermission);
  JobSpec high;
  high.command = {"x"};
  high.directory = "/";
  high.priority = 5;
  EXPECT_EQ(q.daemon().jobs().submit(q.alice, {high}, q.warnings).error().code, Error::kNoPermission);
  EXPECT_TRUE(answered<J>(q, [&](DaemonService& s) { return s.cancel(q.alice, number(id)); }));
}

TEST(Daemon, ManyJobsAreCancelledInOneTransaction) {
  Queue q;
  using J = Service::Json;
  q.daemon().pause(true);
  constexpr int kTasks = 1000;
  const auto first = number(q.submit(q.alice, 10, [](JobSpec& spec) {
    for (int i = 0; i < kTasks; ++i) spec.array.push_back(i);
  }));
  const auto last = q.submit(q.alice, 10, [&](JobSpec& spec) {
    spec.dependencies.push_back({Dependency::kAfterOk, first + 1});
  });
  const auto other = q.submit(q.bob, 10);
  do q.daemon().step();
  while (!q.daemon().jobs().unfolding().empty());
  const auto cancelled = answered<J>(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kCancel, {{"all", true}});
  });
  ASSERT_TRUE(cancelled) << cancelled.error().what;
  EXPECT_EQ((*cancelled)["jobs"].size(), std::size_t(kTasks + 1));
  EXPECT_TRUE((*cancelled)["refused"].empty()) << (*cancelled)["refused"].dump();
  EXPECT_EQ((*cancelled)["jobs"].back()["reason"], "cancelled by its owner") << "not: its dependency cannot be met";
  EXPECT_EQ(q.ended(last).status, JobStatus::kCancelled);
  EXPECT_EQ(q.daemon().live_jobs().size(), 1u);
  const auto some = answered<J>(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kCancel, {{"ids", {first, number(other), 99999u}}});
  });
  ASSERT_TRUE(some);
  EXPECT_TRUE((*some)["jobs"].empty());
  EXPECT_EQ((*some)["refused"][0]["code"], "busy");
  EXPECT_EQ((*some)["refused"][1]["code"], "no_permission");
  EXPECT_EQ((*some)["refused"][2]["code"], "not_found");
  EXPECT_FALSE(answered<J>(q, [&](DaemonService& s) { return s.change_jobs(q.alice, JobVerb::kCancel, J::object()); }));
  const auto again = answered<J>(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kRequeue, {{"ids", {first, first + 1}}});
  });
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)["jobs"].size(), 2u) << again->dump();
  EXPECT_EQ((*again)["jobs"][1]["state"], "queued");
}

// A question is at least one step of the owner: a list asks it about many ended jobs at once.
TEST(Daemon, AListOfEndedJobsTakesFewSteps) {
  Queue q;
  constexpr int kEnded = 400;
  q.daemon().pause(true);
  q.submit(q.alice, 10, [](JobSpec& spec) {
    for (int i = 0; i < kEnded; ++i) spec.array.push_back(i);
  });
  do q.daemon().step();
  while (!q.daemon().jobs().unfolding().empty());
  ASSERT_TRUE(answered<Json>(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kCancel, {{"all", true}});
  }));
  JobQuery query;
  query.state = "final";
  int steps = 0;
  auto answer = std::async(std::launch::async, [&] { return q.host->service().jobs(q.alice, query); });
  for (; answer.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready; ++steps) q.daemon().step();
  const auto list = answer.get();
  ASSERT_TRUE(list) << list.error().what;
  EXPECT_EQ((*list)["jobs"].size(), std::size_t(kEnded));
  EXPECT_LT(steps, kEnded / 2);
}

TEST(Daemon, ASpecIsForItsOwnerAndTheOperator) {
  Queue q;
  using J = Service::Json;
  const auto id = q.submit(q.alice, 10, [](JobSpec& spec) { spec.script = "#!/bin/sh\npassword=1\n"; });
  const auto seen = [&](const Caller& who) {
    return answered<J>(q, [&](DaemonService& s) { return s.job(who, number(id)); });
  };
  EXPECT_TRUE(seen(q.alice)->contains("spec"));
  EXPECT_TRUE(seen({0, 0, true})->contains("spec"));
  ASSERT_TRUE(seen(q.bob));
  EXPECT_EQ(seen(q.bob)->dump().find("password"), std::string::npos);
}

TEST(Daemon, ACommandLineIsForItsOwnerAndTheOperator) {
  Queue q;
  using J = Service::Json;
  const auto id = q.submit(q.alice, 10, [](JobSpec& spec) { spec.command = {"train", "--token=hunter2"}; });
  const auto lists = [&](const Caller& who, const char* state) {
    JobQuery query;
    query.state = state;
    return answered<J>(q, [&](DaemonService& s) { return s.jobs(who, query); })->dump().find("hunter2") !=
           std::string::npos;
  };
  const auto one = [&](const Caller& who) {
    return answered<J>(q, [&](DaemonService& s) { return s.job(who, number(id)); })->contains("command");
  };
  for (const char* state : {"", "active"}) {
    EXPECT_TRUE(lists(q.alice, state)) << state;
    EXPECT_TRUE(lists({0, 0, true}, state)) << state;
    EXPECT_FALSE(lists(q.bob, state)) << state;
  }
  EXPECT_TRUE(one(q.alice));
  EXPECT_FALSE(one(q.bob));
  q.run();
  for (const char* state : {"", "final"}) {
    EXPECT_TRUE(lists(q.alice, state)) << state;
    EXPECT_FALSE(lists(q.bob, state)) << state;
  }
}

TEST(Daemon, OneUserCannotFillTheQueueUnlessTheOperatorSaysSo) {
  Queue q;
  q.daemon().pause(true);
  JobSpec spec;
  spec.command = {"train"};
  spec.directory = "/";
  for (int i = 0; i < 10'001; ++i) spec.array.push_back(i);
  const auto refused = q.daemon().jobs().submit(q.alice, {spec}, q.warnings);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy);
}

TEST(Daemon, AFloodOfTinyJobsDoesNotKeepOthersWaiting) {
  for (const int slices : {1, 7}) {
    SCOPED_TRACE(slices);
    Queue q("2xa100-40gb");
    q.submit(q.alice, 0.05, [](JobSpec& spec) {
      for (int i = 0; i < 2000; ++i) spec.array.push_back(i);
    });
    q.run(1);
    const auto other = q.submit(q.bob, 10, [&](JobSpec& spec) { spec.min_slices = slices; });
    q.run(2);
    const auto at = q.daemon().live_jobs().find(other);
    ASSERT_NE(at, q.daemon().live_jobs().end());
    EXPECT_EQ(at->second.status, JobStatus::kRunning);
    EXPECT_LT(at->second.times.started - at->second.times.submitted, from_minutes(1));
  }
}

TEST(Daemon, WhatTheHostCanNeverGiveIsRefused) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) {
    o.settings.host.cpus = 2;
    o.settings.host.mem_mib = 4000;
  });
  JobSpec spec;
  spec.command = {"x"};
  spec.directory = "/";
  spec.cpus = 1000;
  EXPECT_EQ(q.daemon().jobs().submit(q.alice, {spec}, q.warnings).error().code, Error::kInvalid);
  spec.cpus = 2;
  EXPECT_TRUE(q.daemon().jobs().submit(q.alice, {spec}, q.warnings));
  spec.host_mem_mib = 4001;
  EXPECT_EQ(q.daemon().jobs().submit(q.alice, {spec}, q.warnings).error().code, Error::kInvalid);
}

TEST(Daemon, ARemoteUsersHomeIsThatOfThisMachine) {
  Queue q;
  using J = Service::Json;
  const J job = {{"command", {"x"}}, {"directory", "/"}, {"environment", {"HOME=/root", "USER=root", "LR=1"}}};
  for (const bool remote : {false, true}) {
    Caller alice = q.alice;
    alice.remote = remote;
    const auto made = answered<J>(q, [&](DaemonService& s) { return s.submit(alice, job, std::nullopt); });
    ASSERT_TRUE(made) << made.error().what;
    const auto launch = q.host->store().launch((*made)["ids"][0].get<std::uint64_t>());
    ASSERT_TRUE(launch && *launch);
    JobSpec kept;
    ASSERT_TRUE(take_launch(kept, **launch));
    EXPECT_EQ(kept.environment, remote ? std::vector<std::string>{"LR=1"}
                                       : (std::vector<std::string>{"HOME=/root", "USER=root", "LR=1"}));
  }
}

TEST(Daemon, ANameReachesOtherTerminalsWithoutEscapes) {
  Queue q;
  using J = Service::Json;
  const auto id = q.submit(q.alice, 10, [](JobSpec& spec) { spec.command = {"/x/\x1b]0;owned\x07\u202egpj"}; });
  const auto seen = answered<J>(q, [&](DaemonService& s) { return s.job(q.bob, number(id)); });
  ASSERT_TRUE(seen);
  EXPECT_EQ((*seen)["name"], "?]0;owned??gpj");
}

TEST(Daemon, ACapOnWaitingJobsHoldsForNewAndForRequeuedOnes) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.limits.user_queued = 2; });
  const auto done = q.submit(q.alice, 1);
  q.run();
  q.daemon().pause(true);
  q.submit(q.alice, 1);
  q.submit(q.alice, 1);
  JobSpec third;
  third.command = {"x"};
  third.directory = "/";
  EXPECT_EQ(q.daemon().jobs().submit(q.alice, {third}, q.warnings).error().code, Error::kBusy);
  EXPECT_EQ(q.daemon().jobs().requeue(done, false).error().code, Error::kBusy);
  EXPECT_TRUE(q.daemon().jobs().submit(q.bob, {third}, q.warnings)) << "another user's";
  EXPECT_TRUE(q.daemon().jobs().requeue(done)) << "the operator's";
}

TEST(Daemon, SaysThatADeadlineCannotBeKept) {
  Queue q;
  const auto due = [&](double minutes) {
    return [&q, minutes](JobSpec& spec) { spec.deadline = q.daemon().now() + from_minutes(minutes); };
  };
  q.submit(q.alice, 10, due(20));
  EXPECT_TRUE(q.warnings.empty());
  q.submit(q.alice, 10, due(5));
  ASSERT_EQ(q.warnings.size(), 1u);
  EXPECT_EQ(q.warnings[0], "the deadline is in 5 min and the job takes 10 min on a whole GPU: it will be late");
  q.submit(q.alice, 10, [](JobSpec& spec) { spec.deadline = UnixTime{}; });
  ASSERT_EQ(q.warnings.size(), 2u);
  EXPECT_NE(q.warnings[1].find("passed"), std::string::npos);
}

TEST(Daemon, PowerCapsHold) {
  Queue q("2xa100-40gb", [](DaemonHostOptions& o) { o.settings.power.fleet_cap_w = 330; });
  for (int i = 0; i < 12; ++i) q.submit(q.alice, 5);
  q.daemon().step();
  while (!q.daemon().live_jobs().empty()) {
    double watts = 0;
    for (const GpuState& gpu : q.daemon().cluster().gpus()) watts += gpu.watts;
    ASSERT_LE(watts, 330);
    q.host->clock().wait_until(q.daemon().next_due());
    q.daemon().step();
  }
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 12u);
}

TEST(Daemon, TheShadowTellsWhatItWouldHaveDoneAndCost) {
  Queue q("2xa100-40gb", [](DaemonHostOptions& o) {
    o.settings.policy.shadow = "none+edf";
    o.settings.prices.energy_per_kwh = 0.3;
    o.settings.prices.late_per_hour = 1;
  });
  for (int i = 0; i < 40; ++i) q.submit(q.alice, 5 + i % 9);
  q.run();
  EXPECT_GT(q.daemon().counts().shadow_differences, 0u);
  const nlohmann::json report = q.daemon().decisions().shadow_json();
  EXPECT_GT(report["compared"]["shadow"]["cost"].get<double>(), 0) << report.dump();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 40u);
}

TEST(Daemon, ALearnedPolicyIsGuarded) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.policy.name = "guard(meanfield+cedf)"; });
  for (int i = 0; i < 30; ++i) q.submit(q.alice, 5 + i % 9);
  q.run();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 30u);
  EXPECT_EQ(q.daemon().policies().name(), "guard(meanfield+cedf)");
}

}  // namespace
}  // namespace smartmig
