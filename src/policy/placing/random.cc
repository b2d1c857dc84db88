#include <bit>

#include "base/rng.h"
#include "policy/placing/placing_rules.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {
namespace {

// Earliest deadline first; a random free slice that the job runs on. The draw is keyed by (seed, decision, job).
class Random : public TurnRule {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::int64_t turn(const Cluster&, JobId) const override { return 0; }
  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    const Platform& platform = cluster.platform();
    runs_on_.assign(platform.models().size(), 0);
    for (std::size_t m = 0; m < runs_on_.size(); ++m) {
      const auto& types = platform.models()[m].type_of_placement;
      for (std::size_t p = 0; p < types.size(); ++p)
        if (types[p] != kNoType && cluster.jobs().work(job, types[p]) >= Time{0}) runs_on_[m] |= 1u << p;
    }
    const auto candidates = [&](std::size_t g) {
      return board.gpus()[g].free & runs_on_[std::size_t(platform.model_index(GpuId(g)))];
    };
    std::size_t count = 0;
    for (std::size_t g = 0; g < board.gpus().size(); ++g) count += std::size_t(std::popcount(candidates(g)));
    if (count == 0) return {};
    std::size_t drawn = Rng(mix64(seed_, cluster.decision()), index(job)).below(count);  // by GPU, small to large
    for (std::size_t g = 0;; ++g) {
      const std::uint32_t here = candidates(g);
      if (const auto many = std::size_t(std::popcount(here)); drawn >= many) {
        drawn -= many;
        continue;
      }
      for (const PlacementId p : board.small_to_large(g))
        if ((here >> index(p) & 1) && drawn-- == 0) return {GpuId(g), p};
    }
  }

 private:
  std::uint64_t seed_;
  std::vector<std::uint32_t> runs_on_;  // by model: placements
};

}  // namespace

std::unique_ptr<TurnRule> make_random_rule(std::uint64_t seed) { return std::make_unique<Random>(seed); }

}  // namespace smartmig
