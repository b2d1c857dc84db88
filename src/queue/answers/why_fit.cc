#include "queue/answers/why_fit.h"

#include <algorithm>

namespace smartmig {
namespace {

bool takes(const WhyInput& in, TypeId type) {
  const SliceType& t = in.cluster->platform().type(type);
  if (in.job != kNoJob) return in.cluster->jobs().work(in.job, type) >= Time{0};
  return t.compute_slices >= in.min_slices && t.compute_slices <= in.max_slices &&
         (in.mem_mib < 0 || t.memory_mib == 0 || t.memory_mib >= in.mem_mib);
}

void see_coming(const WhyInput& in, GpuId id, PlacementId where, WhyFit& fit) {
  const Cluster& cluster = *in.cluster;
  const GpuState& gpu = cluster.gpu(id);
  const GpuModel& model = *cluster.platform().model(id).gpu;
  Time from = cluster.now();
  std::string after;
  for (const PlacementId p : gpu.busy) {
    const JobId job = gpu.job_at[index(p)];
    if (!(model.placement(p).mask & model.placement(where).mask) ||
        (!after.empty() && cluster.state(job).finish <= from))
      continue;
    if (cluster.jobs().job(job).idle) return;  // dead processes hold it: nobody knows until when
    from = std::max(from, cluster.state(job).finish);
    after = fmt::format("job {} on {}", cluster.jobs().workload().name_of(index(job)), slice_words(cluster, id, p));
  }
  // One that can be made comes before one that fails.
  const auto fails = [&](GpuId one) { return in.failing.count(index(one)) > 0; };
  if (fit.coming && (fails(id) != fails(fit.coming_on) ? fails(id) : from >= fit.coming_from)) return;
  fit.coming = true;
  fit.coming_from = from;
  fit.coming_after = after;
  fit.coming_on = id;
}

}  // namespace

std::string slice_words(const Cluster& cluster, GpuId gpu, PlacementId where) {
  const GpuModel& model = *cluster.platform().model(gpu).gpu;
  return fmt::format("{}@{} of GPU {}", model.profile_of(where).name, model.placement(where).start, index(gpu));
}

WhyFit look_for_place(const WhyInput& in) {
  const Cluster& cluster = *in.cluster;
  WhyFit fit;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    const GpuState& gpu = cluster.gpus()[g];
    const Platform::Model& model = cluster.platform().model(GpuId(g));
    bool here = false;
    for (std::size_t p = 0; p < model.type_of_placement.size(); ++p) {
      const SliceType& type = cluster.platform().type(model.type_of_placement[p]);
      fit.largest_mib = std::max(fit.largest_mib, type.memory_mib);
      fit.largest_slices = std::max(fit.largest_slices, type.compute_slices);
      if (!takes(in, model.type_of_placement[p])) continue;
      here = true;
      const PlacementId where{std::uint8_t(p)};
      if (gpu.blocked || in.reserved.count(g)) continue;
      if (gpu.target.contains(where) && !gpu.layout.contains(where)) see_coming(in, GpuId(g), where, fit);
      if (!gpu.usable().contains(where) || in.quarantined.count({g, p})) continue;
      ++fit.slices;
      if (!gpu.busy.contains(where))
        ++fit.free_slices;
      else
        fit.first_idle = std::min(fit.first_idle, cluster.state(gpu.job_at[p]).finish);
    }
    fit.exists |= here;
    fit.on_unblocked |= here && !gpu.blocked;
    if (const auto reread = in.reread.find(g); here && gpu.blocked && reread != in.reread.end())
      fit.reread += fmt::format("{}GPU {}: {}", fit.reread.empty() ? "" : "; ", g, reread->second);
    if (!here || gpu.blocked || in.reserved.count(g)) continue;
    fit.on_open = true;
    fit.gpus.push_back(GpuId(g));
    for (const auto& [where, words] : in.quarantined)
      if (where.first == g)
        fit.quarantined += fmt::format("{}{}: {}", fit.quarantined.empty() ? "" : "; ",
                                       slice_words(cluster, GpuId(g), PlacementId(where.second)), words);
  }
  return fit;
}

std::vector<Blocker> blockers(const WhyInput& in) {
  const Cluster& cluster = *in.cluster;
  std::vector<Blocker> takers, others;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    const GpuState& gpu = cluster.gpus()[g];
    if (gpu.blocked || in.reserved.count(g)) continue;
    const Platform::Model& model = cluster.platform().model(GpuId(g));
    std::uint32_t wanted = 0;  // memory slices where one that takes it could stand
    for (std::size_t p = 0; p < model.type_of_placement.size(); ++p)
      if (model.type_of_placement[p] != kNoType && takes(in, model.type_of_placement[p]))
        wanted |= model.gpu->placement(PlacementId(std::uint8_t(p))).mask;
    for (const PlacementId p : gpu.busy) {
      if (!(model.gpu->placement(p).mask & wanted)) continue;
      const JobId job = gpu.job_at[index(p)];
      const TypeId type = model.type_of_placement[index(p)];
      (type != kNoType && takes(in, type) ? takers : others)
          .push_back({GpuId(g), fmt::format("{}@{}", model.gpu->profile_of(p).name, model.gpu->placement(p).start),
                      cluster.jobs().workload().name_of(index(job)), in.origin + cluster.state(job).finish});
    }
  }
  return takers.empty() ? others : takers;
}

Time soonest_on_free(const WhyInput& in) {
  const Cluster& cluster = *in.cluster;
  Time soonest = kNever;
  for (std::size_t g = 0; g < cluster.gpus().size() && in.job != kNoJob; ++g) {
    const GpuState& gpu = cluster.gpus()[g];
    if (gpu.blocked || in.reserved.count(g)) continue;
    for (const PlacementId p : gpu.free())
      if (const TypeId type = cluster.platform().model(GpuId(g)).type_of_placement[index(p)];
          type != kNoType && takes(in, type) && !in.quarantined.count({g, index(p)}))
        soonest = std::min(soonest, cluster.finish_on(in.job, type));
  }
  return soonest;
}

}  // namespace smartmig
