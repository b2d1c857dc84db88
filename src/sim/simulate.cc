#include "sim/simulate.h"

#include <chrono>
#include <optional>

#include "sim/believed_fleet.h"
#include "sim/sim_fleet.h"

namespace smartmig {
namespace {

constexpr int kMostLooks = 100'000;  // of a policy that always wants to decide again and does nothing

Error stuck(const Cluster& cluster) {
  const JobId id = cluster.first_unfinished();
  const Workload& workload = cluster.jobs().workload();
  const int memory = cluster.jobs().mem_mib(id);
  return invalid(
      "{} of {} jobs never ran: no slice of the layouts takes them. The first is job {} (kind {}{}); choose layouts "
      "with a larger slice, or a repartitioner that makes one",
      cluster.unfinished(), workload.jobs.size(), workload.name_of(index(id)),
      workload.jobs[index(id)].kind < 0 ? "none" : workload.kind_of(workload.jobs[index(id)]),
      memory >= 0 ? fmt::format(", {} MiB", memory) : "");
}

}  // namespace

Result<SimResult> simulate(const SimSetup& setup, Policy& policy, Journal* journal,
                           const std::function<void(double)>& progress) {
  if (setup.jobs->size() == 0) return invalid("the workload has no jobs: there is nothing to simulate");
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
  Plan plan;
  const auto advance_to = [&](Time horizon) {
    if (known) known->stop_before(horizon);
    if (believed) believed->stop_before(horizon);
    return session.advance();
  };
  int looks = 0;  // since something happened
  // The next event, or the instant at which the policy wants to decide again.
  const auto advance = [&] {
    const Time next = looks < kMostLooks && plan.look_again > session.cluster().now() ? plan.look_again : kNever;
    if (advance_to(next)) {
      looks = 0;
      return true;
    }
    if (next == kNever) return false;
    if (session.cluster().unfinished() == 0) return advance_to(kNever);
    session.look_again(next);
    ++looks;
    return true;
  };
  for (std::uint64_t step = 0; advance(); ++step) {
    plan.clear();
    policy.decide(session.cluster(), plan);
    session.act(plan);
    if (progress && step % 4096 == 0)
      progress(double(session.cluster().counters().completions) / double(setup.jobs->size()));
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const Cluster& world = believed ? believed->truth() : session.cluster();
  if (world.unfinished() > 0) return stuck(world);
  return SimResult{world, summarize(world, setup.a, setup.jobs->workload().days), wall, session.refused(),
                   session.last_refusal()};
}

Result<std::vector<Layout>> initial_layouts(const Platform& platform, std::span<const Shape> shapes) {
  if (shapes.size() != platform.gpus())
    return invalid("{} layouts are given for {} GPUs: give one per GPU", shapes.size(), platform.gpus());
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
