// The compact numbers behind the interactive chart of a report: a page of ten thousand jobs stays below about 3 MB.
// Times are whole ticks; a tick is a two-millionth of the run or a microsecond. If a page cannot hold all stays, it
// draws the first GPUs that fit and says so. Power and queue keep every step, or above kMaxSteps means over equal
// intervals.
#pragma once
#include <string>
#include <vector>

#include "report/timeline.h"

namespace smartmig {

inline constexpr std::size_t kMaxChartRuns = 40000, kMaxSteps = 5000;

struct KindShare {
  std::string name;  // "jobs" if jobs have no kind
  double joules = 0;
  std::size_t jobs = 0;
  int colour = 0;  // for kind_class(); by name, so that the page has the same
};
struct KindTable {
  std::vector<KindShare> shares;   // by energy, largest first
  std::vector<int> share_of_kind;  // by kind + 1: index into shares
};
KindTable kind_table(const RunRecord& run);

struct ChartData {
  std::string json;
  std::size_t gpus_drawn = 0;
};
ChartData chart_data(const RunRecord& run, const Timeline& line, const KindTable& kinds);

// The same steps, or if there are more than `most`, time-weighted means over `most` equal intervals. (seconds, watts)
std::vector<std::pair<double, double>> power_curve(const Timeline& line, std::size_t most);

}  // namespace smartmig
