// The list planner in random worlds: every job ends, nothing illegal is asked for, no slice is made that no job takes, and
// no job waits on a fleet that has been idle since it came.
#include "policy/planner/list_planner.h"

#include <gtest/gtest.h>

#include "random_world.h"
#include "sim/simulate.h"
#include "sim/workload_spec.h"

namespace smartmig {
namespace {

using namespace random_world;
constexpr CostModel kRealCosts{CostModel::kHardware, {}};

// A policy beside the list planner that looks at every decision.
class WatchedPlanner : public Policy {
 public:
  void decide(const Cluster& cluster, Plan& plan) override {
    planner_.decide(cluster, plan);
    WaitingList anew;
    anew.update(cluster, {});
    std::size_t changing = 0;
    for (const GpuState& gpu : cluster.gpus()) changing += gpu.layout != gpu.target;
    if (cluster.running() == 0 && changing == 0 && !anew.entries().empty())
      EXPECT_FALSE(plan.starts.empty() && plan.reshapes.empty()) << "jobs wait on an idle fleet";
    EXPECT_LE(plan.reshapes.size(), anew.entries().size() + plan.stops.size()) << "more GPUs change than jobs want";
    for (const JobId job : plan.stops) {
      EXPECT_GE(cluster.jobs().job(job).restart, Time{0}) << "it cannot be stopped";
      EXPECT_LT(cluster.state(job).stops, ListPlanner::kMostStops);
    }
    stops_ += plan.stops.size();
    kept_.update(cluster, touched_);
    ASSERT_EQ(kept_.entries().size(), anew.entries().size());
    for (std::size_t i = 0; i < anew.entries().size(); ++i) ASSERT_EQ(kept_.entries()[i].job, anew.entries()[i].job);
    EXPECT_EQ(kept_.late(), anew.late());
    touched_ = plan.stops;
    for (const Start& start : plan.starts) touched_.push_back(start.job);
  }
  std::size_t stops() const { return stops_; }

 private:
  ListPlanner planner_{{1e-4, {}, false}};
  WaitingList kept_;
  std::vector<JobId> touched_;
  std::size_t stops_ = 0;
};

TEST(ListPlannerProperty, EveryJobEndsAndNothingIllegalIsAskedFor) {
  std::size_t stops = 0;
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(std::uint64_t(seed), seed % 4 == 3);
    SCOPED_TRACE(world.words());
    WatchedPlanner policy;
    const auto result = simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->refused, 0u) << result->last_refusal;
    EXPECT_EQ(result->summary.unfinished_jobs, 0u);
    stops += policy.stops();
  }
  EXPECT_GT(stops, 0u) << "no world in which a job was stopped";
}

// Changes that take no time end at the instant at which they were asked for: a slice that is made for one job is not
// given up for another, and that for the first again. On the first of these days it once was, for ever.
TEST(ListPlannerProperty, ChangesThatTakeNoTimeDoNotGoInCircles) {
  constexpr int kMost = 200;  // decisions at one instant
  class Counting : public Policy {
   public:
    explicit Counting(bool patient) : planner_({1e-4, {}, patient}) {}
    void decide(const Cluster& cluster, Plan& plan) override {
      most_ = std::max(most_, at_ == cluster.now() ? ++decisions_ : (decisions_ = 0));
      at_ = cluster.now();
      if (decisions_ < kMost) planner_.decide(cluster, plan);
    }
    int most() const { return most_; }

   private:
    ListPlanner planner_;
    Time at_{-1};
    int decisions_ = 0, most_ = 0;
  };
  const auto platform = std::make_shared<const Platform>(Platform::parse("8xa100-40gb").value());
  for (int day = 0; day < cases(4); ++day)
    for (const bool patient : {true, false}) {
      const std::string spec = fmt::format("paper:12x,slack=2-4,seed={}", 1000 + day);
      SCOPED_TRACE(spec);
      auto workload = load_workload(spec, {}).value();
      for (Job& job : workload.jobs) job.restart = Time{-1};
      const auto jobs = std::make_shared<const JobTable>(
          JobTable::bind(std::make_shared<const Workload>(std::move(workload)), *platform).value());
      Counting policy(patient);
      const auto result =
          simulate({platform, jobs, {CostModel::kHardware, Time{0}}, std::vector<Layout>(8), 2e-7}, policy);
      EXPECT_LT(policy.most(), kMost);
      ASSERT_TRUE(result) << result.error().what;
    }
}

// Moves that cannot pay are left out by bounds, and the list of jobs that may be stopped is kept: the same run.
TEST(ListPlannerProperty, WhatIsLeftOutAndKeptChangesNothing) {
  std::uint64_t stops = 0;
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(40000 + std::uint64_t(seed), seed % 4 == 3);
    SCOPED_TRACE(world.words());
    MemoryJournal journals[2];
    for (const bool plain : {false, true}) {
      ListPlannerOptions options;
      options.w = seed % 2 == 0 ? 1e-4 : 1e-2;
      options.plain = plain;
      ListPlanner policy(options);
      const auto result =
          simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy, &journals[plain]);
      ASSERT_TRUE(result) << result.error().what;
      stops += result->final.counters().preemptions;
    }
    const auto &a = journals[0].events(), &b = journals[1].events();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(a[i].at == b[i].at && a[i].kind == b[i].kind && a[i].job == b[i].job && a[i].gpu == b[i].gpu &&
                  a[i].where == b[i].where && a[i].layout == b[i].layout)
          << "event " << i;
  }
  EXPECT_GT(stops, 0u) << "no world in which a job was stopped";
}

// A job is not started on a slice on which it misses its deadline while an idle slice that exists, and that nobody else
// takes, meets it at no higher cost. Without energy and price, cost is lateness.
TEST(ListPlannerProperty, NoJobIsStartedLateBesideASliceThatMeetsItsDeadline) {
  struct Watched : Policy {
    ListPlanner planner{{0, {0, 0, 0, 4}}};
    void decide(const Cluster& cluster, Plan& plan) override {
      planner.decide(cluster, plan);
      if (cluster.unfinished() - cluster.running() != 1 || plan.starts.size() != 1) return;
      const Start& start = plan.starts[0];
      constexpr Time kLeastRun{1};  // a job without work is planned for a microsecond
      const Time deadline = cluster.jobs().job(start.job).deadline;
      const auto finish = [&](GpuId gpu, PlacementId p) {
        return cluster.finish_on(start.job, cluster.platform().model(gpu).type_of_placement[index(p)]);
      };
      if (deadline == kNever || finish(start.gpu, start.where) <= deadline + kLeastRun) return;
      for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g)
        for (const PlacementId p : cluster.gpus()[g].free())
          if (cluster.platform().model(GpuId(g)).type_of_placement[index(p)] != kNoType)
            EXPECT_GT(finish(GpuId(g), p), deadline) << "job " << index(start.job) << " on GPU " << g;
    }
  };
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(std::uint64_t(seed), seed % 4 == 3);
    SCOPED_TRACE(world.words());
    Watched policy;
    ASSERT_TRUE(simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy));
  }
}

// One job on a fleet of idle GPUs changes at most one of them.
TEST(ListPlannerProperty, OneJobChangesOneGpuAtMost) {
  for (const int gpus : {1, 9, 64, 65, 500}) {
    const auto platform = std::make_shared<const Platform>(Platform::parse(fmt::format("{}xa100-40gb", gpus)).value());
    auto workload = std::make_shared<Workload>();
    Job job;
    job.deadline = from_minutes(22);
    for (int k : {1, 2, 3, 4, 7}) job.work[std::size_t(k - 1)] = from_minutes(16.0 + (7 - k));
    workload->jobs = {job};
    const auto table = std::make_shared<const JobTable>(JobTable::bind(workload, *platform).value());
    const Shape sevens = parse_shape(*platform->models()[0].gpu, "1g*7").value();
    const auto initial = initial_layouts(*platform, std::vector<Shape>(std::size_t(gpus), sevens)).value();
    ListPlanner policy{{1e-4, {}, false}};
    const auto result = simulate({platform, table, kRealCosts, initial, 2e-7}, policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_LE(result->summary.repartitions, 1u) << gpus << " GPUs";
  }
}

// A queue at one moment: some jobs run, the others wait, on slices as they happen to be.
struct Moment {
  World world;
  std::vector<Start> running;
  std::vector<JobId> waiting;

  explicit Moment(std::uint64_t seed) : world(random_world::make(seed)) {
    Rng rng(seed, 91);
    std::vector<Layout> free = world.initial;
    for (std::uint32_t j = 0; j < std::min<std::size_t>(world.jobs->size(), 24); ++j) {
      Start start{JobId(j), kNoGpu, kNoPlacement};
      if (rng.below(3) == 0)
        for (std::uint32_t g = 0; g < free.size() && start.gpu == kNoGpu; ++g)
          for (const PlacementId p : free[g]) {
            const TypeId type = world.platform->model(GpuId(g)).type_of_placement[index(p)];
            if (type != kNoType && world.jobs->work(JobId(j), type) > Time{0}) start.gpu = GpuId(g), start.where = p;
          }
      if (start.gpu == kNoGpu) {
        waiting.push_back(start.job);
        continue;
      }
      free[index(start.gpu)] = free[index(start.gpu)].without(start.where);
      running.push_back(start);
    }
  }

  // Deadlines of the waiting jobs as given; all is submitted and what runs has begun at 0.
  Cluster cluster(const std::vector<Time>& deadlines) const {
    auto workload = std::make_shared<Workload>(world.jobs->workload());
    for (Job& job : workload->jobs) job.submit = Time{0};
    for (std::size_t i = 0; i < waiting.size(); ++i) workload->jobs[index(waiting[i])].deadline = deadlines[i];
    const auto table = std::make_shared<const JobTable>(JobTable::bind(workload, *world.platform).value());
    Cluster out(world.platform, table, kRealCosts, world.initial);
    for (const Start& one : running) out.apply(Event::submitted(Time{0}, one.job));
    for (const JobId job : waiting) out.apply(Event::submitted(Time{0}, job));
    for (const Start& one : running) out.apply(Event::started(Time{0}, one.job, one.gpu, one.where));
    return out;
  }
};

std::optional<PlannedStart> planned_for(const Cluster& cluster, JobId job) {
  for (const PlannedStart& one : ListPlanner({1e-4, {}, false}).planned_starts(cluster))
    if (one.job == job) return one;
  return {};
}

// A deadline never makes a job later: where it would begin now without one it begins now, or is finished earlier by
// waiting. What it has reserved for later is planned anew at every event.
TEST(ListPlannerProperty, ADeadlineNeverMakesAJobLater) {
  int sooner = 0, compared = 0, begun = 0;
  for (int seed = 1; seed <= cases(150); ++seed) {
    const Moment moment{std::uint64_t(seed)};
    if (moment.waiting.empty()) continue;
    SCOPED_TRACE(moment.world.words());
    Rng rng(std::uint64_t(seed), 92);
    std::vector<Time> deadlines;
    for (std::size_t i = 0; i < moment.waiting.size(); ++i)
      deadlines.push_back(rng.below(2) == 0 ? kNever : from_minutes(rng.uniform(0, 600)));
    const std::size_t chosen = rng.below(moment.waiting.size());
    const JobId job = moment.waiting[chosen];
    deadlines[chosen] = kNever;
    const auto without = planned_for(moment.cluster(deadlines), job);
    ASSERT_TRUE(without);
    begun += without->begin == Time{0};
    for (const double minutes : {0.0, 1.0, 30.0, 600.0, 1e6}) {
      deadlines[chosen] = from_minutes(minutes);
      const auto with = planned_for(moment.cluster(deadlines), job);
      ASSERT_TRUE(with);
      ++compared;
      sooner += with->start < without->start;
      if (without->begin != Time{0}) continue;
      EXPECT_TRUE(with->begin == Time{0} || with->finish < without->finish)
          << "job " << index(job) << " due in " << minutes << " min: " << with->start.count() << " to "
          << with->finish.count() << " instead of " << without->start.count() << " to " << without->finish.count();
    }
  }
  EXPECT_GT(begun, cases(20));
  EXPECT_GT(sooner, compared / 20) << "deadlines hardly matter in these queues";
}

}  // namespace
}  // namespace smartmig
