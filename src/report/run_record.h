// One finished run, the input of every writer of this folder. The simulator fills it, and so does a replayed journal.
// `wall_s` goes only into timing.json; all other files are equal for equal runs.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/summary.h"

namespace smartmig {

struct RunRecord {
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  CostModel cost;
  std::vector<Layout> initial;                 // one per GPU, at time 0
  const std::vector<Event>* events = nullptr;  // the journal; null: not kept (large fleets)
  const Cluster* final = nullptr;              // never null
  Summary summary;
  // The request, in the order of writing: policy, layouts, workload, seed, ... Numbers and true/false are printed bare,
  // other values quoted. The writers add what they know themselves (platform, power, cost, a).
  std::vector<std::pair<std::string, std::string>> config;
  std::string version;
  double wall_s = 0;

  // The value of a config entry, empty if there is none.
  std::string config_value(std::string_view key) const {
    for (const auto& [name, value] : config)
      if (name == key) return value;
    return {};
  }
};

// Above this many GPUs, a run keeps its journal and writes the files made from it only on request.
inline constexpr std::size_t kMaxJournalGpus = 64;

}  // namespace smartmig
