// Random platforms, workloads and layouts for the property tests, and the invariants that hold at every event of every
// run. A world is a pure function of its seed, which every failure prints.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "policy/layouts/repartitioners.h"
#include "sched/session.h"
#include "sim/sim_fleet.h"
#include "support/cases.h"

namespace smartmig::random_world {

struct World {
  std::uint64_t seed = 0;
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  std::vector<Shape> shapes;  // one per GPU
  std::vector<Layout> initial;
  std::string words() const {
    return fmt::format("seed {}: {} with power {}, {} jobs", seed, platform->spec(), platform->power_spec(),
                       jobs->size());
  }
};

inline Shape random_shape(Rng& rng, const Platform::Model& model, bool maximal) {
  const std::vector<Shape> shapes = maximal ? model.shapes->maximal_shapes() : model.shapes->shapes();
  return shapes[rng.below(shapes.size())];
}

inline std::shared_ptr<const Platform> random_platform(Rng& rng) {
  const std::uint64_t kind = rng.below(6), some = 1 + rng.below(3), few = 1 + rng.below(3), many = 1 + rng.below(9),
                      watts = rng.below(6);
  const char* models[] = {"paper", "a100-sxm", "a100-jobs", "h100-nvl", "h200", "linear:50:60:250"};
  std::string spec, power = "linear:60:45:300";
  if (kind == 0) {
    spec = fmt::format("{}xa100-40gb,{}xa30-24gb", some, few);
  } else if (kind == 1) {
    spec = fmt::format("{}xh200-141gb{},{}xa100-40gb", some, watts == 5 ? "-soft" : "", few);
    if (watts < 3) power = "auto";
  } else if (kind == 2) {
    spec = fmt::format("{}xrtx-pro-6000-blackwell-96gb,{}xa100-40gb", some, few);
  } else {
    spec = fmt::format("{}xa100-40gb", many);
    power = models[watts];
  }
  return std::make_shared<const Platform>(std::move(Platform::parse(spec, power).value()));
}

// Time is counted in ticks of a world: whole microseconds in small numbers (many equal instants), whole seconds, or
// anything.
inline Job random_job(Rng& rng, double tick, double span, int kinds, const Platform& platform) {
  const auto ticks = [&](double most) {
    return tick > 0 ? tick * double(rng.below(std::uint64_t(most / tick) + 1)) : rng.uniform(0, most);
  };
  Job job;
  job.submit = Time(std::int64_t(ticks(span)));
  const double first = rng.below(20) == 0 ? 0 : ticks(span / 3);
  const int curve = int(rng.below(5));
  double whole = first;
  for (const int size : {1, 2, 3, 4, 7}) {
    double work = first;
    if (curve == 0) work = first / size;
    if (curve == 1) work = first / (1 + 0.4 * (size - 1));
    if (curve == 2) work = first / std::min(3, size);
    if (curve == 3) work = first * rng.uniform(0.2, 1.05);
    if (curve == 4) work = first * (1 - 0.002 * size);  // sizes that differ by little: rounding decides
    if (tick > 0) work = tick * double(std::int64_t(work / tick));
    whole = work;
    if (rng.below(12) != 0) job.work[std::size_t(size - 1)] = Time(std::int64_t(work));
  }
  if (std::all_of(job.work.begin(), job.work.end(), [](Time t) { return t < Time{0}; }))
    job.work[6] = Time(std::int64_t(whole));
  if (platform.models()[0].gpu->compute_slices() < 7 && job.work[0] < Time{0}) job.work[0] = Time(std::int64_t(first));
  double slack = rng.below(3) == 0 ? rng.uniform(-2, 1) : rng.uniform(1, 4);
  if (curve == 4 && rng.below(2) == 0) slack = rng.uniform(0.99, 1.02);
  job.deadline = rng.below(15) == 0 ? kNever : job.submit + Time(std::int64_t(slack * whole));
  job.kind = int(rng.below(std::uint64_t(kinds) + 1)) - 1;
  if (rng.below(6) == 0) job.mem_mib = int(rng.below(20000));
  if (rng.below(2) == 0) job.restart = Time(std::int64_t(ticks(span / 20)));
  return job;
}

// `crowded`: most jobs are slowed by their neighbours.
inline World make(std::uint64_t seed, bool crowded = false) {
  Rng rng(seed, 77);
  World world;
  world.seed = seed;
  world.platform = random_platform(rng);
  for (;;) {
    auto workload = std::make_shared<Workload>();
    workload->source = fmt::format("seed {}", seed);
    workload->kinds = {"bert-infer", "resnet50-infer", "bert-train", "resnet50-train"};
    const double ticks[] = {1, 1e6, 0};
    const double tick = ticks[rng.below(3)];
    const double span = tick != 1 ? 3600e6 : rng.below(2) == 0 ? 200 : 5000;
    const std::size_t count = 1 + rng.below(tick == 1 ? 40 : 20 * world.platform->gpus() + 1);
    for (std::size_t i = 0; i < count; ++i) workload->jobs.push_back(random_job(rng, tick, span, 4, *world.platform));
    sort_by_submit(*workload);
    Rng slows(seed, 78);
    for (Job& job : workload->jobs)
      if (crowded && slows.below(4) != 0) job.crowding = {slows.uniform(0, 2), slows.uniform(0, 2)};
    validate(*workload).value();
    auto table = JobTable::bind(workload, *world.platform);
    if (!table) continue;  // a job that fits no slice of this platform: draw again
    world.jobs = std::make_shared<const JobTable>(std::move(*table));
    break;
  }
  for (std::size_t g = 0; g < world.platform->gpus(); ++g) {
    const Platform::Model& model = world.platform->model(GpuId(g));
    world.shapes.push_back(random_shape(rng, model, rng.below(4) != 0));
    world.initial.push_back(model.shapes->realise(world.shapes.back(), {}, {}).value());
  }
  return world;
}

// Changes shapes at random arrivals and completions (not at changes of instances: those would follow each other for
// ever); what it asks depends on (seed, decision) alone.
class RandomShapes : public Repartitioner {
 public:
  RandomShapes(const World& world, std::uint64_t one_in) : shapes_(world.shapes), seed_(world.seed), one_in_(one_in) {}
  std::vector<Shape> initial() const override { return shapes_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override {
    Rng rng(seed_, cluster.decision());
    if (rng.below(one_in_) != 0 || cluster.news().back().job == kNoJob) return;
    for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
      if (rng.below(2) == 0) wanted.emplace_back(GpuId(g), random_shape(rng, cluster.platform().model(GpuId(g)), true));
  }

 private:
  std::vector<Shape> shapes_;
  std::uint64_t seed_, one_in_;
};

// What must hold whatever the policy does.
class Invariants {
 public:
  void check(const Cluster& cluster) {
    ASSERT_GE(cluster.now(), last_);
    last_ = cluster.now();
    std::size_t running = 0, unfinished = 0;
    double idle_watts = 0;
    for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
      const GpuState& gpu = cluster.gpus()[g];
      const Platform::Model& model = cluster.platform().model(GpuId(g));
      ASSERT_TRUE(gpu.layout.contains(gpu.busy));
      int slices = 0;
      double added = 0;
      for (std::size_t p = 0; p < 32; ++p) {
        const JobId job = gpu.job_at[p];
        ASSERT_EQ(job != kNoJob, gpu.busy.contains(PlacementId(p)));
        if (job == kNoJob) continue;
        ++running;
        const JobState& state = cluster.state(job);
        ASSERT_EQ(state.phase, JobPhase::kRunning);
        ASSERT_EQ(index(state.gpu), g);
        ASSERT_EQ(index(state.where), p);
        ASSERT_GE(cluster.jobs().work(job, state.type), Time{0});
        ASSERT_GE(state.finish, cluster.now());
        slices += model.slices_of_placement[p];
        const Job& said = cluster.jobs().job(job);
        const double others = double(gpu.busy_slices - model.slices_of_placement[p]) / model.gpu->compute_slices();
        ASSERT_NEAR(cluster.crowding(job), std::exp(said.crowding.log_slowdown * (others - said.crowding.beside)),
                    1e-9);
        added += cluster.jobs().added_watts(job, state.type) / cluster.crowding(job);
      }
      ASSERT_EQ(slices, gpu.busy_slices);
      ASSERT_NEAR(gpu.watts, model.power.watts(slices, added), 1e-9 * gpu.watts);
      idle_watts += model.power.idle();
    }
    ASSERT_EQ(running, cluster.running());
    double attributed = 0;
    for (std::size_t j = 0; j < cluster.jobs().size(); ++j) {
      const JobState& state = cluster.states()[j];
      unfinished += state.phase == JobPhase::kQueued || state.phase == JobPhase::kRunning;
      attributed += cluster.attributed_joules(JobId(j));
      ASSERT_EQ(state.phase == JobPhase::kAbsent, j >= cluster.counters().arrivals);
      if (state.phase == JobPhase::kDone) {
        ASSERT_GE(state.finish, cluster.jobs().job(JobId(j)).submit);
      }
    }
    ASSERT_EQ(unfinished, cluster.unfinished());
    const double total = cluster.total_joules();
    ASSERT_GE(total, joules_ - 1e-9 * joules_);
    joules_ = total;
    ASSERT_NEAR(attributed + idle_watts * seconds(cluster.now()), total, 1e-9 * total + 1e-12);
  }

 private:
  Time last_{};
  double joules_ = 0;
};

class Checked : public Policy {
 public:
  explicit Checked(Policy& inner) : inner_(inner) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    if (!::testing::Test::HasFatalFailure()) invariants_.check(cluster);
    inner_.decide(cluster, plan);
  }

 private:
  Policy& inner_;
  Invariants invariants_;
};

// The simulated world, with its promises checked on the way.
class CheckedFleet : public Fleet {
 public:
  explicit CheckedFleet(const Cluster& cluster) : fleet_(cluster), finished_(cluster.jobs().size()) {}
  bool next(const Cluster& cluster, Event& event) override {
    return fleet_.next(cluster, event) && check(cluster, event);
  }
  bool also_happens(const Cluster& cluster, Event& event) override {
    return fleet_.also_happens(cluster, event) && check(cluster, event);
  }
  bool check(const Cluster& cluster, const Event& event) {
    EXPECT_GE(event.at, cluster.now());
    if (event.kind == EventKind::kFinished) {
      EXPECT_EQ(++finished_[index(event.job)], 1);
      const Job& job = cluster.jobs().job(event.job);
      Time fastest = kNever;
      for (const Time work : cluster.jobs().work_row(event.job))
        if (work >= Time{0}) fastest = std::min(fastest, work);
      // Each change of size rounds to a microsecond, and so does each coming and going of those that slow it.
      Time rounding(2 * cluster.state(event.job).stops);
      if (job.crowding.log_slowdown > 0) {
        fastest = Time(std::int64_t(double(fastest.count()) * job.crowding.factor(0)));
        rounding += Time(8 * std::int64_t(1 + cluster.decision()));
      }
      EXPECT_GE(event.at + rounding, job.submit + fastest);
    }
    if (event.kind == EventKind::kDestroyed) {
      EXPECT_TRUE((event.layout & cluster.gpu(event.gpu).busy).empty());
      EXPECT_TRUE((event.layout & cluster.gpu(event.gpu).target).empty());
    }
    return true;
  }
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override {
    stops_ += action.kind == EventKind::kStopped;
    fleet_.begin(cluster, action, at_once);
  }
  int stops() const { return stops_; }
  int finished(std::size_t job) const { return finished_[job]; }

 private:
  SimFleet fleet_;
  std::vector<int> finished_;
  int stops_ = 0;
};

}  // namespace smartmig::random_world
