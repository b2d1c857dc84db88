#include "eval/future_lanes.h"

#include <algorithm>

namespace smartmig {
namespace {

std::vector<FuturePower> power_of(const Fork& fork, const std::vector<FutureStay>& stays) {
  struct Step {
    Time at;
    const FutureStay* stay;
    int sign;
  };
  std::vector<Step> steps;
  for (const FutureStay& stay : stays) {
    steps.push_back({stay.begin, &stay, 1});
    steps.push_back({stay.end, &stay, -1});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.at < b.at; });
  const std::size_t gpus = fork.platform->gpus();
  std::vector<int> busy(gpus);
  std::vector<double> added(gpus);
  double total = 0;
  const auto watts = [&](GpuId gpu) {
    return fork.platform->model(gpu).power.watts(busy[index(gpu)], std::max(0.0, added[index(gpu)]));
  };
  for (std::size_t g = 0; g < gpus; ++g) total += watts(GpuId(g));
  std::vector<FuturePower> out{{fork.now, total}};
  for (const Step& step : steps) {
    const GpuId gpu = step.stay->gpu;
    const Platform::Model& model = fork.platform->model(gpu);
    const int kind = fork.jobs[step.stay->job].job.kind;
    const std::string_view name =
        kind >= 0 && std::size_t(kind) < fork.kinds.size() ? std::string_view(fork.kinds[std::size_t(kind)]) : "";
    total -= watts(gpu);
    busy[index(gpu)] += step.sign * model.slices_of_placement[index(step.stay->where)];
    added[index(gpu)] += step.sign * model.power.added(name, model.gpu->profile_of(step.stay->where));
    total += watts(gpu);
    if (out.back().at == step.at)
      out.back().watts = total;
    else
      out.push_back({step.at, total});
  }
  return out;
}

}  // namespace

FutureLanes lanes_of(const Fork& fork, const std::vector<Event>& events) {
  FutureLanes out;
  constexpr std::size_t kNowhere = SIZE_MAX;
  std::vector<std::size_t> open(fork.jobs.size(), kNowhere);
  std::vector<Layout> layouts = fork.layouts;
  const auto begin = [&](std::size_t job, GpuId gpu, PlacementId where, Time at) {
    open[job] = out.stays.size();
    out.stays.push_back({job, gpu, where, at, at, false});
  };
  for (std::size_t j = 0; j < fork.jobs.size(); ++j)
    if (fork.jobs[j].gpu != kNoGpu) begin(j, fork.jobs[j].gpu, fork.jobs[j].where, fork.now);
  Time last = fork.now;
  for (const Event& event : events) {
    last = std::max(last, event.at);
    const std::size_t job = event.job == kNoJob ? kNowhere : index(event.job);
    switch (event.kind) {
      case EventKind::kStarted:
        begin(job, event.gpu, event.where, event.at);
        break;
      case EventKind::kStopped:
      case EventKind::kFinished:
      case EventKind::kWithdrawn:
        if (open[job] == kNowhere) break;
        out.stays[open[job]].end = event.at;
        out.stays[open[job]].finished = event.kind == EventKind::kFinished;
        open[job] = kNowhere;
        break;
      case EventKind::kDestroyed:
      case EventKind::kCreated: {
        Layout& layout = layouts[index(event.gpu)];
        if (event.kind == EventKind::kDestroyed) {
          layout = layout - event.layout;
        } else {
          const GpuModel& model = *fork.platform->model(event.gpu).gpu;
          for (const PlacementId p : event.layout) layout = model.with(layout, p).value_or(layout);
        }
        out.layouts.push_back({event.at, event.gpu, layout});
        break;
      }
      default:
        break;
    }
  }
  for (const std::size_t stay : open)
    if (stay != kNowhere) out.stays[stay].end = last;
  std::stable_sort(out.stays.begin(), out.stays.end(),
                   [](const FutureStay& a, const FutureStay& b) { return a.begin < b.begin; });
  out.power = power_of(fork, out.stays);
  return out;
}

}  // namespace smartmig
