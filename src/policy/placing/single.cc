#include "policy/placing/placing_rules.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {
namespace {

// The rules of the single-GPU paper on dynamic repartitioning: an order of jobs, and one end of the size ladder.
class Single : public TurnRule {
 public:
  Single(bool least_laxity, bool fastest) : least_laxity_(least_laxity), fastest_(fastest) {}

  // Laxity: how long the job can still wait and be on time on its fastest slice type. Expressed as the instant at which
  // it is used up, which is constant while the job waits.
  std::int64_t turn(const Cluster& cluster, JobId job) const override {
    const Job& known = cluster.jobs().job(job);
    if (!least_laxity_ || !known.has_deadline()) return least_laxity_ ? kNever.count() : 0;
    const std::span<const Time> work = cluster.jobs().work_row(job);
    std::size_t fastest = work.size();
    for (std::size_t t = 0; t < work.size(); ++t)
      if (work[t] >= Time{0} && (fastest == work.size() || work[t] < work[fastest])) fastest = t;
    return (known.deadline - cluster.remaining_on(job, TypeId(fastest))).count();
  }

  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    const FinishByType finish(cluster, job);
    const Time deadline = cluster.jobs().job(job).deadline;
    Slot earliest, latest_on_time;
    Time earliest_finish = kNever, latest_finish{};
    for (std::uint32_t g = 0; g < board.gpus().size(); ++g) {
      const auto& types = cluster.platform().model(GpuId(g)).type_of_placement;
      for (const PlacementId p : board.small_to_large(g)) {
        const Time end = finish[types[index(p)]];
        if (!(board.gpus()[g].free >> index(p) & 1) || end == kNever) continue;
        if (end < earliest_finish) {
          earliest_finish = end;
          earliest = {GpuId(g), p};
        }
        if (end <= deadline && (latest_on_time.none() || end > latest_finish)) {
          latest_finish = end;
          latest_on_time = {GpuId(g), p};
        }
      }
    }
    return fastest_ || latest_on_time.none() ? earliest : latest_on_time;
  }

 private:
  bool least_laxity_, fastest_;
};

}  // namespace

std::unique_ptr<TurnRule> make_single_rule(bool least_laxity, bool fastest) {
  return std::make_unique<Single>(least_laxity, fastest);
}

}  // namespace smartmig
