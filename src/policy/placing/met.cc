#include "policy/placing/placing_rules.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {
namespace {

// Minimum energy-tardiness. A job's extra energy on a slice is the GPU's additional draw until the job ends, if nothing
// else is added: the present jobs leave one by one, each at its finish.
class Met : public TurnRule {
 public:
  explicit Met(double weight) : weight_(weight) {}

  std::int64_t turn(const Cluster&, JobId) const override { return 0; }

  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    const FinishByType finish(cluster, job);
    const Time deadline = cluster.jobs().job(job).deadline;
    Slot best;
    double best_cost = 0;
    for (std::uint32_t g = 0; g < board.gpus().size(); ++g) {
      const PlacingState::Gpu& gpu = board.gpus()[g];
      if (gpu.free == 0) continue;
      const Departures& departures = departures_of(cluster, gpu, GpuId(g));
      const auto& types = cluster.platform().model(GpuId(g)).type_of_placement;
      TypeId seen = kNoType;  // equal free slices of one GPU cost the same; the first wins
      for (const PlacementId p : board.small_to_large(g)) {
        const TypeId type = types[index(p)];
        if (!(gpu.free >> index(p) & 1) || type == seen || finish[type] == kNever) continue;
        seen = type;
        const double tardiness = deadline == kNever ? 0 : minutes(std::max(Time{0}, finish[type] - deadline));
        const double cost =
            (weight_ * extra_watt_minutes(cluster, gpu, departures, GpuId(g), job, type, finish[type]) + tardiness) /
            (weight_ + 1);
        if (best.none() || cost < best_cost) {
          best = {GpuId(g), p};
          best_cost = cost;
        }
      }
    }
    return best;
  }

 private:
  struct Departure {
    Time at;
    int slices;
    double added;
  };

  using Departures = std::vector<Departure>;

  // When each job leaves this GPU, by time. Listed once for each GPU and each job that it takes.
  const Departures& departures_of(const Cluster& cluster, const PlacingState::Gpu& gpu, GpuId id) {
    if (identity_ != cluster.identity() || decision_ != cluster.decision() || now_ != cluster.now() ||
        known_.size() != cluster.gpus().size()) {
      identity_ = cluster.identity();
      decision_ = cluster.decision();
      now_ = cluster.now();
      known_.resize(cluster.gpus().size());
      for (Known& known : known_) known.listed = false;
    }
    Known& known = known_[index(id)];
    if (known.listed && known.placed == gpu.placed) return known.departures;
    known.listed = true;
    known.placed = gpu.placed;
    known.departures.clear();
    for (const auto& [job, where] : gpu.placed) {
      const TypeId type = cluster.platform().type_of(id, where);
      known.departures.push_back({cluster.finish_on(job, type), cluster.platform().type(type).compute_slices,
                                  cluster.jobs().added_watts(job, type)});
    }
    std::sort(known.departures.begin(), known.departures.end(),
              [](const Departure& a, const Departure& b) { return a.at < b.at; });
    return known.departures;
  }

  double extra_watt_minutes(const Cluster& cluster, const PlacingState::Gpu& gpu, const Departures& departures,
                            GpuId id, JobId job, TypeId type, Time end) const {
    const PowerModel& power = cluster.platform().model(id).power;
    const int own_slices = cluster.platform().type(type).compute_slices;
    const double own_added = cluster.jobs().added_watts(job, type);
    int slices = gpu.taken_slices;
    double added = 0, extra = 0;
    for (const Departure& d : departures) added += d.added;
    Time from = cluster.now();
    const auto integrate = [&](Time to) {
      if (to <= from) return;
      extra += (power.watts(slices + own_slices, added + own_added) - power.watts(slices, added)) * minutes(to - from);
      from = to;
    };
    for (const Departure& d : departures) {
      if (d.at >= end) break;
      integrate(d.at);
      slices -= d.slices;
      added -= d.added;
    }
    integrate(end);
    return extra;
  }

  double weight_;
  struct Known {  // about a GPU, for this decision
    bool listed = false;
    std::vector<std::pair<JobId, PlacementId>> placed;
    Departures departures;
  };
  std::vector<Known> known_;
  std::uint64_t identity_ = 0, decision_ = 0;
  Time now_{};
};

}  // namespace

std::unique_ptr<TurnRule> make_met_rule(double weight) { return std::make_unique<Met>(weight); }

}  // namespace smartmig
