// The state of the queue in a few readable numbers. `smartmig explain` groups a policy's decisions by them, and its
// decision table uses them as inputs. Amounts are per GPU of the whole fleet. Work is in minutes on the whole GPU of
// the fleet's first model. One pass over the unfinished jobs. Not thread-safe; one owner.
//
// Sublinearity score of the queue (arXiv 2606.29775): the slope of the least-squares line through the origin and the
// mean throughput curve of the unfinished jobs (jobs per minute against compute slices), over its value on one slice.
// 1: jobs run k times faster on k slices; below 1: they gain less. Short jobs have the larger throughputs, so they
// count for more.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "model/cluster.h"

namespace smartmig {

enum QueueFeature : int { kHour, kUnfinished, kUrgent, kLate, kBacklog, kMeanWork, kSublinearity, kArrivals };
inline constexpr int kQueueFeatures = 8;
using QueueState = std::array<double, kQueueFeatures>;

struct QueueFeatureName {
  const char* text;  // "unfinished jobs per GPU"
  const char* key;   // "unfinished_per_gpu"
  const char* unit;
};
const std::array<QueueFeatureName, kQueueFeatures>& queue_feature_names();

class QueueProbe {
 public:
  explicit QueueProbe(const Platform& platform);
  QueueState look(const Cluster& cluster);

 private:
  double sublinearity() const;  // from throughput_

  std::vector<std::pair<double, TypeId>> sizes_;  // compute slices and slice type, by increasing size
  std::vector<double> throughput_;                // by size: per minute, summed over the jobs
  TypeId whole_ = kNoType;
};

}  // namespace smartmig
