// Runs policies over paired days: every policy sees the same jobs on the same day. Days run in parallel. Results are
// stored by index, so they do not depend on the number of threads.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/registry.h"
#include "sim/simulate.h"
#include "sim/workload_spec.h"

namespace smartmig {

class WorkloadWindows;

// All parameters of a run except the policy and the day.
struct Setting {
  std::shared_ptr<const Platform> platform;
  std::string workload = "paper:20x";  // a generator, whose days are seeds, or a file, whose days are windows
  CostModel cost;
  std::optional<double> a;  // weight of a watt-minute, used as it is; none: energy_weight's default
  LoadOptions load;         // slack, deadline cut; the day sets the seed
  std::shared_ptr<const WorkloadWindows> windows;  // a file's; null for a generator
  EstimateRule estimates{};                        // what policies are told about run times
};

struct Contender {
  std::string label;   // for display; unique within a comparison
  std::string policy;  // "static+cedf"
  PolicyOptions options;
};

// Label and policy from one word: "static+cedf", or with a parameter "static[1,1,2,3]+cedf", "planner[FILE]".
Contender contender_of(std::string_view text, const PolicyOptions& defaults);

// The one weight of policies, ET and bounds on this workload: as given, else 2e-7 * 8 / (GPUs * days).
double energy_weight(const Setting& setting, const Workload& workload);
// RuleOptions::w for this workload: the weight above * n.
double per_job_weight(const Setting& setting, const Workload& workload);

// A day is a number: the seed of a generator, the window of a file. "3 days (seeds 1-3)", "2 windows of 14 d (4-5)".
std::string days_in_words(const Setting& setting, const std::vector<std::uint64_t>& days);

struct Day {
  std::uint64_t seed = 0;
  std::shared_ptr<const JobTable> jobs;
};
Result<Day> make_day(const Setting& setting, std::uint64_t seed);

// One simulated run, with what its outputs need besides the result.
struct DayRun {
  std::string layouts;          // at time 0, in words
  std::vector<Layout> initial;  // the same as values
  SimResult result;
};
Result<DayRun> simulate_day(const Setting& setting, const Contender& contender, std::shared_ptr<const JobTable> jobs,
                            Journal* journal = nullptr, const std::function<void(double)>& progress = {});
// Only the figures of the run. An error if the policy asked for illegal actions.
Result<Summary> run_day(const Setting& setting, const Contender& contender, const Day& day);

// [contender][day]. Several threads may call `progress`.
Result<std::vector<std::vector<Summary>>> run_paired(const Setting& setting, const std::vector<Contender>& contenders,
                                                     const std::vector<std::uint64_t>& seeds, int threads,
                                                     const std::function<void(double)>& progress = {});

// Runs work(i) for i in [0, count) on up to `threads` threads; i starts in increasing order.
void run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace smartmig
