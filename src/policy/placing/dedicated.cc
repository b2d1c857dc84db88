#include "policy/placing/placing_rules.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {
namespace {

// The first GPUs serve inference, the others training: a long training job never blocks a short request.
class Dedicated : public TurnRule {
 public:
  explicit Dedicated(int inference_gpus) : inference_gpus_(inference_gpus) {}
  std::int64_t turn(const Cluster&, JobId) const override { return 0; }
  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    const std::uint32_t gpus = std::uint32_t(board.gpus().size());
    if (gpus == 1) return first_on_time_else_earliest(cluster, board, job, ByIndex(board));
    const std::uint32_t split =
        inference_gpus_ > 0 ? std::min(gpus - 1, std::uint32_t(inference_gpus_)) : std::max(1u, gpus / 4);
    const bool inference = group(cluster, job) == 1;
    own_.clear();
    for (std::uint32_t g = inference ? 0 : split; g < (inference ? split : gpus); ++g) own_.push_back(g);
    return first_on_time_else_earliest(cluster, board, job, own_);
  }

  int group(const Cluster& cluster, JobId job) const override {
    const Workload& workload = cluster.jobs().workload();
    return workload.kind_of(workload.jobs[index(job)]).find("infer") != std::string::npos;
  }
  bool slices_interchangeable() const override { return false; }

 private:
  int inference_gpus_;
  std::vector<std::uint32_t> own_;
};

}  // namespace

std::unique_ptr<TurnRule> make_dedicated_rule(int inference_gpus) {
  return std::make_unique<Dedicated>(inference_gpus);
}

}  // namespace smartmig
