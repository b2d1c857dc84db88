// Recomputes what a certificate proves, with its own configurations, power minorant, makespan and job subproblem. The
// subproblem uses weak duality alone instead of a search for the optimum. The checker shares with the solver only the
// model of the world (JobTable, GpuModel::layouts, PowerModel) and Windows. For one job and any number lambda >= 0, a
// run that ends in [start, start + length] of a window where it pays tau per minute of delay costs at least
//   phi(lambda) = lambda - sum over earlier pieces of length_w v_w(lambda)
//                 + tardiness(start) - length max(0, v(lambda) - tau),
//   v_w(lambda) = max over sizes of (lambda / work - price_w - charge), at least 0:
// at price lambda, the progress of a minute is worth at most v_w(lambda) more than it costs, and the whole job must be
// done. Every lambda is valid, so the choice of lambda needs no trust; the best one gives the exact minimum.
//
// Arithmetic: every operation is IEEE double to nearest, with a relative error of at most 2^-53. Every result is then
// moved outward by 2^-51 of its size plus 1e-290: downward if the value enters the bound with a plus sign, upward if
// with a minus. So the result is below the exact value of the formula for the numbers written in the certificate.
#pragma once
#include "bound/certificate.h"

namespace smartmig {

// The proven bound in the certificate's units. Refuses another workload or fleet, and prices at which the tail would
// earn (the formula then has no lower bound). Ignores the certificate's `claimed`. If the prices prove less than 0, the
// bound is 0, since energy and tardiness are never negative.
Result<double> certified_bound(const Certificate& certificate, const Platform& platform, const JobTable& jobs);

// The same without the last step: the formula's own value.
Result<double> value_at_prices(const Certificate& certificate, const Platform& platform, const JobTable& jobs);

// The whole check: certified_bound(), and claimed <= recomputed.
Result<double> check_certificate(const Certificate& certificate, const Platform& platform, const JobTable& jobs);

}  // namespace smartmig
