// Recomputes what a certificate proves, with its own configurations, power minorant, makespan and job subproblem, the
// latter by weak duality alone instead of a search for the optimum; in common with the solver it has the model of the
// world (JobTable, GpuModel::layouts, PowerModel) and Windows. For one job and
// any number lambda >= 0, a run that ends in [start, start + length] of a window where it pays tau per minute of delay
// costs at least
//   phi(lambda) = lambda - sum over earlier pieces of length_w v_w(lambda)
//                 + tardiness(start) - length max(0, v(lambda) - tau),
//   v_w(lambda) = max over sizes of (lambda / work - price_w - charge), at least 0:
// each minute yields at most v_w(lambda) of progress at price lambda above what it costs, and all of the job must be
// done. Every lambda is valid, so how lambda is chosen needs no trust; the best one gives the exact minimum.
//
// Arithmetic: every operation is IEEE double to nearest, its relative error at most 2^-53, and every result is then
// moved outward by 2^-51 of its size plus 1e-290, downward where the value enters the bound with a plus sign and upward
// where it enters with a minus, so the result is below the exact value of the formula for the numbers written in the
// certificate.
#pragma once
#include "bound/certificate.h"

namespace smartmig {

// The proven bound in the certificate's units. Refuses another workload or fleet, and prices at which the tail would
// earn (the formula is then unbounded from below). `claimed` in the certificate is not looked at. Where the prices
// prove less than 0, the bound is 0: neither energy nor tardiness is ever negative.
Result<double> certified_bound(const Certificate& certificate, const Platform& platform, const JobTable& jobs);

// The same without that last step: the formula's own value.
Result<double> value_at_prices(const Certificate& certificate, const Platform& platform, const JobTable& jobs);

// The whole check: certified_bound() and claimed <= recomputed.
Result<double> check_certificate(const Certificate& certificate, const Platform& platform, const JobTable& jobs);

}  // namespace smartmig
