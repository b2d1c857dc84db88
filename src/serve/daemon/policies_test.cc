// What is predicted is what decides: eta against what then happens, on emulated GPUs and a virtual clock.
#include "queue/policies/policies.h"

#include "serve/api/daemon_service.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

// As many watts as one busy board and one idle one draw.
void limit(DaemonHostOptions& options, const char* policy) {
  const Platform fleet = Platform::parse("2xa100-40gb", "auto").value();
  const PowerModel& power = fleet.models()[0].power;
  options.settings.policy.name = policy;
  options.tick = kNever;  // decisions at events only, as in a future
  options.settings.energy.sample = from_minutes(2);
  options.settings.overtaking.bound = 3;
  options.settings.power.fleet_cap_w = power.idle() + (power.is_table() ? power.watts(7, 0) : power.cap());
}

// The shipped network for hardware costs is what the daemon takes by default.
TEST(Policies, ANetworkThatWasTrainedForFreeChangesIsRefused) {
  Settings settings;
  settings.policy.name = "meanfield+cedf";
  const auto platform = std::make_shared<const Platform>(Platform::parse("8xa100-40gb", "auto").value());
  const auto made = [&] {
    Policies policies(settings, platform, CostModel{CostModel::kHardware, {}}, {},
                      std::make_shared<const GpuWindows>());
    return policies.make();
  };
  const auto by_default = made();
  EXPECT_TRUE(by_default) << by_default.error().what;
  for (const char* name : {"meanfield", "single-low"}) {
    settings.policy.network = name;
    const auto refused = made();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("was trained for costs 'paper'"), std::string::npos) << refused.error().what;
  }
}

TEST(Daemon, JobsStartWhenEtaSaysUnderACapAndABoundOnOvertaking) {
  std::uint64_t drains = 0;
  for (const char* policy : {"planner", "static[4g+2g+1g]+cedf"}) {
    SCOPED_TRACE(policy);
    TestQueue q("2xa100-40gb", [&](DaemonHostOptions& options) { limit(options, policy); });
    const auto submit = [&](double minutes, double deadline_min, int min_slices) {
      return q.submit(q.alice, minutes, [&](JobSpec& spec) {
        spec.mem_mib = 1000;
        spec.min_slices = min_slices;
        spec.deadline = q.daemon().now() + from_minutes(deadline_min);
      });
    };
    q.run(5);
    for (int i = 0; i < 4; ++i) submit(20 + i, 60, 1);
    q.run(1);
    const QueueId patient = submit(30, 6000, 7);  // can wait, and would until the crowd is gone
    q.run(1);
    for (int i = 0; i < 24; ++i) submit(7 + i % 5, 30 + i, 1);
    q.run(12);
    std::vector<QueueId> waiting;
    for (const auto& [id, job] : q.daemon().live_jobs())
      if (job.status == JobStatus::kQueued) waiting.push_back(id);
    ASSERT_GT(waiting.size(), 8u);
    std::map<QueueId, double> expected{{patient, 0}, {waiting[waiting.size() / 2], 0}, {waiting.back(), 0}};
    for (auto& [id, start] : expected) {
      const auto eta =
          answered<Service::Json>(q, [&, job = id](DaemonService& s) { return s.eta(q.alice, number(job)); });
      ASSERT_TRUE(eta) << eta.error().what;
      start = (*eta)["expected_start_at"].get<double>();
    }
    q.run();
    for (const auto& [id, start] : expected)
      EXPECT_NEAR(unix_seconds(q.ended(id).times.first_started), start, 0.01) << "job " << number(id);
    const PolicyStack& stack = q.daemon().policies().stack();
    EXPECT_GT(stack.power_cap()->held_back_starts(), 0u) << "nothing was held back: the case tests nothing";
    drains += stack.overtaking()->drains();
  }
  EXPECT_GT(drains, 0u) << "nobody was overtaken: the case tests nothing";
}

TEST(Daemon, WhoWasOvertakenIsKnownAfterARestart) {
  const auto plain = [](DaemonHostOptions& options) {
    options.settings.policy.name = "static[4g+2g+1g]+cedf";
    options.settings.overtaking.bound = 1000;
  };
  TestQueue q("1xa100-40gb", plain);
  const auto small = [](JobSpec& spec) {
    spec.mem_mib = 1000;
    spec.deadline = from_unix_us(1);
  };
  for (int i = 0; i < 3; ++i) q.submit(q.alice, 10, small);
  q.run(0.5);
  const QueueId wide = q.submit(q.alice, 10, [](JobSpec& spec) { spec.min_slices = 7; });
  q.run(0.5);
  for (int i = 0; i < 12; ++i) q.submit(q.alice, 3, small);
  q.run(25);
  const auto overtaken = [&] {
    const Daemon& daemon = q.daemon();
    return daemon.policies().stack().overtaking()->overtaken(daemon.state().session.belief().row(wide));
  };
  const std::uint32_t before = overtaken();
  ASSERT_GT(before, 2u) << "nobody was overtaken: the case tests nothing";
  q.host.reset();
  q.open("1xa100-40gb", plain);
  q.run(0.1);
  EXPECT_GE(overtaken(), before);
  ASSERT_TRUE(q.daemon().set_settings(q.daemon().state().settings));
  q.run(0.1);
  EXPECT_GE(overtaken(), before) << "other settings forget nobody";
}

}  // namespace
}  // namespace smartmig
