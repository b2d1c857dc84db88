// What must be true after the chaos, each as sentences about what is not. An empty list: all is well.
#pragma once
#include <vector>

#include "chaos_world.h"

namespace smartmig::chaos {

using Complaints = std::vector<std::string>;

struct Figures {
  int jobs = 0, attempts = 0, runs = 0;  // runs: attempts that began
  int unacknowledged_kept = 0, oom_restarts = 0, preemptions = 0;
  int held = 0, without_slice = 0;  // jobs that began before their slice was free; attempts that had none when they ran
  std::map<std::string, int> states;
  double attributed_j = 0, idle_j = 0, unattributed_j = 0, worst_board_error = 0, jobs_error = 0;
  int journal_runs = 0;
};

Result<std::vector<Json>> all_jobs(const ChaosWorld& world);  // from the running daemon

// Each job ended once, with its true state, by the jobs' own evidence.
Complaints check_jobs(const ChaosWorld& world, const Ledger& ledger, const std::vector<Json>& jobs, Figures& figures);
// What the emulated machine has is what the daemon shows.
Complaints check_instances(const ChaosWorld& world);
// Counters and joules booked at one instant, from the store.
struct EnergyBase {
  std::map<std::string, std::pair<double, double>> boards;  // by UUID: counter and booked joules
};
Result<EnergyBase> energy_base(const ChaosWorld& world);  // kNotFound: not all boards were read yet
// What the running daemon shows follows the machine's own counters, but for the time since its last sample.
Complaints check_shown_energy(const ChaosWorld& world, const EnergyBase& base);
// What is stored, to the joule: each board's counter, and the sum of the jobs.
Complaints check_energy(const ChaosWorld& world, const EnergyBase& base, Figures& figures);
Complaints check_store(const ChaosWorld& world);
Complaints check_journal(const ChaosWorld& world, const std::string& journal, Figures& figures);

}  // namespace smartmig::chaos
