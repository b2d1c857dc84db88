// SMART-MIG's controller. Every ceil(5 m / 8) events (m GPUs) a network sees distributions and returns a row-stochastic
// matrix over layouts. Each GPU takes its next layout from the row of its present layout (Sampling). There is one
// controller per GPU model; GPUs of other models keep their first layouts. A GPU's random draw is keyed by (seed,
// decision, gpu), so replays and forks agree. Pure but for caches: the result is a function of the cluster and the
// seed.
//
// Under hardware costs:
//   - only arrivals and completions count, and every ceil(m / 4) of them is a call. Destroyed and created slices are
//     events too; if those counted, a controller's own changes would call it without end. So there are never more than
//     8 changes of a GPU per job;
//   - a GPU takes only a shape that keeps all its busy slices: slices destroyed early would be idle until a job ends.
#pragma once
#include <memory>

#include "policy/net/network_file.h"
#include "policy/placing/placer.h"

namespace smartmig {

inline std::uint64_t events_per_call(std::size_t gpus, const CostModel& cost) {
  return ((cost.free() ? 5 : 2) * gpus + 7) / 8;
}
// Whether this decision calls a controller. Under hardware costs also if a job waits and a GPU has no slices at all (a
// daemon may find it so): nothing else would create any.
bool controller_due(const Cluster& cluster);
// Whether a controller may give the GPU that shape now.
bool takes_at_once(const Cluster& cluster, GpuId gpu, Shape shape);

// Draws the next layouts of one controller's GPUs from its logits. Fills `next` (one per GPU) and, per used row, the
// columns and probabilities of the cut row ([layouts][k]).
class RowSampler {
 public:
  RowSampler(std::size_t layouts, int k, Sampling sampling);
  void draw(std::span<const float> logits, std::span<const std::uint8_t> layout_of, std::span<const int> counts,
            std::span<const GpuId> gpus, std::uint64_t seed, std::uint64_t decision, std::span<std::uint8_t> next);
  std::span<const std::uint8_t> columns(std::size_t row) const { return {columns_.data() + row * k_, k_}; }
  std::span<const float> probabilities(std::size_t row) const { return {probability_.data() + row * k_, k_}; }

 private:
  std::size_t layouts_, k_;
  Sampling sampling_;
  std::vector<std::uint8_t> columns_;
  std::vector<float> probability_;
  std::vector<double> offset_;       // quota: u of each row
  std::vector<std::uint32_t> turn_;  // quota: GPUs of the row seen so far
};

class MeanFieldRepartitioner : public Repartitioner {
 public:
  // A model without a controller keeps the translated initial shapes of the file's first controller. A platform on
  // which no model has a controller is refused, with its name.
  static Result<std::unique_ptr<MeanFieldRepartitioner>> make(const PolicyFile& file, const Platform& platform,
                                                              std::uint64_t seed,
                                                              std::optional<Sampling> sampling = std::nullopt);

  std::vector<Shape> initial() const override { return initial_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override;

  // The two parts of a call, for timing: counting (grows with jobs and GPUs) and the network (does not grow).
  void count(const Cluster& cluster);
  void infer();

 private:
  struct ModelController {  // for the GPUs of one model
    Controller controller;
    Observer observer;
    RowSampler sampler;
    std::vector<float> raw, normalised, logits;
    std::vector<std::uint8_t> next;
  };
  explicit MeanFieldRepartitioner(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t seed_;
  std::vector<ModelController> controllers_;
  std::vector<Shape> initial_;
  std::vector<GpuId> kept_;  // GPUs without a controller
  Network::Scratch scratch_;
};

// Parses the brackets after "meanfield": a policy file, a sampling, both ("mine.policy,quota") or nothing. Nothing
// means the shipped network `otherwise` (data/policies/OTHERWISE.policy).
struct NamedMeanField {
  std::unique_ptr<MeanFieldRepartitioner> repartitioner;
  std::vector<std::uint64_t> seeds;  // training seeds
  std::string trained_for;           // cost model; empty: unknown
};
Result<NamedMeanField> make_meanfield(std::string_view text, const Platform& platform, std::uint64_t seed,
                                      std::string_view otherwise = "meanfield");

}  // namespace smartmig
