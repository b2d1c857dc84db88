#include "policy/batch.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "model/reconfig.h"

namespace smartmig {
namespace {

constexpr double kMeanShare = 0.005, kWorthwhile = 1e-6;

double active_watts(const Cluster& cluster, JobId job, TypeId type) {
  const SliceType& slice = cluster.platform().type(type);
  const Platform::Model& model = cluster.platform().models()[std::size_t(slice.model)];
  if (!model.power.is_table()) return cluster.jobs().added_watts(job, type);
  const int all = model.gpu->compute_slices();
  return (model.power.watts(all, 0) - model.power.idle()) * slice.compute_slices / all;
}

const auto kLater = [](const auto& a, const auto& b) {  // of two slices; by place where both are free at once
  return std::tuple(a.free_s, !a.ready, a.gpu, index(a.where)) > std::tuple(b.free_s, !b.ready, b.gpu, index(b.where));
};

}  // namespace

void BatchPolicy::collect(const Cluster& cluster) {
  queue_.clear();
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    Time longest{};
    for (std::size_t t = 0; t < cluster.platform().types().size(); ++t)
      if (cluster.jobs().work(job, TypeId(t)) >= Time{0})
        longest = std::max(longest, cluster.remaining_on(job, TypeId(t)));
    queue_.push_back({job, seconds(longest)});
  }
  std::stable_sort(queue_.begin(), queue_.end(),
                   [](const Entry& a, const Entry& b) { return a.longest_s > b.longest_s; });
  if (queue_.size() > kWindow) queue_.resize(kWindow);
}

void BatchPolicy::add_slices(const Cluster& cluster, std::size_t gpu, Layout target) {
  const GpuState& state = cluster.gpus()[gpu];
  const Platform::Model& model = cluster.platform().model(GpuId(gpu));
  const double now = seconds(cluster.now());
  const double made = now + seconds(reshape_time(cluster.cost(), *model.gpu, state.layout, target));
  for (const PlacementId p : target) {
    PlannedSlice slice{now, std::uint32_t(gpu), p, true};
    if (state.busy.contains(p)) {
      slice.free_s = std::max(now, seconds(cluster.state(state.job_at[index(p)]).finish));
      slice.ready = false;
    } else if (!state.usable().contains(p)) {
      slice.free_s = made;
      slice.ready = false;
    }
    slices_[index(model.type_of_placement[index(p)])].push_back(slice);
  }
}

BatchPolicy::Outcome BatchPolicy::schedule(const Cluster& cluster, const std::vector<Layout>& targets, Plan* plan) {
  const Platform& platform = cluster.platform();
  slices_.resize(platform.types().size());
  for (auto& slices : slices_) slices.clear();
  for (std::size_t g = 0; g < targets.size(); ++g)
    if (!cluster.gpus()[g].blocked) add_slices(cluster, g, targets[g]);
  for (auto& slices : slices_) std::make_heap(slices.begin(), slices.end(), kLater);

  const double now = seconds(cluster.now());
  std::vector<double> busy_until(targets.size(), now);
  for (const auto& slices : slices_)
    for (const PlannedSlice& s : slices)
      if (!s.ready) busy_until[s.gpu] = std::max(busy_until[s.gpu], s.free_s);
  Outcome out;
  double unserved = 0;
  for (const Entry& entry : queue_) {
    std::size_t best = slices_.size();
    double best_end = 0, took = 0;
    for (std::size_t t = 0; t < slices_.size(); ++t) {
      if (slices_[t].empty() || cluster.jobs().work(entry.job, TypeId(t)) < Time{0}) continue;
      const double run = seconds(cluster.remaining_on(entry.job, TypeId(t))), end = slices_[t].front().free_s + run;
      if (best == slices_.size() || end < best_end) best = t, best_end = end, took = run;
    }
    if (best == slices_.size()) {  // no slice of these layouts takes it: it comes after all the others, at its dearest
      unserved += entry.longest_s;
      continue;
    }
    ++out.served;
    auto& slices = slices_[best];
    std::pop_heap(slices.begin(), slices.end(), kLater);
    PlannedSlice& taken = slices.back();
    if (plan && taken.ready) plan->starts.push_back({entry.job, GpuId(taken.gpu), taken.where});
    taken.ready = false;
    taken.free_s = best_end;
    busy_until[taken.gpu] = std::max(busy_until[taken.gpu], best_end);
    std::push_heap(slices.begin(), slices.end(), kLater);
    out.joules += took * active_watts(cluster, entry.job, TypeId(best));
    out.mean_s += (best_end - now) / double(queue_.size());
  }
  for (const double until : busy_until) out.end_s = std::max(out.end_s, until - now);
  for (std::size_t g = 0; g < targets.size(); ++g) {
    const PowerModel& power = platform.model(GpuId(g)).power;
    out.joules += power.idle() * out.end_s;
    if (!power.is_table()) out.joules += (power.watts(1, 0) - power.idle()) * (busy_until[g] - now);
  }
  const PowerModel& first = platform.models()[0].power;
  const int all = platform.models()[0].gpu->compute_slices();
  out.joules += unserved * (double(targets.size()) * first.idle() + first.watts(all, first.cap()));
  out.end_s += unserved;
  out.mean_s += unserved;
  return out;
}

double BatchPolicy::value(const Outcome& outcome) const {
  const auto over = [](double a, double b) { return b > 0 ? a / b : 0; };
  const double end = over(outcome.end_s, whole_.end_s);
  return (1 - weight_) * end + weight_ * over(outcome.joules, whole_.joules) +
         kMeanShare * over(outcome.mean_s, whole_.mean_s);
}

// What an idle part of a GPU can become around its busy slices; a GPU that is changing stays on its way.
std::vector<Layout> BatchPolicy::candidates(const Cluster& cluster, std::size_t gpu) const {
  const GpuState& state = cluster.gpus()[gpu];
  std::vector<Layout> out{state.target};
  if (state.blocked || state.layout != state.target) return out;
  const ShapeTable& shapes = *cluster.platform().model(GpuId(gpu)).shapes;
  for (const Shape shape : shapes.maximal_shapes())
    if (const auto layout = shapes.realise(shape, state.layout, state.busy);
        layout && layout->contains(state.busy) && *layout != state.target)
      out.push_back(*layout);
  return out;
}

void BatchPolicy::decide(const Cluster& cluster, Plan& plan) {
  SMARTMIG_CHECK(!cluster.cost().free(), "batch plans for hardware costs alone");
  collect(cluster);
  if (queue_.empty()) return;
  const std::size_t gpus = cluster.gpus().size();
  std::vector<std::vector<Layout>> choices;
  std::vector<Layout> best, trial;
  for (std::size_t g = 0; g < gpus; ++g) {
    choices.push_back(candidates(cluster, g));
    best.push_back(choices.back().front());
  }
  trial = best;  // the coarsest each GPU can be: what everything is measured against
  for (std::size_t g = 0; g < gpus; ++g)
    for (const Layout layout : choices[g])
      if (layout.size() < trial[g].size()) trial[g] = layout;
  whole_ = schedule(cluster, trial, nullptr);

  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&] {
    const Outcome outcome = schedule(cluster, trial, nullptr);
    if (outcome.served == 0 && cluster.running() == 0) return;  // nothing would ever happen again
    const double v = value(outcome);
    if (v >= least - kWorthwhile) return;
    least = v;
    best = trial;
  };
  trial = best;
  consider();
  for (const Platform::Model& model : cluster.platform().models())
    for (const Shape shape : model.shapes->maximal_shapes()) {
      trial = best;
      for (std::size_t g = 0; g < gpus; ++g)
        if (&cluster.platform().model(GpuId(g)) == &model)
          for (const Layout layout : choices[g])
            if (shape_of(*model.gpu, layout) == shape) trial[g] = layout;
      consider();
    }
  for (std::size_t g = 0; g < gpus && gpus > 1; ++g) {
    for (const Layout layout : choices[g]) {
      trial = best;
      trial[g] = layout;
      consider();
    }
  }
  schedule(cluster, best, &plan);
  for (std::size_t g = 0; g < gpus; ++g)
    if (best[g] != cluster.gpus()[g].target) plan.reshapes.push_back({GpuId(g), best[g]});
}

}  // namespace smartmig
