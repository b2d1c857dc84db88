// Processor time of process trees, from /proc: of each root, of all that descend from it, and of those children that
// were waited for. A child that nobody waited for (SIGCHLD ignored) is lost with its end, so a sum may fall. Thread
// rule: free.
#pragma once
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

// Of the text of /proc/PID/stat: its parent, and user and system time of it and of its children that were waited for.
struct ProcessTimes {
  int parent = 0;
  Time cpu{};
};
std::optional<ProcessTimes> parse_process_times(std::string_view stat, long ticks_per_second);

// By root; one that does not live is left out.
std::map<int, Time> cpu_of_trees(const std::vector<int>& roots);

}  // namespace smartmig
