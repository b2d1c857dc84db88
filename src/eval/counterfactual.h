// A recorded day lived again: its arrivals under other policies in the simulator, and how far the simulator can be
// believed, by the recorded policy simulated against what was recorded.
//
// A job's times by slice size are those of its arrival, times one factor: what it took where it ran over what was
// expected there. So every size inherits the error of the estimate, and a job that only ever ran on one size is
// believed on the others by its kind's curve. A job that was withdrawn and came again under its name counts once, from
// its first arrival; jobs that never finished are left out and counted. What the fleet met on that day beside jobs
// (blocked GPUs, user limits, power caps, bounded overtaking) is not lived again. Units: microseconds, joules. Pure;
// days and policies may run on several threads.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/calibration.h"
#include "eval/experiment.h"
#include "sim/simulate.h"

namespace smartmig {

struct RecordedDay {
  std::shared_ptr<const Platform> platform;
  CostModel cost;
  std::vector<Layout> initial;
  double a = kPaperA;
  std::shared_ptr<const JobTable> measured;  // times as they turned out
  std::shared_ptr<const JobTable> expected;  // the same jobs, times as expected when they came
  std::vector<Time> finish;                  // by job
  std::vector<double> joules;                // by job: above idle, as the power model shares the recorded events out
  Summary recorded;                          // of these jobs alone but the energy, which is the fleet's
  std::size_t left_out = 0, returned = 0;    // never finished; withdrawn and come again
};

// `events` and `final` are a journal's, over `jobs`.
Result<RecordedDay> recorded_day(std::shared_ptr<const Platform> platform, const JobTable& jobs, const CostModel& cost,
                                 std::vector<Layout> initial, double a, std::span<const Event> events,
                                 const Cluster& final);

struct ReplayOptions {
  PolicyOptions policy;
  std::optional<double> w;        // weight of a watt-minute against a minute of one job's lateness; else a times jobs
  bool recorded_layouts = false;  // begin with the layouts of the record instead of the policy's own
};
Result<SimResult> live_again(const RecordedDay& day, std::shared_ptr<const JobTable> jobs, const std::string& policy,
                             const ReplayOptions& options);

// Of the finish times: error relative to the recorded turnaround, and in seconds. Of energy: of each job that has
// `measured` joules by name (else the record's own attribution), and of the fleet's total against the record's.
struct ReplayFidelity {
  ErrorFigures finish, energy;
  double mean_s = 0, p90_s = 0;
  double total_energy = 0;  // simulated / recorded - 1
  double mean_tardiness_min = 0;
};
ReplayFidelity fidelity_of(const RecordedDay& day, const SimResult& simulated,
                           const std::map<std::string, double>& measured_joules);

}  // namespace smartmig
