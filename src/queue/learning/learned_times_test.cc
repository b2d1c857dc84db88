// Told times that are wrong: what the daemon makes of them as jobs end, over restarts, and how good its forecasts are.
#include "queue/learning/learned_times.h"

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

// Four users who are off in their own ways, commands that take what they take, and nobody comes while a batch runs. What
// the daemon's calibration says of the last 500 forecasts of each kind, once it knows them. `exact`: told times are
// believed as they are, and an interval is a point.
std::map<std::string, Json> forecasts_of_batches(std::uint64_t seed, bool exact) {
  Queue q("2xa100-40gb", [exact](DaemonHostOptions& options) { options.settings.defaults.exact_estimates = exact; });
  Rng rng(seed);
  constexpr int kBatches = 34, kKnown = 8, kJobs = 24, kAsked = 24;
  const double bias[] = {0.5, 1, 3, 1.5}, noise[] = {0.3, 0.69, 0.5, 0.15};
  for (int batch = 0; batch < kBatches; ++batch) {
    std::vector<std::pair<QueueId, Caller>> jobs;
    for (int i = 0; i < kJobs; ++i) {
      const std::size_t user = std::size_t(rng.uniform(0, 4)), program = std::size_t(rng.uniform(0, 5));
      const double truly = (5 + 10 * double(program)) * deterministic_exp(0.4 * rng.normal());
      const double told = truly * bias[user] * deterministic_exp(noise[user] * rng.normal());
      const Caller who{std::uint32_t(1001 + user), 1001, false};
      jobs.emplace_back(told_wrong(q, who, told, truly, fmt::format("prog{}", static_cast<char>('a' + program))), who);
    }
    q.run(0.1);
    for (int i = 0; i < kJobs && batch >= kKnown; i += kJobs / kAsked) {
      const auto& [id, who] = jobs[std::size_t(i)];
      if (q.daemon().state().book.find(id))
        (void)answered<Json>(q, [&, job = number(id), asks = who](DaemonService& s) { return s.eta(asks, job); });
    }
    q.run();
  }
  const auto answer = answered<Json>(q, [&](DaemonService& s) { return s.calibration(q.alice); });
  EXPECT_TRUE(answer) << answer.error().what;
  std::map<std::string, Json> out;
  for (const Json& of : (*answer)["forecasts"]) {
    std::printf("[ forecasts%s ] %s\n", exact ? ", points" : "", of.dump().c_str());
    out[of["forecast"].get<std::string>()] = of;
  }
  return out;
}

// 80 % intervals hold in 75 to 85 % of the cases, and beat what is told taken as it is. Starts hold less often (72 %):
// they depend on how others' deadlines move (docs/learning-jobs.md).
TEST(DaemonLearnedTimes, EightyPercentIntervalsHoldInEightyPercentOfTheCases) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "minutes with sanitizers; the other tests cover the code";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "minutes with sanitizers; the other tests cover the code";
#endif
#endif
  const auto now = forecasts_of_batches(3, false), points = forecasts_of_batches(3, true);
  for (const auto& [kind, of] : now) {
    SCOPED_TRACE(of.dump());
    EXPECT_GE(of["count"].get<int>(), kind == "start" ? 250 : 500);
    EXPECT_GE(of["held_ratio"].get<double>(), kind == "start" ? 0.65 : 0.75);
    EXPECT_LE(of["held_ratio"].get<double>(), 0.85);
    EXPECT_LT(of["mean_score_s"].get<double>(), points.at(kind)["mean_score_s"].get<double>());
  }
}

}  // namespace
}  // namespace smartmig
