// A batch that should be over soon, for few joules: what counts is the end of the last job and the energy until then,
// not any single job's deadline. At every decision the waiting jobs are scheduled to their end on paper: longest first,
// each to the slice on which it ends earliest (busy slices count from when they get free, ones still to be made from
// when they exist). Layouts of the GPUs are chosen by what such a schedule comes to:
//
//   (1 - w) * time until all is done + w * joules until then,   each over its value on whole GPUs
//
// w = 0 is time alone, w = 1 energy alone; a little of the mean end of the jobs, over its own value there, settles
// ties, and so decides while one running job lasts longer than all else. Every shape is tried on all idle GPUs at once,
// then GPU by GPU. Jobs run where their times (start-up included, model/speed.h) and the memory known of them allow; a
// slice is chosen larger than needed where that pays at the end of the batch, when few jobs are left. Running jobs are
// never stopped. Hardware costs only. At most kWindow jobs, the longest, are looked at; a stream of long jobs could
// starve short ones: policy/bounded_overtaking.h around it prevents that.
#pragma once
#include <cstdint>
#include <vector>

#include "sched/policy.h"

namespace smartmig {

class BatchPolicy : public Policy {
 public:
  static constexpr std::size_t kWindow = 256;
  explicit BatchPolicy(double energy_weight) : weight_(energy_weight) {}  // 0 to 1
  void decide(const Cluster& cluster, Plan& plan) override;

 private:
  struct PlannedSlice {  // a slice of the schedule on paper
    double free_s;
    std::uint32_t gpu;
    PlacementId where;
    bool ready;  // exists, idle, stays
  };
  struct Outcome {
    double end_s = 0, joules = 0, mean_s = 0;
    std::size_t served = 0;  // jobs that some slice of the layouts takes
  };
  struct Entry {
    JobId job;
    double longest_s;
  };

  void collect(const Cluster& cluster);
  void add_slices(const Cluster& cluster, std::size_t gpu, Layout target);
  Outcome schedule(const Cluster& cluster, const std::vector<Layout>& targets, Plan* starts);
  double value(const Outcome& outcome) const;
  std::vector<Layout> candidates(const Cluster& cluster, std::size_t gpu) const;

  double weight_;
  std::vector<Entry> queue_;                       // longest first
  std::vector<std::vector<PlannedSlice>> slices_;  // by slice type, a heap: earliest free first
  Outcome whole_;                                  // on whole GPUs, as far as they can be
};

}  // namespace smartmig
