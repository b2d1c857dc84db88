#include "base/rng.h"
#include "policy/placing_rules.h"
#include "policy/slice_rules.h"

namespace smartmig {
namespace {

// Earliest deadline to a random free slice that the job runs on. The draw is keyed by (seed, decision, job).
class Random : public TurnRule {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::int64_t turn(const Cluster&, JobId) const override { return 0; }
  Slot choose(const Cluster& cluster, const Board& board, JobId job) override {
    candidates_.clear();
    for (std::uint32_t g = 0; g < board.gpus().size(); ++g) {
      const auto& types = cluster.platform().model(GpuId(g)).type_of_placement;
      for (const PlacementId p : board.small_to_large(g))
        if ((board.gpus()[g].free >> index(p) & 1) && cluster.jobs().work(job, types[index(p)]) >= Time{0})
          candidates_.push_back({GpuId(g), p});
    }
    if (candidates_.empty()) return {};
    return candidates_[Rng(mix64(seed_, cluster.decision()), index(job)).below(candidates_.size())];
  }

 private:
  std::uint64_t seed_;
  std::vector<Slot> candidates_;
};

}  // namespace

std::unique_ptr<TurnRule> make_random_rule(std::uint64_t seed) { return std::make_unique<Random>(seed); }

}  // namespace smartmig
