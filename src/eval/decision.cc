#include "eval/decision.h"

#include <algorithm>

#include "base/json.h"
#include "eval/policy_stack.h"
#include "mig/moves.h"
#include "model/summary.h"
#include "sched/session.h"

namespace smartmig {
namespace {

// Notes admitted actions. Nothing happens after them, except reshapes that take no time.
class NotedOnly : public Fleet {
 public:
  bool next(const Cluster&, Event&) override { return false; }
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override {
    if (action.kind != EventKind::kReshapeAsked || !cluster.cost().free()) return;
    const Move move = move_between(cluster.gpu(action.gpu).layout, action.layout);
    at_once.push_back(Event::destroyed(action.at, action.gpu, move.destroy));
    at_once.push_back(Event::created(action.at, action.gpu, move.create));
  }
};

std::string shapes_now(const Cluster& cluster) {
  std::string out;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    const GpuModel& model = *cluster.platform().model(GpuId(g)).gpu;
    out += (g > 0 ? "," : "") + to_string(model, shape_of(model, cluster.gpus()[g].target));
  }
  return out;
}

}  // namespace

Result<NamedPolicy> policy_for(const FleetState& state, std::string_view text, PolicyOptions options,
                               std::optional<double> a) {
  const Cluster& cluster = state.cluster;
  SMARTMIG_TRY(const PolicyName name, parse_policy_name(text));
  if (options.layouts.empty() && !name.has_brackets && *name.policy->default_layouts)
    options.layouts = shapes_now(cluster);
  options.rule.a = a.value_or(effective_a(kPaperA, cluster.gpus().size(), cluster.jobs().workload().days));
  options.rule.w = options.rule.a * state.span_jobs;
  if (!state.no_power.empty() && name.uses_energy())
    return not_found("{} weighs energy, and the state has no 'power': {}", text, state.no_power);
  PolicySpec spec{std::string(text), options, cluster.cost(), Guarding::kUnguarded};
  SMARTMIG_TRY(PolicyStack stack, PolicyStack::make(spec, std::make_shared<const Platform>(cluster.platform())));
  return NamedPolicy(std::move(stack));
}

Result<Decision> decide(const FleetState& state, Policy& policy) {
  Plan plan;
  policy.decide(state.cluster, plan);
  std::sort(plan.stops.begin(), plan.stops.end());
  std::sort(plan.reshapes.begin(), plan.reshapes.end(),
            [](const Reshape& a, const Reshape& b) { return a.gpu < b.gpu; });
  std::sort(plan.starts.begin(), plan.starts.end(), [](const Start& a, const Start& b) { return a.job < b.job; });
  NotedOnly fleet;
  Session session(fleet, state.cluster);
  session.act(plan);
  if (session.refused() > 0) return invalid("the policy asked for an illegal action: {}", session.last_refusal());
  return Decision{std::move(plan), session.cluster()};
}

std::string to_json(const FleetState& state, std::string_view policy, const Decision& decision, bool indent) {
  using Out = nlohmann::ordered_json;
  const Cluster &before = state.cluster, &after = decision.after;
  const Platform& platform = before.platform();
  const Workload& workload = before.jobs().workload();
  const auto id_of = [&](JobId job) { return workload.name_of(index(job)); };
  const auto slice_text = [&](GpuId gpu, PlacementId p) {
    const GpuModel& model = *platform.model(gpu).gpu;
    return fmt::format("{}@{}", model.profile_of(p).name, model.placement(p).start);
  };
  const auto slices = [&](GpuId gpu, Layout layout) {
    const GpuModel& model = *platform.model(gpu).gpu;
    std::vector<PlacementId> order;
    for (PlacementId p : layout) order.push_back(p);
    std::sort(order.begin(), order.end(),
              [&](PlacementId a, PlacementId b) { return model.placement(a).start < model.placement(b).start; });
    Out list = Out::array();
    for (PlacementId p : order) list.push_back(slice_text(gpu, p));
    return list;
  };
  const auto run_of = [&](JobId job) {
    const JobState& run = after.state(job);
    return Out{{"job", id_of(job)},
               {"gpu", index(run.gpu)},
               {"slice", slice_text(run.gpu, run.where)},
               {"type", platform.profile(run.type).name},
               {"expected_finish_s", seconds(run.finish)},
               {"on_time", run.finish <= after.jobs().job(job).deadline}};
  };

  Out out{{"smartmig_plan", 1}, {"now_s", seconds(before.now())}, {"policy", policy}, {"cost", before.cost().name()}};
  for (const char* part : {"stops", "reshapes", "starts", "keeps", "waits"}) out[part] = Out::array();
  for (JobId job : decision.plan.stops) out["stops"].push_back(id_of(job));
  for (const Reshape& reshape : decision.plan.reshapes) {
    const GpuModel& model = *platform.model(reshape.gpu).gpu;
    const Layout from = before.gpu(reshape.gpu).layout, busy = after.gpu(reshape.gpu).busy;
    const Move move = move_between(from, reshape.to);
    out["reshapes"].push_back({{"gpu", index(reshape.gpu)},
                               {"from", to_string(model, from)},
                               {"to", to_string(model, reshape.to)},
                               {"destroy", slices(reshape.gpu, move.destroy - busy)},
                               {"drain", slices(reshape.gpu, move.destroy & busy)},
                               {"create", slices(reshape.gpu, move.create)},
                               {"keep", slices(reshape.gpu, move.keep)}});
  }
  std::vector<std::uint8_t> started(workload.jobs.size());
  for (const Start& start : decision.plan.starts) {
    started[index(start.job)] = 1;
    out["starts"].push_back(run_of(start.job));
  }
  for (JobId job = after.first_unfinished(); job != kNoJob; job = after.next_unfinished(job)) {
    if (after.state(job).phase != JobPhase::kRunning)
      out["waits"].push_back(id_of(job));
    else if (!started[index(job)])
      out["keeps"].push_back(run_of(job));
  }
  return json_dump(out, indent ? 2 : -1);
}

}  // namespace smartmig
