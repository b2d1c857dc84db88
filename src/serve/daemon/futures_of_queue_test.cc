// What eta, why and whatif say of the living queue is what then happens: under limits of the host, and in a pause.
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
  EXPECT_EQ(first.value("what", ""), "as it is");
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
  EXPECT_EQ(eta.error().what,
            "the queue is paused: nothing is started until smartmig resume, so when job 2 starts is not known");
  EXPECT_TRUE(answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(running)); })) << "it runs on";
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(waits)); });
  EXPECT_EQ((*why)["code"], "queue_paused");
  EXPECT_TRUE((*why)["alternatives"].empty()) << why->dump();
  EXPECT_FALSE(answered<Json>(q, [&](DaemonService& s) { return s.whatif(q.alice, {{"policy", "none+edf"}}); }));
  q.daemon().pause(false);
  q.run(1);
  EXPECT_TRUE(answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(waits)); }));
}

}  // namespace
}  // namespace smartmig
