// A recorded day as a self-contained page that plays it in a minute (web/plain/replay.js): slices split and merge, jobs
// go from the queue to their slices, energy and lateness add up. With a second run of the same jobs, both play side by
// side under one cursor.
#pragma once
#include <string>
#include <vector>

#include "report/run_record.h"

namespace smartmig {

struct ReplayWorld {
  std::string name;  // the policy
  const RunRecord* run = nullptr;
};

struct ReplayPage {
  std::string title;
  std::vector<ReplayWorld> worlds;  // one, or two over the same jobs
  std::string note;                 // what the reader must know of the second one; empty: nothing
  std::string version, command;
};
std::string replay_page(const ReplayPage& page);  // REQUIRES: RunRecord::events

}  // namespace smartmig
