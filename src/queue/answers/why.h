// Why a job waits: one reason code, a sentence, what would have to change, and what that would bring (futures of the
// live fleet). The first reason that applies is given, from what stops everything down to what only this job meets:
//   disk_full, queue_paused, held_by_owner, held_by_operator, held_until, held_dependency, held_array_limit,
//   held_reservation, held_quota, held_group_limit, quota_slices, user_slices_cap, no_gpu_fits, gpu_reread, gpus_drained, gpus_reserved, host_cpus, host_memory, power_cap, overtaken_drain, held_for_energy,
//   reshape_under_way, reshape_fails, slice_quarantined, slices_busy, policy_waits
// With what the policy has reserved for the job, if it plans ahead, and the jobs that have to end before.
// Pure: plain inputs, no clock. Times are of the queue's clock; as JSON they are Unix seconds (docs/api.md).
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/futures.h"
#include "policy/layers/bounded_overtaking.h"

namespace smartmig {

struct WhyInput {
  const Cluster* cluster = nullptr;
  JobId job = kNoJob;  // kNoJob: not among the jobs that the policy sees
  std::string name;    // "job 12"
  int mem_mib = -1, min_slices = 1, max_slices = kMaxComputeSlices;
  std::string size;  // what it said of the size of its slice: "--profile 1g.10gb"; empty: nothing

  std::string disk;  // what is wrong with the disk; empty: nothing
  bool paused = false;
  std::string hold_code, hold;  // "held_by_owner", "is held by ..."; empty: nobody holds it
  std::string dependency;       // what it waits for: "job 11 to end well"; empty: nothing
  std::string array_limit;      // "array 7 runs 4 of at most 4 tasks"; empty: no
  std::string group_limit;      // "group big runs 2 of at most 2 jobs"; empty: no
  std::string quota_slices;     // "running jobs of project x have ..."; empty: no
  std::string never;            // "it asks for 7 compute slices, and ...": of limits; empty: no
  struct {
    bool full = false;         // no slice more for its user
    int running = 0, cap = 0;  // compute slices
  } user;
  struct {  // what it asks for; free below 0: not known
    double cpus = 0, free_cpus = -1;
    int mem_mib = 0, free_mem_mib = -1;
  } host;
  struct {
    bool held = false, never = false;                      // by the caps: for now, for ever
    double board_cap_w = 0, fleet_cap_w = 0, fleet_w = 0;  // caps: 0 none
  } power;
  const BoundedOvertaking* overtaking = nullptr;
  std::map<std::pair<std::size_t, std::size_t>, std::string> quarantined;  // (GPU, placement): what holds it
  std::map<std::size_t, std::string> failing;   // GPUs where slices cannot be made, each in words
  std::map<std::size_t, std::string> reread;    // GPUs that take no work until they are reread, each in words
  std::map<std::size_t, std::string> reserved;  // GPUs that reservations keep from it, each in words
  std::string policy = "the policy";
  std::vector<PlannedStart> planned;  // what the policy has in mind
  UnixTime origin{};                  // of the cluster's time
};

struct Reservation {
  GpuId gpu = kNoGpu;
  std::string slice;  // "3g.20gb@0"
  UnixTime start{}, finish{};
  std::optional<UnixTime> latest;  // held back to save energy, until then at the latest
  std::vector<std::string> after;  // names of jobs that end, or run, there before
};

// What stands in its way: a busy slice that would take it, or, where there is none, one that stands where such a slice
// could be made.
struct Blocker {
  GpuId gpu = kNoGpu;
  std::string slice, job;  // the job's name
  UnixTime until{};        // its expected finish
};

struct Alternative {
  std::string what;
  UnixTime start{}, finish{};    // kNeverUnix: it has no start
  std::optional<double> late_s;  // of this job; nothing: it has no deadline, or no end
  double energy_j = 0;           // of the whole fleet until all is done
  std::optional<double> cost;
};

// A job that it waits for, in the future of the queue as it is.
struct Awaited {
  std::uint64_t job = 0;
  ForkAfter::When when = ForkAfter::kEndsWell;
  UnixTime expected{};  // that it ends, or starts; kNeverUnix: never
};

struct Why {
  std::string code, sentence;
  std::vector<std::string> to_change;
  std::vector<Alternative> alternatives;
  std::optional<Reservation> reservation = {};
  std::vector<Blocker> blocked_by = {};
  std::vector<Awaited> waits_for = {};
};

Why why_waiting(const WhyInput& input);
// Time of day on this machine, with the day where it is not today's.
std::string clock_words(UnixTime at, UnixTime now);
const PlannedStart* planned_start_of(const WhyInput& in);  // nullptr: the policy has none for it
std::optional<Reservation> reservation_of(const WhyInput& input);

// As it is; treated as urgent; on a slice of any size, where it asks for more than one; with one more GPU. What leads
// nowhere is left out; of a job that has no start all but the first. `at` is the job's index in the fork, `origin` the
// instant from which the fork counts; `as_it_is`, where given, is set to the first one's future.
std::vector<Alternative> priced_alternatives(const Fork& fork, std::size_t at, const PolicyMaker& policy,
                                             const std::optional<EnergyPrices>& prices, UnixTime origin,
                                             std::optional<Outcome>* as_it_is = nullptr, LookLimit limit = {});
// Whom a job of the fork waits for, and until when; and the same in words, to be put behind why's sentence.
std::vector<Awaited> awaited_by(const Fork& fork, std::size_t at, const std::optional<Outcome>& as_it_is,
                                UnixTime origin);
std::string awaited_words(const std::vector<Awaited>& awaited, UnixTime now);

nlohmann::json to_json(std::uint64_t job, const Why& why);

}  // namespace smartmig
