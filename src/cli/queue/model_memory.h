// A job's GPU memory before its first run, from what is known of its model: told to submit (--model, --batch ...), read
// from its command line, or from the model's files in its directory. A told --mem wins over all of it; so does, in the
// daemon, what earlier runs of the command took. What was made of it is said in words, and so is what could not be
// used.
#pragma once
#include <string>

#include "live/jobs/job_spec.h"
#include "model/model_source/model_facts.h"

namespace smartmig::cli {

// Sets spec.mem_estimate_mib and spec.mem_basis where it can; returns what to tell the user, empty: nothing. An error
// only where what was told cannot be.
Result<std::string> estimate_job_memory(JobSpec& spec, const ModelFacts& told);

}  // namespace smartmig::cli
