// Told times that are wrong: what the daemon makes of them as jobs end, over restarts, and how good its forecasts are.
#include "serve/daemon/learned_times.h"

#include <cmath>

#include "base/math.h"
#include "base/rng.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using Json = nlohmann::json;

const auto kLearns = [](DaemonHostOptions& options) { options.settings.defaults.exact_estimates = false; };

// Told so many minutes, and truly takes so many on the whole GPU; on other sizes as is believed of what never ran.
QueueId told_wrong(Queue& q, const Caller& who, double told, double truly, const std::string& program = "train") {
  return q.submit(who, told, [&](JobSpec& spec) {
    spec.command = {program};
    std::string sizes;
    for (int k = 1; k <= 7; ++k)
      sizes += fmt::format("{}{}:{:.3f}", k > 1 ? "," : "", k, truly * 60 * std::sqrt(7.0 / k));
    spec.environment = {"SMARTMIG_EMULATED_SECONDS=" + sizes};
  });
}

const JobRecord& record_of(Queue& q, QueueId id) { return q.daemon().state().book.live().at(id); }

// A program of its own, so that its history says nothing.
void expect_believed(Queue& q, const Caller& who, double told, double minutes_low, double minutes_high) {
  static int programs = 0;
  const QueueId id = told_wrong(q, who, told, told, fmt::format("unseen{}", static_cast<char>('a' + programs++)));
  const double believed = minutes(record_of(q, id).work.estimate);
  EXPECT_GT(believed, minutes_low);
  EXPECT_LT(believed, minutes_high);
  EXPECT_EQ(minutes(record_of(q, id).work.told), told);
}

TEST(DaemonLearnedTimes, AUserWhoTellsHalfIsCorrectedAlsoAfterARestart) {
  Queue q("1xa100-40gb", kLearns);
  expect_believed(q, q.alice, 20, 19.99, 20.01);
  Rng rng(1);
  for (int i = 0; i < 15; ++i) {
    const double told = rng.uniform(5, 50);
    told_wrong(q, q.alice, told, 2 * told, fmt::format("prog{}", static_cast<char>('a' + i)));
    told_wrong(q, q.bob, told, told, fmt::format("prog{}", static_cast<char>('a' + i)));
    q.run();
  }
  expect_believed(q, q.alice, 20, 35, 44);
  expect_believed(q, q.bob, 20, 17, 24);
  q.run();
  q.host.reset();
  q.open("1xa100-40gb", kLearns);
  expect_believed(q, q.alice, 20, 33, 44);
  expect_believed(q, q.bob, 20, 17, 24);
}

TEST(DaemonLearnedTimes, PlansHaveASpreadThatFollowsWhatIsKnown) {
  Queue q("1xa100-40gb", kLearns);
  q.daemon().pause(true);
  const auto told = told_wrong(q, q.alice, 10, 10), unknown = q.submit(q.alice, 1, [](JobSpec&s) { s.estimate = {}; });
  const auto spread = [&](QueueId id) {
    return q.daemon().state().session.belief().job_of(record_of(q, id), kNeverUnix).spread;
  };
  EXPECT_NEAR(spread(told), 0.7, 0.01);
  EXPECT_GT(spread(unknown), 1.2);
  q.daemon().pause(false);
  q.run();
  for (int i = 0; i < 20; ++i) {
    q.submit(q.bob, 30, [](JobSpec& s) { s.command = {"always"}; });
    q.run();
  }
  q.daemon().pause(true);
  const auto known = q.submit(q.bob, 1, [](JobSpec& s) {
    s.command = {"always"};
    s.estimate = {};
  });
  EXPECT_EQ(record_of(q, known).work.source, EstimateSource::kHistory);
  EXPECT_NEAR(minutes(record_of(q, known).work.estimate), 30, 2);
  EXPECT_LT(spread(known), 0.15);
}

TEST(DaemonLearnedTimes, WhatIsToldAndWhatACommandTookAreWeighed) {
  Queue q("1xa100-40gb", kLearns);
  for (int i = 0; i < 10; ++i) {
    told_wrong(q, q.alice, 10, 40, "always");
    q.run();
  }
  q.daemon().pause(true);
  const QueueId again = told_wrong(q, q.bob, 10, 40, "always");  // who has told nothing before
  EXPECT_GT(minutes(record_of(q, again).work.estimate), 30);
  EXPECT_LT(minutes(record_of(q, again).work.estimate), 42);
  EXPECT_EQ(record_of(q, again).work.source, EstimateSource::kGiven);
}

TEST(DaemonLearnedTimes, AJobThatOverranItsTimeEndsAheadOfNow) {
  Queue q("1xa100-40gb", kLearns);
  const QueueId id = told_wrong(q, q.alice, 10, 60);
  q.run(35);
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(id)); });
  ASSERT_TRUE(eta) << eta.error().what;
  const double now = unix_seconds(q.daemon().now());
  for (const char* key : {"p10", "p50", "p90"}) EXPECT_GT((*eta)["finish_at"][key].get<double>(), now) << key;
  EXPECT_GT((*eta)["finish_at"]["p90"].get<double>(), now + 600) << "it may run as long again";
}

// Four users who are off in their own ways, commands that take what they take, and nobody comes while a batch runs: once
// the daemon knows them, intervals hold as often as they should, and score better than a stranger's would.
TEST(DaemonLearnedTimes, EightyPercentIntervalsHoldInEightyPercentOfTheCases) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "minutes with sanitizers; the other tests cover the code";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "minutes with sanitizers; the other tests cover the code";
#endif
#endif
  Queue q("2xa100-40gb", kLearns);
  Rng rng(3);
  const double bias[] = {0.5, 1, 3, 1.5}, noise[] = {0.3, 0.69, 0.5, 0.15};
  for (int batch = 0; batch < 28; ++batch) {
    std::vector<std::pair<QueueId, Caller>> jobs;
    for (int i = 0; i < 24; ++i) {
      const std::size_t user = std::size_t(rng.uniform(0, 4)), program = std::size_t(rng.uniform(0, 5));
      const double truly = (5 + 10 * double(program)) * deterministic_exp(0.4 * rng.normal());
      const double told = truly * bias[user] * deterministic_exp(noise[user] * rng.normal());
      const Caller who{std::uint32_t(1001 + user), 1001, false};
      jobs.emplace_back(told_wrong(q, who, told, truly, fmt::format("prog{}", static_cast<char>('a' + program))), who);
    }
    q.run(0.1);
    for (std::size_t i = 0; i < jobs.size(); i += 3) {
      const auto& [id, who] = jobs[i];
      if (q.daemon().state().book.find(id) && batch >= 8)
        (void)answered<Json>(q, [&, job = number(id), asks = who](DaemonService& s) { return s.eta(asks, job); });
    }
    q.run();
  }
  const auto answer = answered<Json>(q, [&](DaemonService& s) { return s.calibration(q.alice); });
  ASSERT_TRUE(answer) << answer.error().what;
  for (const Json& of : (*answer)["forecasts"]) {
    SCOPED_TRACE(of.dump());
    std::printf("[ forecasts ] %s\n", of.dump().c_str());
    if (of["forecast"] == "start") continue;  // rests on what the policy does with what it learns meanwhile
    EXPECT_GE(of["count"], of["forecast"] == "run" ? 500 : 60);
    const bool run = of["forecast"] == "run";  // ends rest on the policy, too
    EXPECT_GE(of["held_ratio"].get<double>(), run ? 0.75 : 0.7);
    EXPECT_LE(of["held_ratio"].get<double>(), run ? 0.88 : 0.9);
  }
}

}  // namespace
}  // namespace smartmig
