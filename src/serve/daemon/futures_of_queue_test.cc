// What eta, why and whatif say of the living queue is what then happens: under limits of the host, and in a pause.
#include <set>

#include "base/rng.h"
#include "support/cases.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using Json = nlohmann::json;

const auto kHostOf4 = [](DaemonHostOptions& o) {
  o.settings.host.cpus = 4;
  o.settings.host.mem_mib = 4000;
};

double expected_start(Queue& q, QueueId id) {
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(id)); });
  EXPECT_TRUE(eta) << eta.error().what;
  return eta ? (*eta)["expected_start_at"].get<double>() : 0;
}

double start_as_it_is(Queue& q, QueueId id) {
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(id)); });
  EXPECT_TRUE(why) << why.error().what;
  const Json first = why ? (*why)["alternatives"].at(0) : Json::object();
  EXPECT_EQ(first.value("what", ""), "unchanged");
  return first.value("start_at", 0.0);
}

void starts_when_said(const std::function<void(JobSpec&)>& large, const std::string& code) {
  Queue q("2xa100-40gb", kHostOf4);
  q.submit(q.alice, 30, large);
  q.run(1);
  const auto waits = q.submit(q.alice, 10, large);
  q.run(5);
  ASSERT_EQ(q.daemon().state().book.status_of(waits), JobStatus::kQueued);
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(waits)); });
  EXPECT_EQ((*why)["code"], code) << why->dump();
  const double eta = expected_start(q, waits), as_it_is = start_as_it_is(q, waits);
  const auto whatif = answered<Json>(q, [&](DaemonService& s) {
    return s.whatif(q.alice, {{"add_gpus", "1xa100-40gb"}});
  });
  ASSERT_TRUE(whatif) << whatif.error().what;
  double with_more = 0;
  for (const Json& job : (*whatif)["jobs"])
    if (job["id"] == number(waits)) with_more = job["start_then_at"].get<double>();
  q.run();
  const double started = unix_seconds(q.ended(waits).times.first_started);
  EXPECT_NEAR(eta, started, 15);
  EXPECT_NEAR(as_it_is, started, 15);
  EXPECT_NEAR(with_more, started, 15) << "another GPU does not help: the host is full";
}

TEST(DaemonFuturesOfTheQueue, TheHostsCoresAreCounted) {
  starts_when_said([](JobSpec& s) { s.cpus = 3; }, "host_cpus");
}

TEST(DaemonFuturesOfTheQueue, TheHostsMemoryIsCounted) {
  starts_when_said([](JobSpec& s) { s.host_mem_mib = 3000; }, "host_memory");
}

TEST(DaemonFuturesOfTheQueue, InAPauseThereIsNoTime) {
  Queue q;
  const auto running = q.submit(q.alice, 30);
  q.run(1);
  q.daemon().pause(true);
  const auto waits = q.submit(q.alice, 10);
  q.run(1);
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(waits)); });
  ASSERT_FALSE(eta);
  EXPECT_EQ(eta.error().what, "the queue is paused until smartmig resume, so when job 2 starts is unknown");
  EXPECT_TRUE(answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(running)); })) << "it runs on";
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(waits)); });
  EXPECT_EQ((*why)["code"], "queue_paused");
  EXPECT_TRUE((*why)["alternatives"].empty()) << why->dump();
  EXPECT_FALSE(answered<Json>(q, [&](DaemonService& s) { return s.whatif(q.alice, {{"policy", "none+edf"}}); }));
  q.daemon().pause(false);
  q.run(1);
  EXPECT_TRUE(answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(waits)); }));
}

const auto kOneSlicePartition = [](DaemonHostOptions& o) {
  o.settings.policy.name = "static+edf";
  o.settings.policy.layouts = "1g+1g+1g+1g+1g+1g+1g";
};

Json eta_of(Queue& q, QueueId id) {
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(id)); });
  EXPECT_TRUE(eta) << eta.error().what;
  return eta ? *eta : Json::object();
}

Json why_of(Queue& q, QueueId id) {
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(id)); });
  EXPECT_TRUE(why) << why.error().what;
  return why ? *why : Json::object();
}

// Jobs of every kind wait, in a random mix for whole GPUs, of which all told times are true: each starts when all three
// answers say, and those that have no start have none.
TEST(DaemonFuturesOfTheQueue, RandomMixesStartWhenTheFuturesSay) {
  for (int seed = 1; seed <= cases(6); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(std::uint64_t(seed), 31);
    const auto any = [&](int n) { return int(rng.uniform(0, n - 1e-9)); };
    Queue q("4xa100-40gb", [](DaemonHostOptions& o) { o.settings.policy.name = "none+edf"; });
    const Caller root{0, 0, true};
    ASSERT_TRUE(answered<Json>(q, [&](DaemonService& s) { return s.set_group(root, {{"name", "g"}, {"limit", 2}}); }));
    std::vector<QueueId> ids;
    const UnixTime begin = q.daemon().now();
    double longer = 0;  // no two jobs end at one instant, nor have one deadline
    const auto submit = [&](std::function<void(JobSpec&)> change) {
      const std::size_t before = q.daemon().live_jobs().size();
      const auto first = q.submit(q.alice, 3 + any(20) + (longer += 0.0137), [&](JobSpec& s) {
        s.command = {fmt::format("program{}", ids.size())};
        s.mem_mib = 1000;
        change(s);
      });
      for (std::size_t i = 0; i < q.daemon().live_jobs().size() - before; ++i)
        ids.push_back(QueueId(number(first) + i));
    };
    for (int i = 0; i < 6; ++i) submit([](JobSpec&) {});
    q.run(1.5);  // four run
    for (int i = 0; i < 16; ++i)
      submit([&](JobSpec& s) {
        const int kind = any(8);
        if (kind == 0) s.begin = begin + from_minutes(5 + any(60));
        if (kind == 1)
          for (int task = 0, n = 3 + any(4); task < n; ++task) s.array.push_back(task);
        if (kind == 1) s.array_limit = 1 + any(2);
        if (kind == 2) s.hold = true;
        if (kind == 3 || any(4) == 0) s.group = "g";
        if (kind == 4) s.singleton = true;
        if (kind == 4 || kind == 5) s.name = "the same";
        if (kind == 6 && any(2)) s.deadline = q.daemon().now() + from_minutes(10 + any(100));
        if (kind == 7 || any(4) == 0)
          for (int n = 1 + any(2); n > 0; --n)
            s.dependencies.push_back({Dependency::When(any(4)), number(ids[std::size_t(any(int(ids.size())))])});
        if (any(6) == 0) s.begin = begin + from_minutes(5 + any(60));
      });
    q.run(0.5);
    std::map<QueueId, double> expected;
    std::set<QueueId> held;
    for (const auto& [id, job] : q.daemon().live_jobs()) {
      if (!is_waiting(job.status)) continue;
      if (job.held_by != HeldBy::kNobody) held.insert(id);
      expected[id] = 0;
    }
    const auto all = answered<Json>(q, [](DaemonService& s) { return s.futures(Caller{}, 0); });
    ASSERT_TRUE(all) << all.error().what;
    std::set<QueueId> told;
    for (const Json& job : (*all)["jobs"]) {
      const QueueId id{job["id"].get<std::uint64_t>()};
      if (!expected.contains(id)) continue;
      told.insert(id);
      expected[id] = job["expected_start_at"].is_null() ? -1 : job["expected_start_at"].get<double>();
      EXPECT_EQ(job["expected_start_at"].is_null(), job["late_s"].is_null() && expected[id] < 0) << job.dump();
    }
    EXPECT_EQ(told.size(), expected.size());
    for (const auto& [id, at] : expected) {
      const Json eta = eta_of(q, id), first = why_of(q, id)["alternatives"].at(0);
      if (at < 0) {
        EXPECT_TRUE(eta["expected_start_at"].is_null()) << eta.dump();
        EXPECT_NE(eta["no_start"].get<std::string>(), "");
      } else {
        EXPECT_EQ(eta["expected_start_at"].get<double>(), at) << number(id);
        EXPECT_TRUE(eta["no_start"].is_null()) << eta.dump();
        EXPECT_EQ(first["start_at"].get<double>(), at) << number(id);
      }
      if (held.contains(id)) {
        EXPECT_EQ(first["what"], "if released now");
      }
    }
    q.run(600);
    for (const auto& [id, at] : expected) {
      const JobRecord* lives = q.daemon().state().book.find(id);
      const JobRecord job = lives ? *lives : q.ended(id);
      const UnixTime started = job.times.first_started;
      EXPECT_EQ(started == kNotYet ? -1 : unix_seconds(started), at)
          << "job " << number(id) << ": " << to_json(job.spec, false);
    }
  }
}

TEST(DaemonFuturesOfTheQueue, AHeldJobHasNoStartButIfItIsReleased) {
  Queue q("1xa100-40gb", kOneSlicePartition);
  const auto held = q.submit(q.alice, 10, [](JobSpec& s) { s.hold = true; });
  const auto waits = q.submit(q.alice, 10, [&](JobSpec& s) {
    s.dependencies.push_back({Dependency::kAfterOk, number(held)});
    s.deadline = q.daemon().now() + from_minutes(60);
  });
  q.run(1);
  const Json eta = eta_of(q, held), after = eta_of(q, waits);
  for (const char* key : {"expected_start_at", "expected_finish_at", "start_at", "finish_at", "on_time_ratio"}) {
    EXPECT_TRUE(eta[key].is_null()) << eta.dump();
    EXPECT_TRUE(after[key].is_null()) << after.dump();
  }
  EXPECT_EQ(eta["state"], "held");
  EXPECT_EQ(eta["no_start"], "held by its owner: smartmig release 1");
  EXPECT_NEAR(eta["if_released"]["expected_start_at"].get<double>(), unix_seconds(q.daemon().now()), 1);
  EXPECT_EQ(after["no_start"], "it waits for job 1, which has no expected end");
  EXPECT_TRUE(after["if_released"].is_null());
  const Json why = why_of(q, waits);
  EXPECT_EQ(why["code"], "held_dependency");
  EXPECT_EQ(why["sentence"], "job 2 waits for job 1; job 1 has no expected end");
  ASSERT_EQ(why["alternatives"].size(), 1u) << why.dump();
  EXPECT_TRUE(why["alternatives"][0]["start_at"].is_null());
  EXPECT_TRUE(why["alternatives"][0]["late_s"].is_null());
}

TEST(DaemonFuturesOfTheQueue, WhySaysWhenADependencyIsExpectedToEnd) {
  Queue q("1xa100-40gb", kOneSlicePartition);
  const auto first = q.submit(q.alice, 10, [](JobSpec& s) { s.mem_mib = 1000; });
  q.run(1);
  const auto second = q.submit(q.alice, 10, [&](JobSpec& s) {
    s.dependencies.push_back({Dependency::kAfterOk, number(first)});
  });
  q.run(1);
  const Json running = eta_of(q, first), why = why_of(q, second), eta = eta_of(q, second);
  EXPECT_EQ(running["state"], "running");
  EXPECT_EQ(running["started_at"], running["expected_start_at"]);
  EXPECT_TRUE(eta["started_at"].is_null());
  EXPECT_TRUE(eta["on_time_ratio"].is_null()) << "it has no deadline";
  EXPECT_EQ(why["waits_for"],
            Json::array({{{"job", number(first)}, {"until", "end"}, {"expected_at", running["expected_finish_at"]}}}));
  EXPECT_NE(why["sentence"].get<std::string>().find("waits for job 1; job 1 is expected to end at "), std::string::npos)
      << why["sentence"];
  EXPECT_TRUE(why["alternatives"][0]["late_s"].is_null());
  EXPECT_EQ(eta["expected_start_at"], running["expected_finish_at"]);
}

TEST(DaemonFuturesOfTheQueue, WhatIfAJobMoreKeepsItsBeginAndItsHold) {
  Queue q("1xa100-40gb", kOneSlicePartition);
  q.submit(q.alice, 10);
  q.run(1);
  const double begin = std::floor(unix_seconds(q.daemon().now())) + 7200;
  const auto then = [&](const char* key, Json value) {
    Json job = {{"command", {"x"}}, {"directory", "/"}, {"estimate_s", 60}};
    job[key] = std::move(value);
    const auto answer = answered<Json>(q, [&](DaemonService& s) { return s.whatif(q.alice, {{"job", job}}); });
    EXPECT_TRUE(answer) << answer.error().what;
    return answer ? (*answer)["jobs"].back() : Json::object();
  };
  EXPECT_EQ(then("begin_at", begin)["start_then_at"].get<double>(), begin);
  const Json held = then("hold", true);
  EXPECT_TRUE(held["start_then_at"].is_null() && held["finish_then_at"].is_null()) << held.dump();
  EXPECT_TRUE(held["late_then_s"].is_null());
}

}  // namespace
}  // namespace smartmig
