#include "sim/simulate.h"

#include <chrono>
#include <optional>

#include "sim/believed_fleet.h"
#include "sim/sim_fleet.h"

namespace smartmig {
namespace {

Error stuck(const Cluster& cluster) {
  const JobId id = cluster.first_unfinished();
  const Workload& workload = cluster.jobs().workload();
  const int memory = cluster.jobs().mem_mib(id);
  return invalid(
      "{} of {} jobs never ran, because no slice of the layouts fits them. The first is job {} "
      "(kind {}{}); choose layouts with a larger slice, or a repartitioner that creates one",
      cluster.unfinished(), workload.jobs.size(), workload.name_of(index(id)),
      workload.jobs[index(id)].kind < 0 ? "none" : workload.kind_of(workload.jobs[index(id)]),
      memory >= 0 ? fmt::format(", {} MiB", memory) : "");
}

}  // namespace

Result<SimResult> simulate(const SimSetup& setup, Policy& policy, Journal* journal,
                           const std::function<void(double)>& progress) {
  if (setup.jobs->size() == 0) return invalid("the workload has no jobs");
  Cluster cluster(setup.platform, setup.jobs, setup.cost, setup.initial);
  std::optional<SimFleet> known;
  std::optional<BelievedFleet> believed;
  std::optional<Session> held;
  if (setup.estimates.exact()) {
    known.emplace(cluster);
    held.emplace(*known, std::move(cluster), journal);
  } else {
    believed.emplace(setup.estimates, std::move(cluster), journal);
    held.emplace(*believed, believed->belief(setup.platform));
  }
  Session& session = *held;

  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t step = 0;
  run(session, policy, [&] {
    if (progress && step++ % 4096 == 0)
      progress(double(session.cluster().counters().completions) / double(setup.jobs->size()));
    return true;
  });
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const Cluster& world = believed ? believed->truth() : session.cluster();
  if (world.unfinished() > 0) return stuck(world);
  return SimResult{world, summarize(world, setup.a, setup.jobs->workload().days), wall, session.refused(),
                   session.last_refusal()};
}

Result<std::vector<Layout>> initial_layouts(const Platform& platform, std::span<const Shape> shapes) {
  if (shapes.size() != platform.gpus())
    return invalid("{} layouts for {} GPUs; give one per GPU", shapes.size(), platform.gpus());
  std::vector<Layout> layouts;
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const Platform::Model& model = platform.model(GpuId(g));
    const auto layout = model.shapes->realise(shapes[g], {}, {});
    if (!layout) return invalid("GPU {} ({}) cannot have that layout", g, model.gpu->name());
    layouts.push_back(*layout);
  }
  return layouts;
}

}  // namespace smartmig
