// The place that the policy has in mind for a waiting job, and the jobs that are in its way until then.
#include <algorithm>

#include "live/gpu/driver.h"
#include "policy/planner/timeline.h"
#include "queue/answers/why.h"

namespace smartmig {

const PlannedStart* planned_start_of(const WhyInput& in) {
  const auto at = std::find_if(in.planned.begin(), in.planned.end(),
                               [&](const PlannedStart& one) { return one.job == in.job && in.job != kNoJob; });
  return at == in.planned.end() ? nullptr : &*at;
}

std::optional<Reservation> reservation_of(const WhyInput& in) {
  const PlannedStart* mine = planned_start_of(in);
  if (!mine) return {};
  const Cluster& cluster = *in.cluster;
  const Platform::Model& model = cluster.platform().model(mine->gpu);
  const std::uint32_t conflicts = PlacementTable(model).conflicts[index(mine->where)];
  const auto in_the_way = [&](PlacementId p) { return (conflicts >> index(p) & 1) != 0; };
  const auto name = [&](JobId job) { return cluster.jobs().workload().name_of(index(job)); };
  Reservation out;
  out.gpu = mine->gpu;
  out.slice = slice_name(*model.gpu, mine->where);
  out.start = in.origin + mine->start;
  out.finish = in.origin + mine->finish;
  if (mine->latest != kNever) out.latest = in.origin + mine->latest;
  std::vector<std::pair<Time, std::string>> before;
  const GpuState& gpu = cluster.gpus()[index(mine->gpu)];
  for (const PlacementId p : gpu.busy)
    if (in_the_way(p)) {
      const JobId job = gpu.job_at[index(p)];
      before.emplace_back(cluster.state(job).finish, name(job));
    }
  for (const PlannedStart& one : in.planned)
    if (one.job != mine->job && one.gpu == mine->gpu && one.start < mine->start && in_the_way(one.where))
      before.emplace_back(one.finish, name(one.job));
  std::stable_sort(before.begin(), before.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [finish, job] : before) out.after.push_back(std::move(job));
  return out;
}

}  // namespace smartmig
