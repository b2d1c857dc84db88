// The figures of one run, computed from the final Cluster alone, so a replayed journal gives the same figures. Units:
// minutes, watt-minutes (the papers'), kWh.
//   ET = (a e + t) / (a + 1). a is the one weight of a watt-minute against a minute of mean tardiness: policies weigh
//   by it, ET is printed with it, bounds are proven for it. The default is the papers' 2e-7 for 8 GPUs and one day,
//   scaled to the fleet and span: 2e-7 * 8 / (GPUs * days).
#pragma once
#include <cstdint>

#include "model/cluster.h"

namespace smartmig {

struct Summary {
  std::size_t gpus = 0, jobs = 0, unfinished_jobs = 0, late_jobs = 0;
  double days = 1;
  double a = 0, a_eff = 0;  // equal; a_eff remains for programs that read the files
  double energy_joules = 0, energy_wmin = 0, energy_kwh = 0;
  double idle_joules = 0;  // idle watts of all boards over time, charged to no job
  double mean_tardiness_min = 0, p99_tardiness_min = 0, max_tardiness_min = 0;
  double et = 0, et_sum = 0;  // et_sum = a e + t
  double makespan_min = 0;
  double mean_wait_min = 0;  // from submit to the first start
  double mean_turnaround_min = 0, p99_turnaround_min = 0;
  double utilisation = 0;    // busy compute-slice time / (compute slices x makespan)
  std::uint64_t events = 0;  // arrivals + completions
  std::uint64_t repartitions = 0, preemptions = 0, moves = 0;
};

inline constexpr double kPaperA = 2e-7;                       // for 8 GPUs and one day
double effective_a(double a, std::size_t gpus, double days);  // the same weight for another fleet and span
Time tardiness_of(const Job& job, Time finish);
Summary summarize(const Cluster& cluster, double a, double days);

}  // namespace smartmig
