// Replays a recorded day: its arrivals under other policies in the simulator. The recorded policy, simulated, is
// compared with the record, which shows how far the simulator is reliable.
//
// A job's times by slice size are those of its arrival, times one factor: its actual time / its expected time where it
// ran. So every size inherits the error of the estimate. A job that only ran on one size uses its kind's curve for the
// others. A job that was withdrawn and came again under its name counts once, from its first arrival. Jobs that never
// finished are dropped and counted. Other events of that day (blocked GPUs, user limits, power caps, bounded
// overtaking) are not replayed. Units: microseconds, joules. Pure; days and policies may run on several threads.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/calibration.h"
#include "eval/experiment.h"
#include "sched/session.h"
#include "sim/simulate.h"

namespace smartmig {

struct RecordedDay {
  std::shared_ptr<const Platform> platform;
  CostModel cost;
  std::vector<Layout> initial;
  double a = kPaperA;
  std::shared_ptr<const JobTable> measured;  // with the actual times
  std::shared_ptr<const JobTable> expected;  // the same jobs, with the times expected at their arrival
  std::vector<Time> finish;                  // by job
  std::vector<double> joules;                // by job: above idle, from the recorded events by the power model
  Summary recorded;                          // of these jobs only, except the energy, which is the fleet's
  std::size_t left_out = 0, returned = 0;    // never finished; withdrawn and returned
};

// `events` and `final`: of a journal over `jobs`.
Result<RecordedDay> recorded_day(std::shared_ptr<const Platform> platform, const JobTable& jobs, const CostModel& cost,
                                 std::vector<Layout> initial, double a, std::span<const Event> events,
                                 const Cluster& final);

struct ReplayOptions {
  PolicyOptions policy;
  std::optional<double> w;        // weight of a watt-minute against a minute of a job's lateness; default: a * jobs
  bool recorded_layouts = false;  // start with the record's layouts instead of the policy's own
};
// What happened in the day that was lived again, for those who draw it.
struct LivedDay {
  MemoryJournal journal;
  std::vector<Layout> initial;
};
Result<SimResult> live_again(const RecordedDay& day, std::shared_ptr<const JobTable> jobs, const std::string& policy,
                             const ReplayOptions& options, LivedDay* lived = nullptr);

// Errors of the finish times: relative to the recorded turnaround, and in seconds. Errors of the energy: of each job
// with `measured` joules by name (else the record's own attribution), and of the fleet's total against the record's.
struct ReplayFidelity {
  ErrorFigures finish, energy;
  double mean_s = 0, p90_s = 0;
  double total_energy = 0;  // simulated / recorded - 1
  double mean_tardiness_min = 0;
};
ReplayFidelity fidelity_of(const RecordedDay& day, const SimResult& simulated,
                           const std::map<std::string, double>& measured_joules);

}  // namespace smartmig
