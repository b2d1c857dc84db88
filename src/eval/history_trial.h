// A cluster's own history run again under several policies on a chosen fleet: what its owner wants to know before
// anything is installed. Each policy sees the same jobs at the same times. Beside energy and delay of each on that fleet:
// how few GPUs it needs to delay jobs no more than a target (by default the delay of the first policy on the whole fleet, at least 1 min),
// and how far it is from a proven bound. Needed GPUs are found by halving: more GPUs are taken to delay no more.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bound/certificate_make.h"
#include "eval/experiment.h"

namespace smartmig {

struct HistoryQuestion {
  Setting setting;  // its workload is not loaded: `workload` is the history
  std::shared_ptr<const Workload> workload;
  std::vector<Contender> contenders;  // the others are measured against the first
  std::optional<double> target_min;   // mean tardiness; none: the first contender's on this fleet, at least 1
  bool sizes = true, bounds = true;
  double effort = 1;  // of the bounds, SolveOptions::effort
  int threads = 1;
};

struct HistoryRow {
  std::string label;
  Summary whole;                   // on the whole fleet
  std::optional<int> gpus_needed;  // none: not even four times the fleet, or not asked for
  double kwh_needed = 0;           // on so many GPUs
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
