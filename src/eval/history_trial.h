// Runs a cluster's own history under several policies on a chosen fleet: what its owner wants to know before installing
// anything. Each policy sees the same jobs at the same times. For each policy it reports energy and delay on that
// fleet, how few GPUs suffice to delay jobs by no more than a target (default: the delay of the first policy on the
// whole fleet, at least 1 min), and the distance from a proven bound. The number of GPUs is found by bisection, which
// assumes that more GPUs delay no more.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bound/certificate_make.h"
#include "eval/experiment.h"

namespace smartmig {

struct HistoryQuestion {
  Setting setting;  // `workload` is the history; the setting's own workload is not loaded
  std::shared_ptr<const Workload> workload;
  std::vector<Contender> contenders;  // the first is the reference for the others
  std::optional<double> target_min;   // mean tardiness; none: the first contender's on this fleet, at least 1
  bool sizes = true, bounds = true;
  double effort = 1;  // for the bounds: SolveOptions::effort
  int threads = 1;
};

struct HistoryRow {
  std::string label;
  Summary whole;                   // on the whole fleet
  std::optional<int> gpus_needed;  // none: not even four times the fleet suffices, or not asked for
  double kwh_needed = 0;           // on that many GPUs
};

struct HistoryAnswer {
  std::vector<HistoryRow> rows;
  std::optional<ProvenBounds> bounds;
  double target_min = 0;
  double peak_gpus = 0;  // sim/peak_load.h
  bool sized = false;    // whether GPUs were counted: only for a fleet of one model
};

Result<HistoryAnswer> try_history(const HistoryQuestion& question, const std::function<void(double)>& progress = {});

}  // namespace smartmig
