// A decision table distilled from a policy: a shallow regression tree from the state of the queue to the share of GPUs
// in each layout (CART with several outputs: each split lowers the squared error most; thresholds are rounded to three
// digits if the leaves stay large enough). The table is also a repartitioner, so one can measure the loss of following
// it instead of the policy. Deterministic.
#pragma once
#include <string>
#include <vector>

#include "policy/placing/placer.h"
#include "research/explain/queue_state.h"

namespace smartmig {

struct ModelShape {  // a layout in a fleet that may have several GPU models
  int model = 0;
  Shape shape;
  auto operator<=>(const ModelShape&) const = default;
};

struct TableSample {
  QueueState state;
  std::vector<float> share;  // share of all GPUs, by layout
};

struct DecisionTable {
  struct Node {
    int feature = -1;  // below 0: it is a leaf
    double threshold = 0;
    std::size_t below = 0, above = 0;  // the nodes for state < threshold, and for the rest
    std::vector<double> share;         // mean of the samples here
    std::size_t samples = 0;
  };
  std::vector<Node> nodes;  // the first is the root

  const Node& leaf(const QueueState& state) const;
  int depth() const;
  std::size_t leaves() const;
};

struct TableOptions {
  int depth = 4;
  double least_share = 0.01;   // share of the samples that a leaf needs
  double least_gain = 0.0025;  // share of the root's squared error that a split must gain
};
DecisionTable fit_table(const std::vector<TableSample>& samples, const TableOptions& options);  // REQUIRES: samples

struct Fidelity {
  double agreement = 0;   // mean over samples of sum over layouts of min(share, predicted): GPUs that agree
  double mean_error = 0;  // mean absolute difference of a layout's share
  double explained = 0;   // 1 - squared error / squared error of the mean share of these samples
};
Fidelity fidelity_of(const DecisionTable& table, const std::vector<TableSample>& samples);

// Every ceil(5 m / 8) events, the GPUs take the shares of the leaf, up to rounding. GPUs that may keep their layout do
// so.
class TableRepartitioner : public Repartitioner {
 public:
  TableRepartitioner(DecisionTable table, std::vector<ModelShape> layouts, std::vector<Shape> initial,
                     const Platform& platform);
  std::vector<Shape> initial() const override { return initial_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override;

 private:
  DecisionTable table_;
  std::vector<ModelShape> layouts_;
  std::vector<Shape> initial_;
  QueueProbe probe_;
  std::vector<std::size_t> gpus_of_model_;
  std::vector<int> quota_;
};

}  // namespace smartmig
