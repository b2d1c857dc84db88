// The GPU request of a job of a cluster, independent of the engine.
#pragma once
#include <optional>
#include <string>

#include "base/units.h"

namespace smartmig {

struct JobRequest {
  int mem_mib = 0;  // 0: any
  int min_slices = 1;
  std::optional<Time> deadline;  // from the submission on
  std::optional<Time> estimate;  // on the whole GPU
  std::optional<Time> restart;   // it saves its progress: it may be stopped, and needs this to go on
  std::string kind;              // of the speed and power tables; empty: unknown
  bool operator==(const JobRequest&) const = default;
};

}  // namespace smartmig
