#include "bound/certificate_make.h"

#include <algorithm>

#include "base/text.h"
#include "bound/checker.h"
#include "bound/checker_rounding.h"

namespace smartmig {
namespace {

// Rounds to seven digits, which suffice: every price proves something.
double rounded_price(double price) { return parse_double(fmt::format("{:.7g}", price)).value_or(0); }

// Finds the share of job-dependent watts that jobs pay themselves (power_minorant.h). Among the shares under which no
// configuration draws less than idle, it takes the one with the best bound at the tail's prices.
Result<BoundProblem> best_problem(const Platform& platform, const JobTable& jobs, Objective objective, double a,
                                  BoundWorld world, double& share) {
  share = 0;
  SMARTMIG_TRY(BoundProblem best, BoundProblem::make(platform, jobs, objective, a, share, world));
  if (best.weights.energy == 0 || !PowerMinorant(platform, jobs, best.classes, 1).charges()) return best;
  Prices tail;
  tail.values = best.tail;
  double most = lagrangian_value(best, tail);
  for (const double other : {0.25, 0.5, 0.75, 1.0}) {
    auto problem = BoundProblem::make(platform, jobs, objective, a, other, world);
    if (!problem) break;  // configurations only become cheaper with a larger share
    tail.values = problem->tail;
    if (const double value = lagrangian_value(*problem, tail); value > most) {
      most = value;
      share = other;
      best = std::move(*problem);
    }
  }
  return best;
}

}  // namespace

Result<Certificate> make_certificate(const Platform& platform, const JobTable& jobs, Objective objective, double a,
                                     const SolveOptions& options, BoundWorld world) {
  if (!(a >= 0 && a <= 1e9)) return invalid("a = {}: the weight of a watt-minute lies between 0 and 1e9", a);
  Certificate c;
  c.objective = objective;
  c.world = world;
  c.a = a;
  c.gpus = platform.spec();
  c.power = platform.power_spec();
  for (const Platform::Model& model : platform.models()) c.power_models.push_back(model.power.name());
  c.jobs = jobs.size();
  c.workload_hash = hash_of(jobs.workload());
  c.workload = jobs.workload().source;
  SMARTMIG_TRY(const BoundProblem problem, best_problem(platform, jobs, objective, a, world, c.share));
  c.classes = class_names(platform, problem.classes);
  c.prices = solve_lagrangian(problem, options).prices;
  for (std::size_t i = 0; i < c.prices.windows.count() * c.classes.size(); ++i)
    c.prices.values[i] = rounded_price(c.prices.values[i]);
  for (double& price : c.prices.own.values) price = rounded_price(price);
  for (EndPrice& end : c.prices.ends) end.price = rounded_price(end.price * (1 - 1e-6));
  SMARTMIG_TRY(c.bound, certified_bound(c, platform, jobs));
  return c;
}

Result<ProvenBounds> proven_bounds(const Platform& platform, const JobTable& jobs, double a,
                                   const SolveOptions& options, BoundWorld world) {
  ProvenBounds bounds;
  bounds.world = world;
  double part = 0;  // energy takes negligible time
  SolveOptions half = options;
  half.progress = [&](double share, double value) {
    if (options.progress) options.progress(part + share / 2, value);
  };
  SMARTMIG_TRY(const Certificate energy,
               make_certificate(platform, jobs, Objective::kEnergy, a, {options.effort, {}}, world));
  SMARTMIG_TRY(const Certificate et, make_certificate(platform, jobs, Objective::kEt, a, half, world));
  part = 0.5;
  SMARTMIG_TRY(const Certificate tardiness, make_certificate(platform, jobs, Objective::kTardiness, a, half, world));
  bounds.energy_wmin = energy.bound;
  bounds.tardiness_min = tardiness.bound;
  // The sum of the two bounds is also a bound on the sum. Where jobs hardly meet, it may be the better one.
  bounds.et_sum = std::max(et.bound, down(down(a * energy.bound) + tardiness.bound));
  return bounds;
}

}  // namespace smartmig
