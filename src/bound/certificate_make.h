// From a workload to a certificate: solves, rounds the prices to the written form, and lets the checker recompute what
// they prove.
#pragma once
#include "bound/certificate.h"

namespace smartmig {

// An error if there is no bound or the checker refuses the solver's prices. Never returns an unchecked number.
Result<Certificate> make_certificate(const Platform& platform, const JobTable& jobs, Objective objective, double a,
                                     const SolveOptions& options = {}, BoundWorld world = BoundWorld::kFree);

// The proven bounds of one workload on one fleet, in the units of Summary.
struct ProvenBounds {
  BoundWorld world = BoundWorld::kFree;
  double et_sum = 0, energy_wmin = 0, tardiness_min = 0;
  double et(double a) const { return et_sum / (1 + a); }
};
Result<ProvenBounds> proven_bounds(const Platform& platform, const JobTable& jobs, double a,
                                   const SolveOptions& options = {}, BoundWorld world = BoundWorld::kFree);

}  // namespace smartmig
