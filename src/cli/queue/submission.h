// From the words of `submit`, `run` and `whatif` to job specs: a command after "--", a script with its header lines, or
// a list of commands on standard input, each with the present directory and environment. Precedence of options: command
// line, #SMARTMIG lines, #SBATCH lines. The daemon is told JSON, so what is not UTF-8 is refused.
#pragma once
#include <istream>
#include <string>
#include <vector>

#include "cli/queue/submit_options.h"
#include "live/jobs/job_spec.h"
#include "memory/model_source/model_facts.h"

namespace smartmig::cli {

// A job's GPU memory before its first run, from what is known of its model: told to submit (--model, --batch ...), read
// from its command line, or from the model's files in its directory. A told --mem wins over all of it; so does, in the
// daemon, what earlier runs of the command took. What was made of it is said in words, and so is what could not be
// used.
// Sets spec.mem_estimate_mib and spec.mem_basis where it can; returns what to tell the user, empty: nothing. An error
// only where what was told cannot be.
Result<std::string> estimate_job_memory(JobSpec& spec, const ModelFacts& told);

// Is what a job needs to start there on this machine: its directory, its program? For jobs of a daemon on the same
// machine, so that a misspelt name is refused at once and not when the job's turn comes.
// kInvalid: names what is missing. Where the job waits for others or for a time, it may be there by then: a note says
// so. What this user may not look at is no refusal.
Result<Ok> check_local_start(const JobSpec& spec, std::vector<std::string>& notes);

struct Words {
  std::vector<GivenOption> options;
  std::vector<std::string> rest;
  bool dashed = false;             // "--" stood before `rest`
  std::vector<std::string> notes;  // of options that mean nothing here
};

struct Submission {
  std::vector<nlohmann::json> jobs;  // specs
  std::vector<std::string> notes;
};
Result<Submission> make_submission(const Words& words, std::istream& input, UnixTime now);
// For a daemon on this machine (local_start.h): what is missing here is missing there. Commands of a list are sh's.
Result<Ok> check_local_start(Submission& submission, UnixTime now);

}  // namespace smartmig::cli
