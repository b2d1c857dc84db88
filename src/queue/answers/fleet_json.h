// The API's view of a fleet, from belief and settings: common to the daemon, which adds what its boards say, and to the
// controller of a Slurm cluster, which adds what its agents say. Keys are those of docs/api.md.
#pragma once
#include <nlohmann/json.hpp>

#include "model/cluster.h"
#include "queue/answers/power_series.h"
#include "queue/config/settings.h"

namespace smartmig {

nlohmann::json believed_slice_json(const Cluster& cluster, GpuId gpu, PlacementId where);
nlohmann::json believed_gpu_json(const Cluster& cluster, GpuId gpu);  // without its slices

// ET of jobs that have ended; null where none has. `weight`: of a watt-minute against a minute of one job's lateness.
nlohmann::json objective_json(std::uint64_t jobs, double energy_j, double tardiness_s, double weight);
nlohmann::json prices_json(const Settings& settings);  // null where none are set
nlohmann::json power_json(const PowerSeries& power, const Settings& settings, UnixTime now, std::uint64_t since);

// What the power model gives to the job on that slice; 0 without one.
double modelled_watts(const Cluster& cluster, GpuId gpu, PlacementId where);

}  // namespace smartmig
