// What the owner of the queue needs to know from its configuration (config.h reads the file). Units are in the names or
// are Time.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/prices.h"

namespace smartmig {

// Without prices: the papers' a = 2e-7 at their 20x load on 8 GPUs, 4,145 jobs a day.
inline constexpr double kPaperWeight = 2e-7 * 4145;

struct DaemonSettings {
  std::string version = "0";
  std::string policy = "planner", layouts, shadow, power = "auto";
  bool guard = false;
  std::uint64_t seed = 1;
  std::uint32_t overtaking_bound = 64;
  Time overtaking_patience = std::chrono::hours(4);
  double board_cap_w = 0, fleet_cap_w = 0;  // 0: none
  std::optional<EnergyPrices> prices;
  Time default_estimate = std::chrono::minutes(10), default_grace = std::chrono::seconds(30);
  double slack = 1;
  int default_mem_mib = -1;
  int user_slices = 0, user_queued = 0, queue = 100'000, window = 512;  // 0: no limit
  std::map<std::string, int> priorities;                                // by user name
  double host_cpus = 0;                                                 // 0: all
  int host_mem_mib = 0;
  Time sample = std::chrono::seconds(1);
  Time keep_journal = std::chrono::hours(24 * 30), keep_jobs = std::chrono::hours(24 * 30);
  std::uint64_t max_events = 5'000'000, max_jobs = 1'000'000;
  std::string mapping_dir, on_finish;
  std::vector<std::string> oom_patterns = {"torch.OutOfMemoryError", "CUDA out of memory", "CUDA_ERROR_OUT_OF_MEMORY",
                                           "cudaErrorMemoryAllocation"};
  Time tick = std::chrono::seconds(60);  // a decision at least so often; kNever: at events only
  bool decide_each_arrival = false;      // no decision is spared when jobs arrive together
  Time shadow_window = std::chrono::minutes(10);
};

}  // namespace smartmig
