#include "eval/future_lanes.h"

#include <algorithm>

namespace smartmig {

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
  return out;
}

}  // namespace smartmig
