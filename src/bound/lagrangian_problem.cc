#include "bound/lagrangian_problem.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "bound/least_times.h"

namespace smartmig {

Result<Objective> parse_objective(std::string_view text) {
  for (const Objective o : {Objective::kEt, Objective::kEnergy, Objective::kTardiness})
    if (text == name_of(o)) return o;
  return invalid("objective must be et, energy or tardiness, not '{}'", text);
}

const char* name_of(Objective objective) {
  return objective == Objective::kEt ? "et" : objective == Objective::kEnergy ? "energy" : "tardiness";
}

Result<BoundWorld> parse_bound_world(std::string_view text) {
  for (const BoundWorld w : {BoundWorld::kFree, BoundWorld::kHardware})
    if (text == name_of(w)) return w;
  return invalid("world must be free or hardware, not '{}'", text);
}

const char* name_of(BoundWorld world) { return world == BoundWorld::kFree ? "free" : "hardware"; }

BoundWeights bound_weights(Objective objective, double a, std::size_t jobs) {
  const double n = double(std::max<std::size_t>(1, jobs));
  if (objective == Objective::kEnergy) return {1, 0, 1};
  if (objective == Objective::kTardiness) return {0, 1, n};
  return {a * n, 1, n};
}

double least_makespan_min(const Platform& platform, const JobTable& jobs) {
  double latest = 0, area = 0;  // area: slice-minutes of the jobs from j on
  const double slices = platform.total_compute_slices();
  for (std::size_t j = jobs.size(); j-- > 0;) {
    double least_area = std::numeric_limits<double>::infinity(), fastest = least_area;
    for (std::size_t t = 0; t < platform.types().size(); ++t) {
      const Time work = jobs.work(JobId(j), TypeId(t));
      if (work < Time{0}) continue;
      least_area = std::min(least_area, minutes(work) * platform.types()[t].compute_slices);
      fastest = std::min(fastest, minutes(work));
    }
    area += least_area;
    latest = std::max(latest, minutes(jobs.job(JobId(j)).submit) + std::max(fastest, area / slices));
  }
  return latest;
}

Result<BoundProblem> BoundProblem::make(const Platform& platform, const JobTable& jobs, Objective objective, double a,
                                        double share, BoundWorld world) {
  SMARTMIG_RETURN_IF_ERROR(require_least_times(jobs));
  BoundProblem p;
  p.weights = bound_weights(objective, a, jobs.size());
  p.classes = slice_classes(platform);
  const PowerMinorant minorant(platform, jobs, p.classes, share);

  double idle_watts = 0;
  p.gpus.assign(platform.models().size(), 0);
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    p.gpus[std::size_t(platform.model_index(GpuId(g)))] += 1;
    idle_watts += platform.model(GpuId(g)).power.idle();
  }
  const double makespan = least_makespan_min(platform, jobs);
  p.idle_rate = p.weights.energy * idle_watts;
  p.least_makespan = makespan;

  p.floor.assign(p.classes.size(), 0);
  for (std::size_t m = 0; m < platform.models().size(); ++m) {
    const Platform::Model& model = platform.models()[m];
    std::set<std::vector<int>> seen;
    for (const Layout layout : model.gpu->layouts(model.gpu->all_profiles())) {
      std::vector<int> counts(p.classes.size());
      for (const PlacementId placement : layout) {
        const TypeId type = model.type_of_placement[index(placement)];
        for (std::size_t k = 0; k < p.classes.size(); ++k)
          counts[k] +=
              std::find(p.classes[k].types.begin(), p.classes[k].types.end(), type) != p.classes[k].types.end();
      }
      seen.insert(counts);
    }
    double floor = std::numeric_limits<double>::infinity();
    std::vector<Configuration> configurations;
    for (const std::vector<int>& counts : seen) {
      Configuration c;
      int busy = 0;
      std::size_t slices = 0;
      bool used = true;
      for (std::size_t k = 0; k < counts.size(); ++k) {
        used = used && (counts[k] == 0 || minorant.used(k));
        slices += std::size_t(counts[k]);
        if (counts[k] > 0) c.counts.emplace_back(int(k), counts[k]);
        busy += counts[k] * p.classes[k].compute_slices;
      }
      if (busy == 0 || !used || slices > jobs.size()) continue;  // a busy slice runs one job that can use it
      c.cost = p.weights.energy * minorant.base(int(m), counts);
      if (c.cost < 0)
        return invalid("power model {} lets a busy GPU draw less than an idle one: there is no bound for it",
                       model.power.name());
      c.slices = slices;
      floor = std::min(floor, c.cost / busy);
      configurations.push_back(std::move(c));
    }
    for (std::size_t k = 0; k < p.classes.size(); ++k)
      if (p.classes[k].model == int(m)) p.floor[k] = configurations.empty() ? 0 : floor * p.classes[k].compute_slices;
    p.configurations.push_back(std::move(configurations));
  }

  p.jobs.reserve(jobs.size());
  double slowest_sum = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const smartmig::Job& source = jobs.job(JobId(j));
    Job job{minutes(source.submit), source.deadline == kNever ? kNoDeadline : minutes(source.deadline),
            std::uint32_t(p.options.size()), 0};
    if (world == BoundWorld::kHardware) job.hold = source.restart < Time{0} ? kNoDeadline : minutes(source.restart);
    p.stops_cost |= job.hold > 0;
    bool instant = false;
    for (std::size_t k = 0; k < p.classes.size(); ++k) {
      Time fastest = kNever;
      for (const TypeId t : p.classes[k].types)
        if (jobs.work(JobId(j), t) >= Time{0}) fastest = std::min(fastest, jobs.work(JobId(j), t));
      if (fastest == kNever) continue;
      instant |= fastest == Time{0};
      p.options.push_back({minutes(fastest), p.weights.energy * minorant.charge(JobId(j), k), int(k)});
    }
    if (instant) p.options.resize(job.first);
    job.options = std::uint32_t(p.options.size()) - job.first;
    double slowest = 0;
    for (std::uint32_t o = 0; o < job.options; ++o) slowest = std::max(slowest, p.options[job.first + o].work);
    slowest_sum += slowest;
    double area = std::numeric_limits<double>::infinity();
    for (std::uint32_t o = job.first; o < job.first + job.options; ++o)
      area = std::min(area, p.options[o].work * p.classes[std::size_t(p.options[o].slice_class)].compute_slices);
    p.mean_slices += job.options > 0 ? area : 0;
    p.deadlines |= source.deadline != kNever;
    p.jobs.push_back(job);
  }
  if (jobs.size() > 0) {
    p.first_release = jobs.job(JobId(0)).submit;
    const double start = minutes(p.first_release);
    p.mean_slices /= std::max(1e-9, makespan - start);
    p.horizon = p.first_release + from_minutes(1.1 * (makespan - start) + 4 * slowest_sum / double(jobs.size()));
  }
  p.tail = p.floor;
  if (p.weights.energy > 0) p.improve_tail();
  for (double& price : p.tail) price *= 1 - 1e-9;
  return p;
}

// Raises the jobs' least costs over the prices at which no configuration earns. A step moves the prices towards the
// jobs' demand, scales all prices of a model back to where the first configuration breaks even, and then raises each
// price alone as far as possible.
void BoundProblem::improve_tail() {
  const std::size_t step = jobs.size() / 5000 + 1;
  const auto value = [&](const std::vector<double>& prices, std::vector<double>& demand) {
    demand.assign(classes.size(), 0);
    double sum = 0;
    for (std::size_t j = 0; j < jobs.size(); j += step) {
      double least = std::numeric_limits<double>::infinity();
      const Option* chosen = nullptr;
      for (std::uint32_t o = jobs[j].first; o < jobs[j].first + jobs[j].options; ++o)
        if (const double cost = options[o].work * (prices[std::size_t(options[o].slice_class)] + options[o].charge);
            cost < least)
          least = cost, chosen = &options[o];
      if (!chosen) continue;
      sum += least;
      demand[std::size_t(chosen->slice_class)] += chosen->work;
    }
    return sum;
  };
  std::vector<double> prices = floor, demand;
  double best = value(prices, demand), rate = 0.3;
  for (int i = 0; i < 60; ++i, rate *= 0.93) {
    double most = 0;
    for (std::size_t k = 0; k < classes.size(); ++k) most = std::max(most, demand[k] * classes[k].compute_slices);
    if (most <= 0) return;
    for (std::size_t k = 0; k < classes.size(); ++k)
      prices[k] += rate * floor[k] * demand[k] * classes[k].compute_slices / most;
    for (std::size_t m = 0; m < configurations.size(); ++m) {
      double scale = std::numeric_limits<double>::infinity();
      for (const Configuration& c : configurations[m]) {
        double earned = 0;
        for (const auto& [k, count] : c.counts) earned += count * prices[std::size_t(k)];
        if (earned > 0) scale = std::min(scale, c.cost / earned);
      }
      for (std::size_t k = 0; k < classes.size(); ++k)
        if (classes[k].model == int(m) && scale < std::numeric_limits<double>::infinity()) prices[k] *= scale;
    }
    std::vector<std::size_t> order(classes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return demand[x] * classes[x].compute_slices > demand[y] * classes[y].compute_slices;
    });
    for (const std::size_t k : order) {
      double room = std::numeric_limits<double>::infinity();
      for (const Configuration& c : configurations[std::size_t(classes[k].model)]) {
        double earned = 0, mine = 0;
        for (const auto& [other, count] : c.counts) {
          earned += count * prices[std::size_t(other)];
          if (std::size_t(other) == k) mine = count;
        }
        if (mine > 0) room = std::min(room, (c.cost - earned) / mine);
      }
      if (room > 0 && room < std::numeric_limits<double>::infinity()) prices[k] += room;
    }
    if (const double now = value(prices, demand); now > best) {
      best = now;
      tail = prices;
    }
  }
}

BoundProblem BoundProblem::sample(std::size_t step) const {
  BoundProblem p;
  p.weights = weights;
  p.classes = classes;
  p.gpus = gpus;
  p.configurations = configurations;
  p.options = options;
  p.idle_rate = idle_rate;
  p.least_makespan = least_makespan;
  p.floor = floor;
  p.tail = tail;
  p.stops_cost = stops_cost;
  for (std::size_t j = step / 2; j < jobs.size(); j += step) p.jobs.push_back(jobs[j]);
  const double ratio = double(p.jobs.size()) / double(jobs.size());
  for (double& count : p.gpus) count *= ratio;
  p.idle_rate *= ratio;
  p.weights.divide_by *= ratio;
  return p;
}

}  // namespace smartmig
