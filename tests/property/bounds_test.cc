// No policy beats a proven bound: random worlds of all shapes, every placer, fixed, random, whole and twice-daily
// layouts, both cost models (each with the
// bound of its world), all three objectives. And the solver's exact job subproblem agrees with the checker's,
// which comes from the other side.
#include <gtest/gtest.h>

#include "bound/certificate_make.h"
#include "bound/checker.h"
#include "policy/registry.h"
#include "random_world.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

using namespace random_world;

struct Bounds {
  double et, energy, tardiness;
};

Bounds bounds_of(const World& world, double a, BoundWorld costs) {
  const auto value = [&](Objective objective) {
    const auto certificate = make_certificate(*world.platform, *world.jobs, objective, a, {0.02, {}}, costs);
    EXPECT_TRUE(certificate) << certificate.error().what;
    if (!certificate) return 0.0;
    const auto again = parse_certificate("memory", certificate_json(*certificate));
    EXPECT_TRUE(again) << again.error().what;
    const auto checked = check_certificate(*again, *world.platform, *world.jobs);
    EXPECT_TRUE(checked) << checked.error().what;
    return certificate->bound;
  };
  return {value(Objective::kEt), value(Objective::kEnergy), value(Objective::kTardiness)};
}

// Under hardware costs: now and then a job that has a restart cost goes on on another slice.
class RestlessPolicy : public Policy {
 public:
  RestlessPolicy(Policy& inner, std::uint64_t seed) : inner_(inner), seed_(seed) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    inner_.decide(cluster, plan);
    Rng rng(seed_, cluster.decision());
    if (!plan.reshapes.empty() || rng.below(3) != 0) return;
    for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
      for (const PlacementId where : cluster.gpus()[g].free())
        for (std::size_t j = 0; j < cluster.jobs().size(); ++j) {
          const auto starts_here = [&](const Start& s) { return s.gpu == GpuId(g) && s.where == where; };
          if (cluster.refusal_of_stop(JobId(j)) != Refusal::kNone || rng.below(2) == 0 ||
              cluster.jobs().work(JobId(j), cluster.platform().type_of(GpuId(g), where)) < Time{0} ||
              std::any_of(plan.starts.begin(), plan.starts.end(), starts_here) || !plan.stops.empty())
            continue;
          plan.stops.push_back(JobId(j));
          plan.starts.push_back({JobId(j), GpuId(g), where});
        }
  }

 private:
  Policy& inner_;
  std::uint64_t seed_;
};

// The simulator rounds to a microsecond where a job changes its size, in either direction.
void expect_not_below(const Bounds& bounds, const Summary& s, double gpus, const std::string& what) {
  const double minutes = 1e-6 / 60 * double(s.jobs + s.moves + s.preemptions + s.repartitions);
  const double watt_minutes = minutes * gpus * 1000 + 1e-9 * s.energy_wmin,
               tardy = minutes + 1e-9 * s.mean_tardiness_min;
  EXPECT_LE(bounds.energy, s.energy_wmin + watt_minutes) << what;
  EXPECT_LE(bounds.tardiness, s.mean_tardiness_min + tardy) << what;
  EXPECT_LE(bounds.et, s.et_sum + s.a * watt_minutes + tardy) << what;
}

TEST(BoundProperties, NoPolicyBeatsABound) {
  int runs = 0, positive = 0;
  double stops = 0;
  for (int i = 0; i < cases(120); ++i) {
    const World world = make(9000 + std::uint64_t(i));
    Rng rng(world.seed, 5);
    const double a = rng.below(3) == 0 ? 1e-4 : rng.uniform(1e-7, 3e-5);
    const CostModel cost{rng.below(2) == 0 ? CostModel::kPaper : CostModel::kHardware, {}};
    const Bounds bounds = bounds_of(world, a, bound_world(cost));
    positive += bounds.tardiness > 0;
    PolicyOptions options;
    options.rule.a = a;
    options.rule.w = a * double(world.jobs->size());
    const auto run = [&](Policy& policy, std::vector<Layout> initial, const std::string& name) {
      const auto result = simulate({world.platform, world.jobs, cost, std::move(initial), a}, policy);
      if (!result) return;  // jobs that fit none of these layouts
      ++runs;
      if (!cost.free()) stops += double(result->summary.preemptions + result->summary.moves);
      expect_not_below(bounds, result->summary, double(world.platform->gpus()),
                       name + ", " + cost.name() + " costs, " + world.words());
    };
    const std::vector<std::string> placers = placer_names();
    for (std::size_t p = 0; p < placers.size(); ++p) {
      auto placer = make_placer(placers[p], options, cost);
      if (!placer) continue;
      std::unique_ptr<Repartitioner> shapes;
      if ((p + std::size_t(i)) % 2 == 0 && cost.free())
        shapes = std::make_unique<RandomShapes>(world, 3);
      else
        shapes = std::make_unique<FixedShapes>(world.shapes);
      PairPolicy policy(std::move(shapes), std::move(*placer));
      RestlessPolicy restless(policy, world.seed);
      const bool moves = !cost.free() && (p + std::size_t(i)) % 2 == 0;
      run(moves ? static_cast<Policy&>(restless) : policy, world.initial, placers[p]);
    }
    std::vector<std::string> names = {"none+edf", "none+cedf", "static+cedf", "twice+cedf", "static+met-w"};
    if (i % 8 == 0) names.insert(names.end(), {"planner", "market", "batch", "best"});
    for (const std::string& name : names) {
      auto named = make_policy(name, options, cost, *world.platform);
      if (!named) continue;
      auto initial = initial_layouts(*world.platform, named->initial);
      if (initial) run(*named->policy, std::move(*initial), name);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(runs, cases(120) * 5);
  EXPECT_GT(positive, cases(120) / 3);
  EXPECT_GT(stops, 0);
}

TEST(BoundProperties, TheTwoJobSubproblemsAgree) {
  for (int i = 0; i < cases(150); ++i) {
    World world = make(7000 + std::uint64_t(i));
    Rng rng(world.seed, 6);
    const Objective objective = rng.below(4) == 0 ? Objective::kTardiness : Objective::kEt;
    const double a = rng.uniform(1e-6, 1e-4);
    const BoundWorld costs = rng.below(2) == 0 ? BoundWorld::kFree : BoundWorld::kHardware;
    auto problem = BoundProblem::make(*world.platform, *world.jobs, objective, a, 1, costs);
    const bool whole = bool(problem);
    if (!whole) problem = BoundProblem::make(*world.platform, *world.jobs, objective, a, 0, costs);
    ASSERT_TRUE(problem) << problem.error().what;
    const std::size_t classes = problem->classes.size();
    Certificate c;
    c.objective = objective;
    c.world = costs;
    c.a = a;
    c.share = whole ? 1 : 0;
    c.gpus = world.platform->spec();
    for (const auto& model : world.platform->models()) c.power_models.push_back(model.power.name());
    c.jobs = world.jobs->size();
    c.workload_hash = hash_of(world.jobs->workload());
    c.classes = class_names(*world.platform, problem->classes);
    const std::int64_t span = std::max<std::int64_t>(20, problem->horizon.count());
    while (c.prices.windows.count() < 12)
      c.prices.windows.edges.push_back(c.prices.windows.edges.back() + 1 +
                                       std::int64_t(rng.below(std::uint64_t(span) / 8)));
    for (std::size_t x = 0; x < 12 * classes; ++x)
      c.prices.values.push_back(rng.below(5) == 0 ? 0 : rng.exponential(0.05 + problem->floor[x % classes]));
    c.prices.values.insert(c.prices.values.end(), problem->tail.begin(), problem->tail.end());
    for (std::size_t j = 0; j < world.jobs->size() && i % 2 == 0; ++j) {
      if (rng.below(2) == 0) continue;
      const auto first = std::uint32_t(rng.below(12)), count = std::uint32_t(rng.below(13 - first));
      c.prices.own.spans.push_back({std::uint32_t(j), first, count, c.prices.own.values.size()});
      for (std::uint32_t w = 0; w < count; ++w) c.prices.own.values.push_back(rng.exponential(0.05));
    }
    for (std::size_t j = 0; j < world.jobs->size() && i % 3 == 0; ++j)
      if (rng.below(3) == 0)
        c.prices.ends.push_back({std::uint32_t(j), rng.uniform() * problem->idle_rate / double(world.jobs->size())});
    const double solver = lagrangian_value(*problem, c.prices) / problem->weights.divide_by;
    const auto checker = value_at_prices(c, *world.platform, *world.jobs);
    ASSERT_TRUE(checker) << checker.error().what;
    double scale = std::abs(solver);
    for (std::size_t x = 0; x < 12 * classes; ++x)
      scale += c.prices.values[x] * c.prices.windows.length_min(x / classes) * double(world.platform->gpus()) /
               problem->weights.divide_by;
    for (const OwnPrices::Span& span : c.prices.own.spans)
      for (std::size_t w = 0; w < span.count; ++w)
        scale += c.prices.own.values[span.at + w] * c.prices.windows.length_min(span.first_window + w) *
                 double(world.platform->gpus()) / problem->weights.divide_by;
    EXPECT_LE(*checker, solver + 1e-12 * scale) << world.words();
    bool all_due = true;
    for (const BoundProblem::Job& job : problem->jobs) all_due = all_due && job.deadline < BoundProblem::kNoDeadline;
    if (all_due) {
      EXPECT_NEAR(*checker, solver, 1e-9 * scale) << world.words();
    }
  }
}

}  // namespace
}  // namespace smartmig
