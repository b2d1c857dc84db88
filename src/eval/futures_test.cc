#include "eval/futures.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/rng.h"
#include "eval/future_lanes.h"
#include "model/run_quantiles.h"
#include "sched/session.h"
#include "sim/sim_fleet.h"
#include "support/cases.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;
constexpr CostModel kHardware{CostModel::kHardware, {}};

struct World {
  std::shared_ptr<const Platform> fleet;
  std::shared_ptr<const JobTable> jobs;
};

World world(std::string_view spec, int count, double spread_min, std::uint64_t seed = 5, bool crowded = false,
            double unknown = 0) {
  World out{platform(spec), nullptr};
  Rng rng(seed);
  std::vector<Job> list;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    const double minutes = rng.uniform(1, 20);
    list.push_back(job(at, at + minutes * 3, linear(minutes)));
    list.back().spread = unknown;
    if (crowded) list.back().crowding = {rng.uniform(0, 1), rng.uniform(0, 1)};
    at += rng.uniform(0, spread_min);
  }
  out.jobs = bind(std::move(list), *out.fleet);
  return out;
}

PolicyMaker bare(std::string name) {
  return [name](std::shared_ptr<const Platform> p) { return make_policy(name, {}, kHardware, *p); };
}

// The run of a simulation, stopped after its last arrival: the future of the fork is the rest of that run.
TEST(Futures, TheFutureOfASimulationIsTheRestOfIt) {
  struct Case {
    const char* name;
    bool crowded;
  };
  for (const Case one : {Case{"planner", false},
                         {"static+cedf", false},
                         {"none+edf", false},
                         {"static+cedf", true},
                         {"none+edf", true}}) {
    const char* const name = one.name;
    SCOPED_TRACE(fmt::format("{}{}", name, one.crowded ? ", where neighbours slow each other" : ""));
    const World w = world("4xa100-40gb", 60, 2, 5, one.crowded);
    PolicyOptions options;
    options.arrivals = std::make_shared<ArrivalAverages>();
    ArrivalAverages arrivals_then;
    auto named = make_policy(name, options, kHardware, *w.fleet);
    std::vector<Layout> initial;
    for (std::size_t g = 0; g < w.fleet->gpus(); ++g)
      initial.push_back(*w.fleet->model(GpuId(g)).shapes->realise(named->initial[g], {}, {}));
    Cluster cluster(w.fleet, w.jobs, kHardware, initial);
    SimFleet fleet(cluster);
    Session session(fleet, std::move(cluster));
    std::optional<Fork> middle;
    double joules_then = 0;
    for (Plan plan; session.advance(); plan.clear()) {
      named->policy->decide(session.cluster(), plan);
      session.act(plan);
      // At rest, so that no operation under way is cut short.
      const auto& gpus = session.cluster().gpus();
      if (!middle && session.cluster().counters().arrivals == 60 && session.cluster().unfinished() < 30 &&
          std::all_of(gpus.begin(), gpus.end(), [](const GpuState& g) { return g.layout == g.target; })) {
        middle = fork(session.cluster());
        middle->decided = true;
        joules_then = session.cluster().total_joules();
        arrivals_then = *options.arrivals;
      }
    }
    ASSERT_TRUE(middle.has_value());
    // What has been seen of the arrivals goes with the fork, as in the daemon; it is past, and not seen again.
    MemoryJournal journal;
    const auto outcome = run_future(
        *middle,
        [&](std::shared_ptr<const Platform> p) {
          PolicyOptions own;
          own.arrivals = std::make_shared<ArrivalAverages>(arrivals_then);
          return make_policy(name, own, kHardware, *p);
        },
        {}, &journal);
    ASSERT_TRUE(bool(outcome)) << outcome.error().what;
    ASSERT_GT(outcome->jobs.size(), 5u);
    double late = 0;
    for (const JobOutcome& one : outcome->jobs) {
      const Time truth = session.cluster().state(one.live).finish;
      EXPECT_NEAR(seconds(one.finish), seconds(truth), 1e-4) << "job " << index(one.live);
      EXPECT_NEAR(seconds(one.start), seconds(session.cluster().state(one.live).first_start), 1e-4);
      late += std::max(0.0, seconds(truth - w.jobs->job(one.live).deadline));
    }
    EXPECT_NEAR(outcome->late_s, late, 1e-2);
    EXPECT_NEAR(outcome->energy_j, session.cluster().total_joules() - joules_then, 1e-6 * outcome->energy_j);
    // The watts of its lanes add up to the same energy.
    const std::vector<FuturePower> power = lanes_of(*middle, journal.events()).power;
    ASSERT_EQ(power.front().at, middle->now);
    double joules = 0;
    for (std::size_t i = 0; i + 1 < power.size(); ++i) {
      ASSERT_LT(power[i].at, power[i + 1].at);
      joules += power[i].watts * seconds(power[i + 1].at - power[i].at);
    }
    EXPECT_NEAR(joules, outcome->energy_j, 1e-6 * outcome->energy_j);
  }
}

// Before it makes progress again a job that was stopped holds its slice; whoever asks then is told of the whole hold.
TEST(Futures, ARestartsHoldIsNotOver) {
  const World w = world("1xa100-40gb", 1, 1);
  std::vector<Job> one{w.jobs->job(JobId(0))};
  one[0].restart = min(2);
  Cluster cluster(w.fleet, bind(one, *w.fleet), kHardware, {fixture::layout(*w.fleet, 0, "7g@0")});
  const PlacementId where = *cluster.gpus()[0].layout.begin();
  cluster.apply(Event::submitted(min(0), JobId(0)));
  cluster.apply(Event::started(min(0), JobId(0), GpuId(0), where));
  cluster.begin_decision();
  cluster.apply(Event::stopped(min(0.5), JobId(0)));
  cluster.begin_decision();
  cluster.apply(Event::started(min(1), JobId(0), GpuId(0), where));
  const auto outcome = run_future(fork(cluster), bare("none+edf"));
  ASSERT_TRUE(bool(outcome)) << outcome.error().what;
  EXPECT_EQ(outcome->jobs[0].finish, cluster.state(JobId(0)).finish);
}

Fork busy_fork(const World& w, std::string_view layout) {
  Cluster cluster(w.fleet, w.jobs, kHardware,
                  std::vector<Layout>(w.fleet->gpus(), fixture::layout(*w.fleet, 0, layout)));
  cluster.begin_decision();
  for (std::size_t j = 0; j < w.jobs->size(); ++j)
    cluster.apply(Event::submitted(w.jobs->job(JobId(j)).submit, JobId(j)));
  std::uint32_t next = 0;
  for (std::size_t g = 0; g < w.fleet->gpus() && next < w.jobs->size(); ++g)
    cluster.apply(Event::started(cluster.now(), JobId(next++), GpuId(g), *cluster.gpus()[g].layout.begin()));
  cluster.apply(Event::overrun(cluster.now() + min(0.25), JobId(0)));
  return fork(cluster);
}

TEST(Futures, MoreGpusAnotherPolicyAndAnotherJob) {
  const World w = world("2xa100-40gb", 30, 0.1);
  const Fork now = busy_fork(w, "7g@0");
  const PolicyMaker planner = maker_of(PolicySpec{"planner", {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}});
  const auto as_is = run_future(now, planner);
  ASSERT_TRUE(bool(as_is)) << as_is.error().what;
  EXPECT_GE(as_is->last_finish, now.now);
  const auto more = with_gpus(now, "1xa100-40gb");
  ASSERT_TRUE(bool(more));
  const auto larger = run_future(*more, planner);
  ASSERT_TRUE(bool(larger)) << larger.error().what;
  EXPECT_LT(larger->late_s, as_is->late_s);
  const auto fixed =
      run_future(now, maker_of(PolicySpec{"static+cedf", {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}}));
  ASSERT_TRUE(bool(fixed)) << fixed.error().what;
  EXPECT_NE(fixed->last_finish, as_is->last_finish);
  Job extra = job(0, 60, linear(30));
  extra.deadline = now.now + min(30);
  const auto one_more = with_job(now, extra, "bert-train", "extra", {extra.deadline});
  ASSERT_TRUE(bool(one_more));
  const auto crowded = run_future(*one_more, planner);
  ASSERT_TRUE(bool(crowded)) << crowded.error().what;
  EXPECT_GT(crowded->energy_j, as_is->energy_j);
  EXPECT_EQ(crowded->jobs.back().live, kNoJob);
  const EnergyPrices prices{0.3, 10};
  EXPECT_DOUBLE_EQ(as_is->cost(prices), as_is->energy_j / 3.6e6 * 0.3 + as_is->late_s / 3600 * 10);
  EXPECT_FALSE(bool(with_gpus(now, "many")));
  for (const char* more : {"990000xa100-40gb", "600xa100-40gb,600xa100-40gb", "1025xa30-24gb"}) {
    const auto refused = with_gpus(now, more);
    ASSERT_FALSE(bool(refused)) << more;
    EXPECT_NE(refused.error().what.find("limit for simulated futures is 1024"), std::string::npos)
        << refused.error().what;
  }
  Job huge = extra;
  huge.mem_mib = 1 << 30;
  EXPECT_FALSE(bool(with_job(now, huge, "", "huge")));
}

// Starts what waits once the time has come, for which it asks.
class StartsLate : public Policy {
 public:
  explicit StartsLate(Time due) : due_(due) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    if (cluster.now() < due_) {
      plan.look_again = due_;
      return;
    }
    std::uint32_t gpu = 0;
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job), ++gpu)
      if (const GpuState& board = cluster.gpu(GpuId(gpu)); cluster.state(job).phase == JobPhase::kQueued)
        plan.starts.push_back({job, GpuId(gpu), *board.layout.begin()});
  }

 private:
  const Time due_;
};

TEST(Futures, AfterADecisionThePolicyLooksAgainWhenItAskedTo) {
  const World w = world("2xa100-40gb", 2, 0.1);
  Fork fork = busy_fork(w, "7g@0");
  for (ForkJob& one : fork.jobs) one.gpu = kNoGpu, one.where = kNoPlacement, one.started = Time{-1};
  fork.jobs[0].gpu = GpuId(0);
  fork.jobs[0].where = *fork.layouts[0].begin();
  fork.jobs[0].left = from_minutes(60);
  fork.decided = true;
  const Time due = fork.now + from_minutes(7);
  const PolicyMaker late = [&](std::shared_ptr<const Platform>) -> Result<NamedPolicy> {
    return NamedPolicy{"late", std::make_unique<StartsLate>(due), {}, "", {}};
  };
  fork.look_again = due;
  const auto looks = run_future(fork, late);
  ASSERT_TRUE(bool(looks)) << looks.error().what;
  EXPECT_EQ(looks->jobs[1].start, due);
  fork.look_again = kNever;
  const auto waits = run_future(fork, late);
  ASSERT_TRUE(bool(waits)) << waits.error().what;
  EXPECT_EQ(waits->jobs[1].start, fork.now + from_minutes(60)) << "the next event";
}

TEST(Futures, AUsersCapCountsWhatJobsAskedFor) {
  const World w = world("2xa100-40gb", 2, 0.1);
  Fork fork = busy_fork(w, "7g@0");
  for (ForkJob& one : fork.jobs) one.user = 1001, one.gpu = kNoGpu, one.where = kNoPlacement, one.started = Time{-1};
  fork.decided = false;
  fork.host.user_slices = 7;
  const auto starts = [&](int asked) {
    for (ForkJob& one : fork.jobs) one.asked_slices = asked;
    const auto out = run_future(fork, bare("none+edf"));
    EXPECT_TRUE(bool(out)) << out.error().what;
    return std::pair(out->jobs[0].start, out->jobs[1].start);
  };
  EXPECT_NE(starts(0).first, starts(0).second) << "whole GPUs, one after the other";
  EXPECT_EQ(starts(1).first, starts(1).second);
}

TEST(Futures, EtaIsAnIntervalAndRepeats) {
  const World w = world("2xa100-40gb", 20, 0.1, 5, false, 0.3);
  const Fork now = busy_fork(w, "7g@0");
  const PolicyMaker planner = maker_of(PolicySpec{"planner", {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}});
  const auto first = eta(now, planner, 20, 1), again = eta(now, planner, 20, 1), other = eta(now, planner, 20, 2);
  ASSERT_TRUE(bool(first)) << first.error().what;
  bool differs = false;
  for (std::size_t j = 0; j < first->jobs.size(); ++j) {
    const Eta& e = first->jobs[j];
    EXPECT_LE(e.start.p10, e.start.p50);
    EXPECT_LE(e.finish.p10, e.finish.p50);
    EXPECT_LT(e.finish.p10, e.finish.p90);
    EXPECT_LE(e.start.p50, e.finish.p50);
    EXPECT_GE(e.on_time_ratio, 0);
    EXPECT_LE(e.on_time_ratio, 1);
    EXPECT_EQ(e.finish.p50, again->jobs[j].finish.p50);
    EXPECT_EQ(e.on_time_ratio, again->jobs[j].on_time_ratio);
    differs |= e.finish.p50 != other->jobs[j].finish.p50;
  }
  EXPECT_TRUE(differs);
}

Cluster running_alone(const World& w, Time ran) {
  Cluster cluster(w.fleet, w.jobs, kHardware, {fixture::layout(*w.fleet, 0, "7g@0")});
  cluster.begin_decision();
  cluster.apply(Event::submitted(min(0), JobId(0)));
  cluster.apply(Event::started(min(0), JobId(0), GpuId(0), *cluster.gpus()[0].layout.begin()));
  for (Time at = cluster.state(JobId(0)).finish + min(0.02); at <= ran; at = cluster.state(JobId(0)).finish + min(0.02))
    cluster.apply(Event::overrun(at, JobId(0)));
  cluster.pass(ran);
  cluster.begin_decision();
  return cluster;
}

// Ten minutes are believed, with spread 0.6: the quantiles of what is left are those of the lognormal beyond what has run.
TEST(Futures, WhatRunsEndsLaterThanNowHoweverLongItRuns) {
  World w{platform("1xa100-40gb"), nullptr};
  std::vector<Job> one{job(0, 100, linear(10))};
  one[0].spread = 0.6;
  w.jobs = bind(one, *w.fleet);
  for (const double ran : {0.0, 5.0, 9.9, 10.01, 14.0, 40.0, 1000.0}) {
    SCOPED_TRACE(fmt::format("after {} minutes", ran));
    const Cluster cluster = running_alone(w, min(ran));
    const auto etas = eta(fork(cluster), bare("none+edf"), 400, 1);
    ASSERT_TRUE(bool(etas)) << etas.error().what;
    const Eta& mine = etas->jobs.front();
    EXPECT_GT(mine.finish.p10, cluster.now());
    const auto left = [&](double share) { return 10 * left_of_run_at(0.6, ran / 10, share); };
    EXPECT_NEAR(minutes(mine.finish.p10 - cluster.now()), left(0.1), 0.05 * left(0.1));
    EXPECT_NEAR(minutes(mine.finish.p50 - cluster.now()), left(0.5), 0.05 * left(0.5));
    EXPECT_NEAR(minutes(mine.finish.p90 - cluster.now()), left(0.9), 0.05 * left(0.9));
    EXPECT_NEAR(minutes(mine.expected_finish - cluster.now()), left(0.5), 0.01);
  }
}

TEST(Futures, AQuestionThatHasTakenLongEnoughDrawsNoMore) {
  const World w = world("1xa100-40gb", 12, 0.1, 3, false, 0.8);
  const Fork now = busy_fork(w, "7g@0");
  const auto patient = eta(now, bare("none+edf"), 20, 1);
  EXPECT_EQ(eta(now, bare("none+edf"), 20, 1, LookLimit(std::chrono::seconds(0))).error().code, Error::kTimeout);
  // A policy that takes its time: after the first future the patience is over.
  const auto slow = [](std::shared_ptr<const Platform> fleet) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return bare("none+edf")(std::move(fleet));
  };
  const auto hurried = eta(now, slow, 20, 1, LookLimit(std::chrono::milliseconds(250)));
  ASSERT_TRUE(patient && hurried) << hurried.error().what;
  EXPECT_EQ(patient->futures, 20);
  EXPECT_EQ(hurried->futures, 0);
  ASSERT_EQ(hurried->jobs.size(), patient->jobs.size());
  for (std::size_t i = 0; i < hurried->jobs.size(); ++i) {
    EXPECT_EQ(hurried->jobs[i].expected_finish, patient->jobs[i].expected_finish);
    EXPECT_EQ(hurried->jobs[i].finish.p10, hurried->jobs[i].expected_finish);
    EXPECT_EQ(hurried->jobs[i].finish.p90, hurried->jobs[i].expected_finish);
  }
}

// What a policy sees of the times is what is believed, the same in all futures; what then happens is not.
TEST(Futures, ThePolicyOfAFutureDoesNotKnowItsTimes) {
  const World w = world("1xa100-40gb", 12, 0.1, 3, false, 0.8);
  const Fork now = busy_fork(w, "7g@0");
  struct Watching : Policy {
    std::unique_ptr<Policy> policy;
    std::vector<Time>* seen;
    void decide(const Cluster& cluster, Plan& plan) override {
      if (seen->empty())
        for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
          seen->push_back(cluster.state(job).phase == JobPhase::kRunning ? cluster.state(job).finish
                                                                         : cluster.jobs().job(job).work_on(7));
      policy->decide(cluster, plan);
    }
  };
  std::vector<Time> first, second;
  std::vector<Outcome> outcomes;
  for (std::vector<Time>* seen : {&first, &second}) {
    const auto outcome = run_future(
        now,
        [&](std::shared_ptr<const Platform> p) -> Result<NamedPolicy> {
          SMARTMIG_TRY(NamedPolicy named, bare("static[5]+edf")(p));
          auto watching = std::make_unique<Watching>();
          watching->policy = std::move(named.policy);
          watching->seen = seen;
          named.policy = std::move(watching);
          return named;
        },
        Noise{1, std::uint64_t(outcomes.size()), 2});
    ASSERT_TRUE(bool(outcome)) << outcome.error().what;
    outcomes.push_back(*outcome);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(outcomes[0].last_finish, outcomes[1].last_finish);
}

TEST(Futures, APolicyThatNeverStartsAJobIsASentence) {
  const auto fleet = platform("1xa100-40gb");
  const World w{fleet, bind({job(0, 10, {-1, -1, -1, -1, 5})}, *fleet)};
  class Idle : public Policy {
    void decide(const Cluster&, Plan&) override {}
  };
  const auto outcome = run_future(busy_fork(w, "7g@0"), [](std::shared_ptr<const Platform>) -> Result<NamedPolicy> {
    return NamedPolicy{"idle", std::make_unique<Idle>(), {}, {}, {}};
  });
  ASSERT_TRUE(bool(outcome)) << "what runs ends by itself";
  Cluster cluster(fleet, w.jobs, kHardware, layouts(*fleet, {"3g@0+3g@4"}));
  cluster.begin_decision();
  cluster.apply(Event::submitted(Time{0}, JobId(0)));
  const auto waits = run_future(fork(cluster), bare("static[5]+cedf"));
  ASSERT_FALSE(bool(waits));
  EXPECT_NE(waits.error().what.find("never starts 1 of the jobs"), std::string::npos) << waits.error().what;
  cluster.apply(Event::blocked(Time{0}, GpuId(0)));
  EXPECT_FALSE(bool(run_future(
      fork(cluster), maker_of(PolicySpec{"planner", {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}}))))
      << "its only GPU is drained";
}

TEST(Futures, TwentyFuturesOfTwoHundredJobs) {
  for (const double spread : {0.0, 0.6}) {
    const World w = world("8xa100-40gb", 200, 0.01, 5, false, spread);
    const Fork now = busy_fork(w, "4g@0+3g@4");
    for (const char* name : {"planner", "static+cedf"}) {
      const auto begin = std::chrono::steady_clock::now();
      const auto answer =
          eta(now, maker_of(PolicySpec{name, {}, kHardware, Guarding::kUnguarded, OvertakingOptions{}}), cases(20), 1);
      ASSERT_TRUE(bool(answer)) << answer.error().what;
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::printf("[ futures ] 20 of 8 GPUs and 200 jobs, spread %.1f, %s: %.2f s\n", spread, name, took);
    }
  }
}

}  // namespace
}  // namespace smartmig
