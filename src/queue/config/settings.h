// Every setting of the daemon, as it is read from the file and as it is used: one group for each table of the file
// (docs/serve-config.md). The keys above the first table are in `places` and `policy`. settings_file.h reads and writes
// the file. Units are in the names or are Time; 0 is "no limit" where so stated.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/prices.h"
#include "model/summary.h"
#include "queue/config/price_curve.h"

namespace smartmig {

// Without prices: the papers' weight at their 20x load on 8 GPUs, kPaperJobs a day.
inline constexpr double kPaperJobs = 4145;
inline constexpr double kPaperWeight = kPaperA * kPaperJobs;

constexpr Time days(std::int64_t n) { return std::chrono::hours(24 * n); }

// Of a user, a Unix group or a project; 0: no limit (queue/jobs/quotas.h).
struct Quota {
  int slices = 0;                        // compute slices at once
  double gpu_hours = 0, energy_kwh = 0;  // a week
  bool operator==(const Quota&) const = default;
};
enum class QuotaScope : std::uint8_t { kUser, kGroup, kProject };
inline constexpr int kQuotaScopes = 3;
using QuotaName = std::pair<QuotaScope, std::string>;  // "default": of all that have none of their own

struct Settings {
  struct Places {
    std::string socket, state_dir;                 // empty: the user's default places (places.h)
    std::string driver = "nvml";                   // nvml, mps, or emulate:8xa100-40gb
    std::string mapping_dir;                       // empty: none is written
    std::vector<std::string> speeds, power_kinds;  // a site's own tables, in addition to those of the environment
    bool operator==(const Places&) const = default;
  } places;

  struct Deciding {
    std::string name = "best";              // the key `policy`
    std::string layouts, weights, network;  // its parameters; empty: its defaults
    std::string shadow;                     // empty: none
    bool guard = false;
    Time gather = std::chrono::milliseconds(300);
    bool operator==(const Deciding&) const = default;
  } policy;

  struct Overtaking {
    std::uint32_t bound = 64;
    Time patience = std::chrono::hours(4);
    bool operator==(const Overtaking&) const = default;
  } overtaking;

  struct Power {
    std::string model = "auto";  // of the GPUs, as Platform::parse takes it, or "fitted" (live/energy/power_fit.h)
    double board_cap_w = 0, fleet_cap_w = 0;  // 0: no cap
    bool operator==(const Power&) const = default;
  } power;

  EnergyPrices prices;        // both 0: no prices, see priced()
  PriceCurve energy_by_hour;  // the key `prices.energy_by_hour`; empty: one price all day

  struct Defaults {  // of a job that does not say
    Time estimate = std::chrono::minutes(10);
    double slack = 1;
    bool patient = false, exact_memory = false;
    bool exact_estimates = false;  // told times are right
    Time grace = std::chrono::seconds(30);
    int mem_mib = -1;               // -1: learned from the command's history
    std::string gpu_means = "any";  // "a GPU" without a size: any slice that fits, or "whole"
    int max_slices = 0;             // of jobs that name no size; 0: no cap
    int pty_max_slices = 1;         // the same of those of run --pty
    Time pty_idle{0};               // run --pty ends once it has not used its GPU for so long; 0: never
    bool operator==(const Defaults&) const = default;
  } defaults;

  struct Limits {
    int user_slices = 0, user_queued = 10'000;  // 0: no limit
    int user_store_mib = 256;                   // of live jobs; the same again of ended ones. 0: no limit
    int queue = 100'000, window = 512;
    std::map<std::string, int> priorities;  // the table `priorities`: user name -> added to the priority of their jobs
    bool operator==(const Limits&) const = default;
  } limits;

  struct QuotaTable {                   // the table `quota`
    bool refuse = false;                // beyond = "refuse": submit fails while a quota of the week is used up
    std::map<QuotaName, Quota> limits;  // [quota.group.vision]
    bool operator==(const QuotaTable&) const = default;
  } quota;

  struct Host {
    double cpus = 0;  // 0: all of the machine
    int mem_mib = 0;  // 0: all of the machine
    bool operator==(const Host&) const = default;
  } host;

  struct Prelaunch {
    bool all = false;  // jobs that do not say
    int jobs = 4;      // at a time; 0: none
    int mem_mib = 0;   // of the host, for all of them: a quarter of host.mem (DaemonHost::effective); no key of its own
    double cpus = 0;   // how many start at once, each on one core: a quarter of host.cpus; no key of its own
    bool operator==(const Prelaunch&) const = default;
  } prelaunch;

  struct Containers {
    std::string runtime = "podman";  // of jobs that do not say, where the image does not
    bool new_privileges = false;     // jobs in containers may use setuid programs: newuidmap
    bool operator==(const Containers&) const = default;
  } containers;

  struct Ports {  // of --port auto
    int first = 20'000, last = 20'999;
    bool operator==(const Ports&) const = default;
  } ports;

  struct Mps {
    double overlap = 7;  // of the SMs, times a soft slice's share
    bool halves = true;  // slices of half the smallest memory (mig/soft_model.h); none with an overlap below 2
    bool operator==(const Mps&) const = default;
  } mps;

  struct Energy {
    Time sample = std::chrono::seconds(1);
    bool operator==(const Energy&) const = default;
  } energy;

  struct Logs {
    std::int64_t max_mib = 64, keep_days = 30;
    bool operator==(const Logs&) const = default;
  } logs;

  struct Journal {
    std::uint64_t max_events = 5'000'000;
    std::int64_t keep_days = 30;
    bool operator==(const Journal&) const = default;
  } journal;

  struct Jobs {
    std::uint64_t max = 1'000'000;
    std::int64_t keep_days = 30;
    bool operator==(const Jobs&) const = default;
  } jobs;

  struct Tcp {
    std::string listen;  // "0.0.0.0:7443"; empty: the Unix socket alone
    std::string token_file, certificate, key;
    bool tls = true;
    std::vector<std::string> hosts, allowed_origins;
    bool operator==(const Tcp&) const = default;
  } tcp;

  struct Page {
    std::string listen;      // "127.0.0.1:7480": the page and the API there, for strangers to read; empty: none
    std::string token_file;  // empty: page-token in the state directory, made where it is missing
    bool operator==(const Page&) const = default;
  } http;

  struct Hooks {
    std::string on_finish;  // run as the daemon's user with the job's JSON on its standard input; empty: none
    std::string slices;  // command line for sh, run once slices of a GPU changed and before a job gets one; empty: none
    std::string mail;    // the same, with {"event","mail_user","job"}, for what a job's owner asked to hear of
    bool operator==(const Hooks&) const = default;
  } hooks;

  struct Oom {
    std::vector<std::string> patterns = {"torch.OutOfMemoryError", "CUDA out of memory", "CUDA_ERROR_OUT_OF_MEMORY",
                                         "cudaErrorMemoryAllocation"};
    std::string early = "projection";  // who restarts before it fails: projection, line, or off (memory_watch.h)
    bool operator==(const Oom&) const = default;
  } oom;

  std::optional<EnergyPrices> priced() const {
    EnergyPrices out = prices;
    if (out.energy_per_kwh == 0 && !energy_by_hour.empty()) out.energy_per_kwh = energy_by_hour.mean();
    return out.energy_per_kwh > 0 || out.late_per_hour > 0 ? std::optional(out) : std::nullopt;
  }
  bool operator==(const Settings&) const = default;
};

// Of a watt-minute against a minute of one job's tardiness.
inline double weight_of(const Settings& settings) {
  const auto prices = settings.priced();
  return prices && prices->weight() > 0 ? prices->weight() : kPaperWeight;
}
// The same against a minute of mean tardiness, at the papers' number of jobs a day: what a journal's ET is weighed by.
inline double mean_weight_of(const Settings& settings) { return weight_of(settings) / kPaperJobs; }

}  // namespace smartmig
