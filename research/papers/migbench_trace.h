// The job list of MIGBench's published comparison, from the same rule and seed: github.com/FouoF/MIG-scheduler-
// benchmark, internal/workload/workload.go and experiment.control-plane.saturated.yaml at commit 72a3905. The random
// numbers are those of Go's math/rand/v2: PCG-DXSM with 128 bits of state, and the ziggurat tables of Marsaglia and
// Tsang (2000) for normal and exponential numbers.
#pragma once
#include <cstdint>
#include <vector>

#include "model/workload.h"
#include "sim/traces/migbench.h"

namespace smartmig {

// Go's rand.New(rand.NewPCG(seed1, seed2)).
class GoRandom {
 public:
  GoRandom(std::uint64_t seed1, std::uint64_t seed2) : high_(seed1), low_(seed2) {}
  std::uint64_t next();
  double uniform();      // Float64
  double normal();       // NormFloat64
  double exponential();  // ExpFloat64

 private:
  std::uint64_t high_, low_;
};

struct MigbenchSetting {
  std::uint64_t seed = 20'260'914;
  int jobs = 500, gpus = 8;
  double offered_load = 1.4;  // GPC-time of all jobs / that of the fleet during the arrivals
  double median_ms = 600'000, sigma = 0.8;
};
std::vector<MigbenchJob> migbench_jobs(const MigbenchSetting& setting);
Result<Workload> migbench_workload(const MigbenchSetting& setting);

}  // namespace smartmig
