// Quotas of a living queue: who waits for slices and who for the next week, what why and eta say of it, restarts.
#include "queue/jobs/quotas.h"

#include <cmath>

#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using Json = nlohmann::json;

// The group of these tests may have a name here or not.
std::string group_of_tests() { return unix_group(1001); }

auto with_quota(QuotaScope scope, std::string name, Quota quota) {
  return [=](DaemonHostOptions& o) {
    o.settings.energy.sample = from_minutes(1);  // days pass
    o.settings.quota.limits[{scope, name}] = quota;
    o.settings.policy.name = "none+edf";
  };
}

int running_of(Queue& q) {
  int n = 0;
  for (const auto& [id, job] : q.daemon().live_jobs()) n += job.status == JobStatus::kRunning;
  return n;
}

Json why_answer(Queue& q, QueueId id) {
  const auto why = answered<Json>(q, [&](DaemonService& s) { return s.why(q.alice, number(id)); });
  EXPECT_TRUE(why) << why.error().what;
  return why ? *why : Json::object();
}

double start_by_eta(Queue& q, QueueId id) {
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(id)); });
  EXPECT_TRUE(eta) << eta.error().what;
  return eta && (*eta)["expected_start_at"].is_number() ? (*eta)["expected_start_at"].get<double>() : -1;
}

TEST(DaemonQuotas, SlicesAtOnceAreCountedByWhatJobsAskFor) {
  Queue q("2xa100-40gb", [](DaemonHostOptions& o) {
    o.settings.quota.limits[{QuotaScope::kGroup, group_of_tests()}].slices = 5;
    o.settings.policy.name = "static+edf";
    o.settings.policy.layouts = "2g+2g+2g+1g";
  });
  q.bob.gid = q.alice.gid;
  std::vector<QueueId> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(q.submit(i % 2 ? q.alice : q.bob, 30, [](JobSpec& s) {
      s.min_slices = s.max_slices = 2;
      s.mem_mib = 1000;
    }));
  q.run(2);
  EXPECT_EQ(running_of(q), 2) << "2 + 2 of 5";
  const Json why = why_answer(q, ids[2]);
  EXPECT_EQ(why["code"], "quota_slices") << why.dump();
  EXPECT_EQ(why["sentence"],
            fmt::format("job 3 waits: running jobs of group {} have 4 compute slices, and the quota is "
                        "5 at once",
                        group_of_tests()));
  const double expected = start_by_eta(q, ids[2]);
  q.run();
  EXPECT_NEAR(unix_seconds(q.ended(ids[2]).times.first_started), expected, 1);
}

TEST(DaemonQuotas, AJobThatCanNeverStartIsRefused) {
  Queue q("1xa100-40gb", with_quota(QuotaScope::kUser, "default", {3, 0, 0}));
  JobSpec spec;
  spec.command = {"train"};
  spec.directory = "/";
  spec.min_slices = 4;
  const auto refused = q.daemon().jobs().submit(q.alice, {spec}, q.warnings);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("the job would never start: it asks for 4 compute slices"), std::string::npos)
      << refused.error().what;
}

TEST(DaemonQuotas, AJobThatGrowsBeyondItsQuotaEndsAndKeepsNobodyWaiting) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) {
    o.settings.quota.limits[{QuotaScope::kUser, "default"}].slices = 3;
    o.settings.policy.name = "static+edf";
    o.settings.policy.layouts = "4g+3g";
  });
  const auto grows = q.submit(q.alice, 10, [](JobSpec& s) {
    s.mem_mib = 15000;
    s.environment = {"SMARTMIG_EMULATED_MEMORY=0:1000,1:30000"};
  });
  q.run();
  EXPECT_EQ(q.ended(grows).status, JobStatus::kFailed);
  EXPECT_NE(q.ended(grows).reason.find("on a larger slice, it asks for 7 compute slices, and the quota of "),
            std::string::npos)
      << q.ended(grows).reason;
}

TEST(DaemonQuotas, ASmallerQuotaLeavesNoFalseForecast) {
  Queue q("1xa100-40gb", {});
  q.daemon().pause(true);
  const auto large = q.submit(q.alice, 10, [](JobSpec&s) { s.min_slices = 7; }), small = q.submit(q.bob, 10);
  Settings less = q.daemon().state().settings;
  less.limits.user_slices = 3;
  ASSERT_TRUE(q.daemon().set_settings(less));
  q.daemon().pause(false);
  const std::string words = "it asks for 7 compute slices, and each user may have 3 at once";
  EXPECT_EQ(why_answer(q, large)["sentence"], "job 1 cannot start: " + words);
  const auto eta = answered<Json>(q, [&](DaemonService& s) { return s.eta(q.alice, number(large)); });
  ASSERT_TRUE(eta) << eta.error().what;
  EXPECT_EQ((*eta)["no_start"], words) << eta->dump();
  EXPECT_GT(start_by_eta(q, small), 0) << "of others";
}

TEST(DaemonQuotas, AWeekThatIsUsedUpEndsOnMondayAlsoInFutures) {
  Queue q("1xa100-40gb", with_quota(QuotaScope::kUser, "default", {0, 1, 0}));
  const auto first = q.submit(q.alice, 90);
  q.run(1);
  const auto second = q.submit(q.alice, 10), other = q.submit(q.bob, 20);
  q.run(29);
  EXPECT_EQ(q.daemon().state().book.status_of(first), JobStatus::kRunning);
  const double monday = unix_seconds(week_end(q.daemon().now()));
  EXPECT_EQ(start_by_eta(q, second), monday) << "the first one will use up the week";
  q.run(200);
  EXPECT_EQ(q.ended(first).status, JobStatus::kDone) << "what runs goes on";
  EXPECT_EQ(q.ended(other).status, JobStatus::kDone);
  EXPECT_EQ(q.daemon().state().book.status_of(second), JobStatus::kHeld);
  const Json why = why_answer(q, second);
  EXPECT_EQ(why["code"], "held_quota") << why.dump();
  EXPECT_NE(why["sentence"].get<std::string>().find("is used up (1.5 of 1 GPU-hours); the next week begins on "),
            std::string::npos)
      << why["sentence"];
  EXPECT_EQ(start_by_eta(q, second), monday);
  const auto third = q.submit(q.alice, 5);
  EXPECT_EQ(q.daemon().state().book.status_of(third), JobStatus::kHeld);
  q.run();
  EXPECT_NEAR(unix_seconds(q.ended(second).times.first_started), monday, 1);
}

TEST(DaemonQuotas, UseSurvivesARestartAndALargerQuotaLetsJobsRun) {
  const auto one_hour = with_quota(QuotaScope::kUser, "default", {0, 1, 0});
  Queue q("1xa100-40gb", one_hour);
  q.submit(q.alice, 90);
  q.run();
  q.host.reset();
  q.open("1xa100-40gb", one_hour);
  const auto waits = q.submit(q.alice, 10);
  q.run(1);
  EXPECT_EQ(q.daemon().state().book.status_of(waits), JobStatus::kHeld);
  Settings more = q.daemon().state().settings;
  more.quota.limits[{QuotaScope::kUser, "default"}].gpu_hours = 2;
  ASSERT_TRUE(q.daemon().set_settings(more));
  q.run(1);
  EXPECT_EQ(q.daemon().state().book.status_of(waits), JobStatus::kRunning);
  const auto usage = answered<Json>(q, [&](DaemonService& s) { return s.usage(q.alice, {"user", {}, 0, INT64_MAX}); });
  ASSERT_TRUE(usage) << usage.error().what;
  ASSERT_EQ((*usage)["quotas"].size(), 2u) << usage->dump();
  for (const Json& row : (*usage)["quotas"])
    EXPECT_NEAR(row["gpu_hours"].get<double>(), row["name"] == "default" ? 0 : 1.5, 0.1) << usage->dump();
}

TEST(DaemonQuotas, EnergyCountsToo) {
  Queue q("1xa100-40gb", with_quota(QuotaScope::kUser, "default", {0, 0, 0.1}));
  const auto first = q.submit(q.alice, 60);
  q.run();
  const auto second = q.submit(q.alice, 10);
  q.run(1);
  EXPECT_GT(q.ended(first).energy.joules, 3.6e5);
  EXPECT_EQ(q.daemon().state().book.status_of(second), JobStatus::kHeld);
}

TEST(DaemonQuotas, SubmitSaysWhatIsLeftOrRefuses) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) {
    o.settings.quota.limits[{QuotaScope::kProject, "bert"}] = {3, 1, 2};
    o.settings.quota.refuse = true;
    o.settings.policy.name = "none+edf";
  });
  const Json job = {{"command", {"train"}}, {"directory", "/"}, {"estimate_s", 5400}, {"project", "bert"}};
  const auto submit = [&] { return answered<Json>(q, [&](DaemonService& s) { return s.submit(q.alice, job, {}); }); };
  const auto first = submit();
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ((*first)["quotas"], Json::array({"project bert: 3 of 3 slices, 1.0 of 1 GPU-hours, 2.00 of 2 kWh left this "
                                             "week"}));
  q.run();
  const auto second = submit();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Error::kBusy);
  EXPECT_NE(second.error().what.find("the job is refused: the week's quota of project bert is used up"),
            std::string::npos)
      << second.error().what;
  Json of_none = job;
  of_none.erase("project");
  const auto third = answered<Json>(q, [&](DaemonService& s) { return s.submit(q.alice, of_none, {}); });
  ASSERT_TRUE(third) << third.error().what;
  EXPECT_TRUE((*third)["quotas"].empty());
}

TEST(DaemonQuotas, WeeksBeginOnMondays) {
  const UnixTime wednesday = from_unix_us(1'763'560'000'000'000);  // 2025-11-19 13:46:40 UTC
  const UnixTime begin = week_start(wednesday), end = week_end(wednesday);
  EXPECT_LE(begin, wednesday);
  EXPECT_GT(end, wednesday);
  EXPECT_NEAR(seconds(end - begin), 7 * 86'400, 3'600);
  EXPECT_EQ(week_start(begin), begin);
  EXPECT_EQ(week_start(end), end);
  EXPECT_EQ(week_end(begin), end);
}

}  // namespace
}  // namespace smartmig
