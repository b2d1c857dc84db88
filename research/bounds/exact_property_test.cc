// Bounds against the optimum of tiny cases and against every policy: bound <= optimum <= policy. The optimum is an
// interval, so every bound <= its upper end, and its lower end <= every policy. Also the tardiness program against
// policies on small queues.
#include <gtest/gtest.h>

#include "bound/certificate_make.h"
#include "eval/experiment.h"
#include "property/random_world.h"
#include "research/bounds/exact.h"
#include "research/bounds/paper_energy.h"
#include "research/bounds/tardiness_mip.h"

namespace smartmig {
namespace {

constexpr double kExactA = 1e-2;

struct Queue {
  Setting setting;
  Day day;
  bool linearisable = true;
};

// Jobs in half minutes, of all curves but (where asked) superlinear ones; deadlines tight, past, or none.
Queue random_queue(std::uint64_t seed, std::size_t most_jobs, std::size_t most_gpus, bool superlinear) {
  Rng rng(seed, 501);
  Queue queue;
  queue.setting.platform =
      std::make_shared<Platform>(Platform::parse(fmt::format("{}xa100-40gb", 1 + rng.below(most_gpus))).value());
  queue.setting.a = kExactA;
  auto workload = std::make_shared<Workload>();
  const std::size_t count = 1 + rng.below(most_jobs);
  for (std::size_t j = 0; j < count; ++j) {
    Job job;
    job.submit = Time(30'000'000 * std::int64_t(rng.below(6)));
    const double first = rng.below(12) == 0 ? 0 : 30e6 * double(2 + rng.below(14));
    const std::uint64_t curve = rng.below(superlinear ? 4 : 3);
    queue.linearisable = queue.linearisable && curve != 3;
    for (const int size : {1, 2, 3, 4, 7}) {
      const double gain[] = {double(size), 1 + 0.5 * (size - 1), double(std::min(size, 3)),
                             size == 7 ? 10.0 : double(size)};
      job.work[std::size_t(size - 1)] = Time(std::int64_t(first / gain[curve]));
    }
    const double slack = rng.below(4) == 0 ? -1 : rng.uniform(0.8, 2.5);
    job.deadline = rng.below(8) == 0 ? kNever : job.submit + Time(std::int64_t(slack * double(job.work[6].count())));
    workload->jobs.push_back(job);
  }
  sort_by_submit(*workload);
  validate(*workload).value();
  queue.day = {seed, std::make_shared<JobTable>(std::move(JobTable::bind(workload, *queue.setting.platform).value()))};
  return queue;
}

const char* const kPolicies[] = {"none+edf",        "static[3]+cedf", "static[5]+edf",
                                 "static[8]+met-w", "static[12]+edf", "static[2]+llf-fast"};
constexpr double kRounding = 1e-6;  // microseconds of rounding at each change of size

TEST(ExactProperty, BoundsOptimumPolicies) {
  double widest = 0, reached = 0, optima = 0;
  for (int i = 0; i < cases(14); ++i) {
    Queue queue = random_queue(9000 + std::uint64_t(i), 3, 2, true);
    SCOPED_TRACE(
        fmt::format("seed {}: {} jobs on {}", queue.day.seed, queue.day.jobs->size(), queue.setting.platform->spec()));
    const Platform& platform = *queue.setting.platform;
    const JobTable& jobs = *queue.day.jobs;
    const auto enclose = [&](double energy, double tardiness) {
      return exact_optimum(platform, jobs, {energy, tardiness, 1, {60, 200}}).value();
    };
    const ExactOptimum et = enclose(kExactA, 1), energy = enclose(1, 0), tardiness = enclose(0, 1);
    for (const ExactOptimum* e : {&et, &energy, &tardiness}) ASSERT_LE(e->lower, e->upper + kRounding);
    // Together they cost no less than apart.
    ASSERT_LE(kExactA * energy.lower + tardiness.lower, et.upper + kRounding);
    widest = std::max(widest, et.upper / std::max(1e-9, et.lower) - 1);
    const auto lagrangian = [&](Objective objective) {
      return make_certificate(platform, jobs, objective, kExactA, {0.5, {}}).value().bound;
    };
    const double et_bound = lagrangian(Objective::kEt);
    ASSERT_LE(et_bound, et.upper * (1 + kRounding));
    ASSERT_LE(lagrangian(Objective::kEnergy), energy.upper * (1 + kRounding));
    ASSERT_LE(lagrangian(Objective::kTardiness), tardiness.upper + kRounding);
    reached += et_bound;
    optima += et.upper;
    const auto paper_energy = paper_energy_bound_joules(platform, jobs);
    const auto paper_tardiness = tardiness_bound(platform, jobs, {0.5, 0, {}, false, {60, 50}});
    ASSERT_EQ(bool(paper_energy), bool(paper_tardiness));
    if (queue.linearisable) {
      ASSERT_TRUE(paper_energy);
    }
    if (paper_energy) {
      ASSERT_LE(watt_minutes(*paper_energy), energy.upper * (1 + kRounding));
      ASSERT_LE(paper_tardiness->mean_min, tardiness.upper + kRounding);
      const auto runs = tardiness_bound(platform, jobs, {0.5, 0, {}, false, {60, 0}, 200, 8});
      ASSERT_TRUE(runs);
      ASSERT_LE(runs->mean_min, tardiness.upper + kRounding);
    }
    for (const char* policy : kPolicies)
      for (const auto kind : {CostModel::kPaper, CostModel::kHardware}) {
        queue.setting.cost = {kind, {}};
        const auto run = run_day(queue.setting, contender_of(policy, {}), queue.day);
        ASSERT_TRUE(run) << run.error().what;
        SCOPED_TRACE(fmt::format("{}, {} costs", policy, queue.setting.cost.name()));
        ASSERT_LE(et.lower, run->et_sum * (1 + kRounding) + kRounding);
        ASSERT_LE(energy.lower, run->energy_wmin * (1 + kRounding));
        ASSERT_LE(tardiness.lower, run->mean_tardiness_min + kRounding);
      }
  }
  EXPECT_LT(widest, 0.5);  // the interval says something
  EXPECT_GT(reached, 0.7 * optima);
  RecordProperty("share_of_optimum", std::to_string(reached / optima));
}

TEST(TardinessProperty, BoundBelowEveryPolicy) {
  int positive = 0;
  for (int i = 0; i < cases(9); ++i) {
    Queue queue = random_queue(9500 + std::uint64_t(i), 9, 2, false);
    SCOPED_TRACE(
        fmt::format("seed {}: {} jobs on {}", queue.day.seed, queue.day.jobs->size(), queue.setting.platform->spec()));
    const Platform& platform = *queue.setting.platform;
    const JobTable& jobs = *queue.day.jobs;
    const MipLimits limits{60, i % 3 == 0 ? 20 : 0};
    const TardinessBound any = tardiness_bound(platform, jobs, {0.5, 0, {}, false, limits}).value();
    const TardinessBound short_horizon = tardiness_bound(platform, jobs, {0.5, 3, {}, false, limits}).value();
    positive += any.mean_min > 0;
    for (const char* policy : kPolicies) {
      SCOPED_TRACE(policy);
      const Contender contender = contender_of(policy, {});
      const double value = run_day(queue.setting, contender, queue.day).value().mean_tardiness_min;
      ASSERT_LE(any.mean_min, value + kRounding);
      ASSERT_LE(short_horizon.mean_min, value + kRounding);
      if (contender.options.layouts.empty()) continue;
      const Shape shape = parse_shape(*platform.models()[0].gpu, contender.options.layouts).value();
      const std::vector<Shape> layouts(platform.gpus(), shape);
      const TardinessBound linear = tardiness_bound(platform, jobs, {0.5, 0, layouts, false, limits}).value();
      const TardinessBound own = tardiness_bound(platform, jobs, {0.5, 0, layouts, true, limits}).value();
      ASSERT_LE(linear.mean_min, value + kRounding);
      ASSERT_LE(own.mean_min, value + kRounding);
      for (const bool own_speeds : {false, true}) {
        const TardinessBound runs =
            tardiness_bound(platform, jobs, {0.5, 0, layouts, own_speeds, limits, 200, 8}).value();
        ASSERT_LE(runs.mean_min, value + kRounding);
        ASSERT_LE(runs.mean_min, runs.schedule_min + kRounding);
        ASSERT_GE(runs.mean_min, (own_speeds ? own : linear).mean_min - kRounding);
      }
    }
  }
  EXPECT_GT(positive, cases(9) / 4);
}

}  // namespace
}  // namespace smartmig
