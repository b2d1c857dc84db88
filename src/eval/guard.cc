#include "eval/guard.h"

#include <algorithm>
#include <deque>

#include "base/embedded.h"
#include "policy/layout_file.h"
#include "policy/repartitioners.h"
#include "sim/sim_fleet.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

// A simulated world that stops at the present: the first event beyond it waits.
class HeldFleet : public Fleet {
 public:
  explicit HeldFleet(const Cluster& cluster) : fleet_(cluster) {}
  Time present{};
  bool next(const Cluster& cluster, Event& event) override {
    if (!held_) held_ = fleet_.next(cluster, waiting_);
    if (!held_ || waiting_.at > present) return false;
    event = waiting_;
    held_ = false;
    return true;
  }
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override {
    fleet_.begin(cluster, action, at_once);
  }

 private:
  SimFleet fleet_;
  Event waiting_{};
  bool held_ = false;
};

// Fixed shapes that are put back if the GPUs were given others meanwhile.
class HeldShapes : public Repartitioner {
 public:
  explicit HeldShapes(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {}
  std::vector<Shape> initial() const override { return shapes_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override {
    if (identity_ == cluster.identity() && cluster.decision() == expected_) {
      ++expected_;
      return;
    }
    identity_ = cluster.identity();
    expected_ = cluster.decision() + 1;
    for (std::size_t g = 0; g < shapes_.size(); ++g) wanted.emplace_back(GpuId(g), shapes_[g]);
  }

 private:
  std::vector<Shape> shapes_;
  std::uint64_t identity_ = 0, expected_ = 0;
};

}  // namespace

struct Guard::Candidate {
  std::vector<Shape> initial;
  std::unique_ptr<Policy> real, shadow;
  std::unique_ptr<HeldFleet> fleet;
  std::unique_ptr<Session> session;
  std::deque<double> costs;  // at the checks of the window
  Plan plan;

  double cost_at(Time now, double w) {
    fleet->present = now;
    while (session->advance()) {
      plan.clear();
      shadow->decide(session->cluster(), plan);
      session->act(plan);
    }
    const Cluster& cluster = session->cluster();
    double late = 0;
    for (std::size_t j = 0; j < cluster.states().size(); ++j) {
      const JobState& state = cluster.states()[j];
      if (state.phase == JobPhase::kAbsent) continue;
      const Time deadline = cluster.jobs().job(JobId(j)).deadline;
      const Time end = state.phase == JobPhase::kDone ? state.finish : now;
      if (deadline != kNever && end > deadline) late += minutes(end - deadline);
    }
    return late + w * watt_minutes(cluster.total_joules());
  }
};

Guard::~Guard() = default;

Result<std::unique_ptr<Guard>> Guard::make(std::string_view inner, const PolicyOptions& options, const CostModel& cost,
                                           std::shared_ptr<const Platform> platform, GuardOptions guard) {
  std::unique_ptr<Guard> out(new Guard);
  out->options_ = guard;
  out->w_ = options.rule.w;
  const auto add = [&](NamedPolicy real, NamedPolicy shadow) {
    auto candidate = std::make_unique<Candidate>();
    candidate->initial = real.initial;
    candidate->real = std::move(real.policy);
    candidate->shadow = std::move(shadow.policy);
    out->candidates_.push_back(std::move(candidate));
  };
  SMARTMIG_TRY(NamedPolicy real, make_policy(inner, options, cost, *platform));
  SMARTMIG_TRY(NamedPolicy shadow, make_policy(inner, options, cost, *platform));
  out->guarded_ = NamedPolicy{real.name, nullptr, real.initial, real.layouts, real.training_seeds};
  add(std::move(real), std::move(shadow));

  PolicyOptions plain = options;
  plain.layouts.clear();
  const std::string file = "layouts/static-8xa100-40gb-20x.json";
  SMARTMIG_TRY(const LayoutFile searched, parse_layout_file(file, embedded_file(file)));
  const auto held = [&](std::vector<Shape> shapes, const char* placer) -> Result<Ok> {
    NamedPolicy pair[2];
    for (NamedPolicy& one : pair) {
      SMARTMIG_TRY(auto half, make_placer(placer, plain, cost));
      one.initial = shapes;
      one.policy = std::make_unique<PairPolicy>(std::make_unique<HeldShapes>(shapes), std::move(half));
    }
    add(std::move(pair[0]), std::move(pair[1]));
    return Ok{};
  };
  SMARTMIG_TRY(Ok edf, held(whole_gpus(*platform), "edf"));
  SMARTMIG_TRY(Ok cedf, held(whole_gpus(*platform), "cedf"));
  (void)edf, (void)cedf;
  if (const auto shapes = parse_shapes(*platform, searched.day, true)) {  // only where the model has such shapes
    SMARTMIG_TRY(Ok search, held(*shapes, "cedf"));
    (void)search;
  }
  return out;
}

void Guard::meet(const Cluster& cluster) {
  identity_ = cluster.identity();
  deciding_ = 0;
  next_check_ = cluster.now() + options_.check;
  for (auto& candidate : candidates_) {
    std::vector<Layout> layouts;
    for (std::size_t g = 0; g < candidate->initial.size(); ++g)
      layouts.push_back(*cluster.platform().model(GpuId(g)).shapes->realise(candidate->initial[g], {}, {}));
    // The shadow begins as the real world did, and sees the same arrivals.
    const auto share = [](const auto& object) {  // kept alive by the cluster that is watched
      return std::shared_ptr<std::remove_reference_t<decltype(object)>>(std::shared_ptr<void>(), &object);
    };
    Cluster world(share(cluster.platform()), share(cluster.jobs()), cluster.cost(), std::move(layouts));
    candidate->fleet = std::make_unique<HeldFleet>(world);
    candidate->session = std::make_unique<Session>(*candidate->fleet, std::move(world));
    candidate->costs.assign(1, 0);
  }
}

void Guard::compare(const Cluster& cluster) {
  const std::size_t checks = std::size_t(options_.window / options_.check);
  std::vector<double> recent;
  for (auto& candidate : candidates_) {
    candidate->costs.push_back(candidate->cost_at(cluster.now(), w_));
    if (candidate->costs.size() > checks + 1) candidate->costs.pop_front();
    recent.push_back(candidate->costs.back() - candidate->costs.front());
  }
  const std::size_t best = std::size_t(std::min_element(recent.begin(), recent.end()) - recent.begin());
  next_check_ = cluster.now() + options_.check;
  if (candidates_[0]->costs.size() <= checks / 2) return;  // half a window is too little to judge by
  // The policy keeps the wheel unless it is clearly worse, and gets it back as soon as it is level.
  std::size_t chosen = deciding_;
  if (recent[0] <= recent[best] * (1 + options_.margin))
    chosen = 0;
  else if (recent[deciding_] > recent[best] * (1 + options_.margin))
    chosen = best;
  fallbacks_ += deciding_ == 0 && chosen != 0;
  deciding_ = chosen;
}

void Guard::decide(const Cluster& cluster, Plan& plan) {
  if (identity_ != cluster.identity()) meet(cluster);
  if (cluster.now() >= next_check_) compare(cluster);
  candidates_[deciding_]->real->decide(cluster, plan);
}

Result<NamedPolicy> make_any_policy(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                    std::shared_ptr<const Platform> platform) {
  if (!name.starts_with("guard(")) return make_policy(name, options, cost, *platform);
  if (!name.ends_with(")")) return invalid("policy '{}': the bracket after guard is not closed", name);
  SMARTMIG_TRY(auto guard, Guard::make(name.substr(6, name.size() - 7), options, cost, platform));
  NamedPolicy named{std::string(name), nullptr, guard->guarded().initial, guard->guarded().layouts,
                    guard->guarded().training_seeds};
  named.policy = std::move(guard);
  return named;
}

}  // namespace smartmig
