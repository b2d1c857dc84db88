// The policy `market`: layouts and placement chosen together at every decision, where stops and changes are free.
//
// Each unfinished job has a gain per minute on every slice type (JobValue), each configuration of a GPU a cost per
// minute (w * watts); SizePlanner finds configurations and an assignment of high total gain; what is found is then
// realised with as few changes as it takes. Re-planning at every event makes this a model-predictive controller whose
// model of the future is the learned value of progress.
//
// Everything is planned again: all unfinished jobs, all GPUs. Mean field: above `exact_jobs` unfinished jobs those of one kind with nearly equal value are one item with a
//                   count, and re-planning comes every ceil(GPUs / 8) events (at latest after 10 s): the work of a
//                   decision then hardly depends on the number of GPUs, beyond counting and carrying out.
//
// Mixed fleets: one group of GPUs per model, one market for all.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/placing/job_value.h"
#include "policy/placing/placer.h"
#include "policy/planner/size_planner.h"

namespace smartmig {

struct MarketOptions {
  JobWeights weights;
  double w = 0;  // minutes of tardiness per watt-minute
  std::size_t exact_jobs = 512;
  int tries = 15;
};

class MarketPlanner : public Policy {
 public:
  explicit MarketPlanner(MarketOptions options) : options_(std::move(options)) { sizes_.tries = options_.tries; }
  void decide(const Cluster& cluster, Plan& plan) override;

  // A plan now, whether or not one is due; paper costs.
  void replan(const Cluster& cluster, Plan& plan);
  // The sizes of the last plan without placement, for repartitioning with another placer: the shape each GPU would get.
  void wanted_shapes(const Cluster& cluster, std::vector<Shape>& shapes);

 private:
  struct Choice {      // a configuration of the GPUs of one model
    Shape shape;       // exactly its slots
    Shape host;        // a maximal shape that has them
    double watts = 0;  // above idle, when all its slots are busy
  };

  void see_new_cluster(const Cluster& cluster);
  bool due(const Cluster& cluster);
  void gather(const Cluster& cluster, bool queued_only, double w);
  void hand_out();
  void plan_anew(const Cluster& cluster);
  void plan_sizes(const Cluster& cluster, double w);
  std::int64_t served() const;  // jobs with a slot
  void assign_configurations(const Cluster& cluster);
  void place_jobs(const Cluster& cluster, Plan& plan);
  std::size_t item_of(const Cluster& cluster, JobId job, const JobValue& value);

  MarketOptions options_;
  SizePlanner sizes_;
  SlotMarket market_;
  std::vector<SizeGroup> groups_;             // paper costs: by model
  std::vector<std::vector<Choice>> choices_;  // by model
  std::vector<int> choice_of_gpu_;
  std::vector<int> market_type_;        // by TypeId; -1: not used
  std::vector<TypeId> type_of_market_;  // its inverse
  std::uint64_t identity_ = 0;
  bool doubles_ = false;  // double-memory profiles are used: some job needs them
  std::uint64_t events_ = 0, planned_at_ = 0;
  Time planned_time_{-1};

  std::vector<JobId> jobs_;              // of this decision
  std::vector<std::uint32_t> item_;      // of each of them
  std::vector<std::int8_t> given_type_;  // market type given to each; -1: waits
  std::vector<double> times_;            // [job][type, least, slack], minutes
  std::vector<double> row_;              // gains of one job
  std::vector<double> class_sums_;       // [class][type]: gains of its jobs
  std::vector<std::int64_t> counts_;     // by item
  std::unordered_map<std::uint64_t, std::uint32_t> class_of_;
  std::vector<std::int64_t> left_;    // [item][type] still to hand out
  std::vector<Layout> layout_;        // by GPU: planned
  std::vector<std::uint32_t> taken_;  // by GPU: placements in use under the plan
  std::vector<std::uint8_t> budget_;  // [gpu][market type]
};

}  // namespace smartmig
