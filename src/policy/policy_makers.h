// Makers of the planner, and of the policies that take their layouts from a list, a file or a network. The rows of
// policy_table.cc point to these functions.
#pragma once
#include "policy/policy_table.h"

namespace smartmig {

inline constexpr const char* kPaperStaticLayouts = "1,1,2,3,3,5,5,10";

JobWeights shipped_job_weights();  // the planner's, under paper costs

Result<MadeLayouts> make_whole_gpus(const PolicyRequest& request);
Result<MadeLayouts> make_static_layouts(const PolicyRequest& request);
Result<MadeLayouts> make_twice_daily(const PolicyRequest& request);
Result<MadeLayouts> make_searched_layouts(const PolicyRequest& request);
Result<MadeLayouts> make_meanfield_layouts(const PolicyRequest& request);
Result<MadeLayouts> make_market_layouts(const PolicyRequest& request);
Result<MadePolicy> make_planner(const PolicyRequest& request);
Result<MadePolicy> make_market(const PolicyRequest& request);
Result<MadePolicy> make_batch(const PolicyRequest& request);
Result<MadePolicy> make_best(const PolicyRequest& request);
Result<MadePolicy> make_migm_a(const PolicyRequest& request);
Result<MadePolicy> make_migm_b(const PolicyRequest& request);

}  // namespace smartmig
