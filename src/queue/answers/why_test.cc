#include "queue/answers/why.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;
constexpr CostModel kHardware{CostModel::kHardware, {}};

struct Scene {
  Scene()
      : fleet(platform("2xa100-40gb")),
        jobs(bind({job(0, 100, {10, 5, 4, 3, 2}), job(0, 100, {-1, -1, -1, -1, 2}), job(0, 100, {10, 5, 4, 3, 2})},
                  *fleet)),
        cluster(fleet, jobs, kHardware, layouts(*fleet, {"7g@0", "3g@0+3g@4"})) {
    cluster.begin_decision();
    for (int i = 0; i < 3; ++i) cluster.apply(Event::submitted(Time{0}, JobId(i)));
    in.cluster = &cluster;
    in.job = JobId(1);
    in.name = "job 2";
    in.min_slices = 7;
  }
  void start(int id, int gpu, const char* where) {
    cluster.apply(Event::started(cluster.now(), JobId(id), GpuId(gpu), slice(*fleet, std::size_t(gpu), where)));
  }
  std::shared_ptr<const Platform> fleet;
  std::shared_ptr<const JobTable> jobs;
  Cluster cluster;
  WhyInput in;
};

TEST(Why, FirstWhatStopsEverything) {
  Scene s;
  s.in.power.held = true;
  s.in.power.fleet_cap_w = 900;
  s.in.power.fleet_w = 850;
  const auto code = [&] {
    const Why why = why_waiting(s.in);
    EXPECT_FALSE(why.sentence.empty());
    EXPECT_FALSE(why.to_change.empty());
    return why.code;
  };
  EXPECT_EQ(code(), "power_cap");
  EXPECT_NE(why_waiting(s.in).sentence.find("900 W for the fleet"), std::string::npos);
  s.in.host.mem_mib = 10;
  s.in.host.free_mem_mib = 9;
  EXPECT_EQ(code(), "host_memory");
  s.in.host.cpus = 4;
  s.in.host.free_cpus = 3.5;
  EXPECT_EQ(code(), "host_cpus");
  s.in.user.full = true;
  EXPECT_EQ(code(), "user_slices_cap");
  s.in.array_limit = "array 7 runs 4 of at most 4 tasks";
  EXPECT_EQ(code(), "held_array_limit");
  s.in.dependency = "job 1 to end well";
  EXPECT_EQ(code(), "held_dependency");
  s.in.paused = true;
  EXPECT_EQ(code(), "queue_paused");
  s.in.disk = "the disk of /var/lib/smartmig is full";
  EXPECT_EQ(code(), "disk_full");
}

TEST(Why, WhereItsSlicesAre) {
  Scene s;
  EXPECT_EQ(why_waiting(s.in).code, "policy_waits") << "GPU 0 is free";
  s.start(0, 0, "7g@0");
  const Why busy = why_waiting(s.in);
  EXPECT_EQ(busy.code, "slices_busy");
  EXPECT_NE(busy.sentence.find("in about 2 min"), std::string::npos) << busy.sentence;
  s.cluster.apply(Event::reshape_asked(min(1), GpuId(1), layout(*s.fleet, 1, "7g@0")));
  EXPECT_EQ(why_waiting(s.in).code, "reshape_under_way");
  s.in.failing[1] = "creating 7g.40gb@0 failed 4 times: no; smartmig tries again in 20 s";
  const Why fails = why_waiting(s.in);
  EXPECT_EQ(fails.code, "reshape_fails");
  EXPECT_NE(fails.sentence.find("GPU 1: creating 7g.40gb@0 failed 4 times"), std::string::npos) << fails.sentence;
  for (int g = 0; g < 2; ++g) s.cluster.apply(Event::blocked(min(1), GpuId(g)));
  EXPECT_EQ(why_waiting(s.in).code, "gpus_drained");
  s.in.reread[0] = "one of its slices is gone";
  EXPECT_EQ(why_waiting(s.in).code, "gpu_reread");
  EXPECT_NE(why_waiting(s.in).sentence.find("GPU 0: one of its slices is gone"), std::string::npos);
  s.in.job = kNoJob;
  s.in.mem_mib = 50000;
  const Why never = why_waiting(s.in);
  EXPECT_EQ(never.code, "no_gpu_fits");
  EXPECT_NE(never.sentence.find("50000 MiB"), std::string::npos);
}

TEST(Why, ASliceThatADeadProcessHoldsIsNamed) {
  Scene s;
  s.start(0, 0, "7g@0");  // in the belief it is busy
  s.in.quarantined[{0, index(slice(*s.fleet, 0, "7g@0"))}] = "process 77 is dead and holds 9 MiB there";
  const Why why = why_waiting(s.in);
  EXPECT_EQ(why.code, "slice_quarantined");
  EXPECT_NE(why.sentence.find("7g.40gb@0 of GPU 0: process 77"), std::string::npos) << why.sentence;
  s.in.job = JobId(2);  // takes any slice
  EXPECT_EQ(why_waiting(s.in).code, "policy_waits") << "GPU 1 is free";
  s.start(2, 1, "3g@0");
  s.start(1, 1, "3g@4");
  s.in.job = kNoJob;
  s.in.min_slices = 1;
  const Why busy = why_waiting(s.in);
  EXPECT_EQ(busy.code, "slices_busy");
  EXPECT_NE(busy.sentence.find("all 2 slices that could hold"), std::string::npos) << busy.sentence;
  EXPECT_NE(busy.sentence.find("out of service: 7g.40gb@0 of GPU 0"), std::string::npos) << busy.sentence;
}

TEST(Why, ASliceIsMadeNowOrOnceAJobHasEnded) {
  Scene s;
  s.cluster.apply(Event::blocked(Time{0}, GpuId(0)));
  s.start(2, 1, "3g@0");
  const GpuModel& model = *s.fleet->model(GpuId(1)).gpu;
  s.cluster.apply(Event::reshape_asked(Time{0}, GpuId(1), parse_layout(model, "7g@0").value()));
  Why why = why_waiting(s.in);
  EXPECT_EQ(why.code, "slices_busy");
  EXPECT_NE(why.sentence.find("when job 2 on 3g.20gb@0 of GPU 1 has ended, in about "), std::string::npos)
      << why.sentence;
  s.cluster.apply(Event::finished(min(4), JobId(2)));
  why = why_waiting(s.in);
  EXPECT_EQ(why.code, "reshape_under_way") << why.sentence;
}

TEST(Why, AReservationIsTold) {
  Scene s;
  s.start(0, 0, "7g@0");
  BoundedOvertaking guard(std::move(make_policy("static+cedf", {}, kHardware, *s.fleet).value().policy), {0, kNever});
  Plan plan;
  s.cluster.apply(Event::destroyed(min(1), GpuId(1), {}));
  guard.decide(s.cluster, plan);
  ASSERT_NE(guard.reservation_of(JobId(1)), nullptr);
  s.in.overtaking = &guard;
  const Why why = why_waiting(s.in);
  EXPECT_EQ(why.code, "overtaken_drain");
  EXPECT_NE(why.sentence.find("7g.40gb@0 of GPU"), std::string::npos) << why.sentence;
}

TEST(Why, WhatIsReservedAndWhatHasToEndBefore) {
  Scene s;
  s.start(0, 0, "7g@0");
  s.in.origin = from_unix_us(1'000'000'000);
  s.in.planned = {{JobId(2), GpuId(0), slice(*s.fleet, 0, "3g@0"), min(2), min(2), min(6)},
                  {JobId(1), GpuId(0), slice(*s.fleet, 0, "7g@0"), min(6), min(6), min(8)}};
  Why why = why_waiting(s.in);
  EXPECT_EQ(why.code, "slices_busy");
  ASSERT_TRUE(why.reservation);
  EXPECT_EQ(why.reservation->slice, "7g.40gb@0");
  EXPECT_EQ(why.reservation->start, s.in.origin + min(6));
  EXPECT_EQ(why.reservation->after, (std::vector<std::string>{"0", "2"}));
  const auto json = to_json(2, why)["reservation"];
  EXPECT_EQ(json["gpu"], 0);
  EXPECT_EQ(json["start_at"], 1360.0);
  EXPECT_TRUE(json["held_until"].is_null());
  s.in.planned[1].latest = min(30);
  why = why_waiting(s.in);
  EXPECT_EQ(why.code, "held_for_energy");
  EXPECT_NE(why.sentence.find("waits to save energy; it starts by "), std::string::npos) << why.sentence;
  EXPECT_EQ(to_json(2, why)["reservation"]["held_until"], 2800.0);
}

// Nothing uses the free slices: no better use is claimed for them.
TEST(Why, FreeSlicesAreNotSaidToBeUsed) {
  Scene s;
  s.in.job = JobId(2);
  s.in.policy = "best";
  EXPECT_EQ(why_waiting(s.in).sentence, "best keeps the free slices for jobs ahead of job 2");
  s.in.planned = {{JobId(2), GpuId(0), slice(*s.fleet, 0, "7g@0"), min(0.5), min(0.5), min(1)}};
  EXPECT_EQ(why_waiting(s.in).sentence,
            "job 2 ends earlier by waiting for 7g.40gb@0 of GPU 0 than on a slice that is free now");
  s.in.planned.clear();
  s.start(0, 0, "7g@0");
  s.start(1, 1, "3g@0");
  EXPECT_EQ(why_waiting(s.in).sentence, "best has not given job 2 one of the free slices");
}

TEST(Why, AlternativesArePriced) {
  Scene s;
  s.start(0, 0, "7g@0");
  s.start(2, 1, "3g@0");
  Why why = why_waiting(s.in);
  Fork live = fork(s.cluster);
  live.decided = true;  // about what there is: a change is decided about all the same
  why.alternatives = priced_alternatives(
      live, 1, maker_of(PolicySpec{"planner", {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}}),
      EnergyPrices{0.3, 6}, UnixTime{});
  ASSERT_EQ(why.alternatives.size(), 4u);
  EXPECT_EQ(why.alternatives[0].what, "unchanged");
  EXPECT_EQ(why.alternatives[2].what, "on a slice of any size");
  EXPECT_LE(why.alternatives[2].finish, why.alternatives[0].finish) << "it may choose among more slices";
  EXPECT_LT(why.alternatives[3].start, why.alternatives[0].start) << "the new GPU is idle";
  for (const Alternative& a : why.alternatives) {
    EXPECT_GT(a.energy_j, 0);
    ASSERT_TRUE(a.cost.has_value());
    EXPECT_NEAR(*a.cost, a.energy_j / 3.6e6 * 0.3, 1e-9) << "nothing is late here";
  }
  EXPECT_EQ(why.alternatives[0].late_s.has_value(), live.jobs[1].declared != kNever);
  const auto json = to_json(2, why);
  EXPECT_EQ(json["job"], 2);
  EXPECT_EQ(json["code"], "slices_busy");
  EXPECT_EQ(json["alternatives"].size(), 4u);
  EXPECT_TRUE(
      priced_alternatives(fork(s.cluster), 7,
                          maker_of(PolicySpec{"planner", {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}}), {},
                          UnixTime{})
          .empty());
}

}  // namespace
}  // namespace smartmig
