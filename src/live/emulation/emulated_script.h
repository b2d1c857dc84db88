// The true behaviour of an emulated job, where it differs from what the daemon expects. Entries of the job's
// environment tell it to the in-process runner; no policy sees them.
//
//   SMARTMIG_EMULATED_MEMORY   "0:1000,0.5:4000,1:9000": MiB by share of the job's work done, straight lines between
//   SMARTMIG_EMULATED_SECONDS  "1:900,2:500,7:200": the whole job's run time by compute slices of its slice
//   SMARTMIG_EMULATED_KIND     row of the power table whose watts it draws
//
// Immutable once read. Units: MiB, seconds, shares of 1.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace smartmig {

struct EmulatedScript {
  std::vector<std::pair<double, double>> memory;    // share, MiB; by share; empty: none told
  std::array<double, kMaxComputeSlices> seconds{};  // by compute slices - 1; 0: as predicted
  std::string kind;                                 // empty: the job's own

  // Nothing where the environment has no such entry. kInvalid names the entry and what is wrong with it.
  static Result<std::optional<EmulatedScript>> of(const std::vector<std::string>& environment);
  std::vector<std::string> to_environment() const;

  double mib_at(double share) const;                                             // REQUIRES: memory is not empty
  std::optional<double> first_above(double limit_mib, double from_share) const;  // share at which the limit is passed
};

}  // namespace smartmig
