// A job's GPU memory before its first run, estimated from its model: from the options of submit (--model, --batch,
// ...), its command line, or the model files in its directory. --mem takes precedence; so do, in the daemon, earlier
// runs of the command. Notes describe what was used and what was not.
#pragma once
#include <string>

#include "live/jobs/job_spec.h"
#include "model/model_source/model_facts.h"

namespace smartmig::cli {

// Sets spec.mem_estimate_mib and spec.mem_basis where it can; returns what to tell the user, empty: nothing. An error
// only where what was told cannot be.
Result<std::string> estimate_job_memory(JobSpec& spec, const ModelFacts& told);

}  // namespace smartmig::cli
