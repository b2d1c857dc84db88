// Turns the arguments of `submit`, `run` and `whatif` into job specs: a command after "--", a script with header lines,
// or a list of commands on standard input, with the current directory and environment. Precedence of options: command
// line, #SMARTMIG lines, #SBATCH lines. Text that is not UTF-8 is refused, because specs are sent as JSON.
#pragma once
#include <istream>
#include <string>
#include <vector>

#include "cli/queue/submit_options.h"
#include "live/jobs/job_spec.h"
#include "memory/model_source/model_facts.h"

namespace smartmig::cli {

// A job's GPU memory before its first run, estimated from its model: from the options of submit (--model, --batch,
// ...), its command line, or the model files in its directory. --mem takes precedence; so do, in the daemon, earlier
// runs of the command. Sets spec.mem_estimate_mib and spec.mem_basis where it can. Returns notes for the user on what was
// used and what was not; empty: none. The error is for contradictory options.
Result<std::string> estimate_job_memory(JobSpec& spec, const ModelFacts& told);

// Checks whether the directory and the program of a job exist on this machine. For jobs of a daemon on the same
// machine, so that a misspelt name is refused at submission and not at the start of the job.
// kInvalid: names what is missing. If the job waits for others or for a time, the file may exist by then: a note says so.
// Paths that this user may not read are not refused.
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
// For a daemon on this machine: what is missing here is missing there. Commands of a list are sh's.
Result<Ok> check_local_start(Submission& submission, UnixTime now);

}  // namespace smartmig::cli
