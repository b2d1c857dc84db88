// What a mean-field controller sees: distributions only, so its cost and meaning do not depend on the number of GPUs
// and jobs. Three sets of features:
//
//   paper  SMART-MIG's inputs (arXiv 2606.29775; 53 with twelve layouts): share of GPUs in each layout; four histograms
//          over all unfinished jobs, divided by their number, with edges -100 0 .05 .2 .5 1 5 10 20 30 inf minutes
//          (outliers go to the end bins): deadline minus now, remaining time on small, medium and large slices (on a
//          7-slice GPU (p1+p2)/2, (p3+p4)/2, p7); time of day in [0, 1).
//   rich   the same kind of state, with amounts: share of GPUs in each layout; per CEDF class a histogram of jobs PER
//          GPU by slack (deadline - now - remaining time on the whole GPU) x remaining time on the whole GPU, log1p;
//          backlog in whole-GPU minutes per GPU, and waiting jobs per GPU, by class; unfinished, late and running jobs
//          per GPU, busy share of the compute slices; arrivals per GPU and minute over the last 10 and 60 minutes;
//          two harmonics of the time of day.
//   hardware  rich, plus what can change at once: per layout the share of GPUs that have it and run no job, and the
//          share of the model's compute slices that are on GPUs of that layout and run no job.
//
// An Observer sees the GPUs of one model of the platform, and all jobs; job counts are per GPU of the whole fleet.
// Counting is one pass over the unfinished jobs and one over the GPUs. Not thread-safe; one owner.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "policy/placing/placing_rules.h"

namespace smartmig {

enum class Features : std::uint8_t { kPaper, kRich, kHardware };
Result<Features> parse_features(std::string_view name);  // "paper", "rich", "hardware"
const char* name_of(Features features);
int input_count(Features features, std::size_t layouts);

// The shapes from which a controller of this model chooses: the papers' twelve if the model has them, else its maximal
// ones.
std::vector<Shape> controller_shapes(const Platform::Model& model);

class Observer {
 public:
  Observer(Features features, const Platform& platform, int model, std::vector<Shape> shapes);

  int inputs() const { return inputs_; }
  std::size_t layouts() const { return shapes_.size(); }
  const std::vector<Shape>& shapes() const { return shapes_; }
  const std::vector<GpuId>& gpus() const { return gpus_; }  // those of the model

  std::uint8_t index_of(Shape shape) const;  // of the nearest shape in shapes()

  // Fills `out` (inputs() numbers), layout_of() and counts().
  void observe(const Cluster& cluster, std::span<float> out);
  std::span<const std::uint8_t> layout_of() const { return layout_of_; }  // by position in gpus(): index into shapes()
  std::span<const int> counts() const { return counts_; }                 // GPUs per layout
  Time late() const { return late_; }  // the time since their deadline, if passed, summed over unfinished jobs

 private:
  void count_layouts(const Cluster& cluster);
  void paper(const Cluster& cluster, std::span<float> out);
  void rich(const Cluster& cluster, std::span<float> out);
  void idle(const Cluster& cluster, std::span<float> out);

  Features features_;
  int inputs_;
  std::vector<Shape> shapes_;
  std::vector<GpuId> gpus_;
  std::vector<std::vector<TypeId>> sizes_;  // slice types of the model: small, medium, large
  TypeId whole_ = kNoType;
  int compute_slices_ = 0, profiles_ = 0;
  CedfClasses classes_;
  std::vector<Layout> seen_;  // the layouts to which layout_of_ refers
  std::vector<std::uint8_t> layout_of_;
  std::vector<int> counts_;
  Time late_{};
};

}  // namespace smartmig
