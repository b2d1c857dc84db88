// The options of `smartmig submit`. The command line, #SMARTMIG lines and #SBATCH lines have the same options,
// including Slurm's names. The table is that of a job's fields (live/jobs/job_fields.h). A Draft collects options in
// the order of precedence (the last one wins) and becomes the JSON for the daemon. The dialects differ in one word:
// --mem means GPU memory here and host memory for Slurm.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "live/jobs/job_fields.h"
#include "memory/model_source/model_facts.h"

namespace smartmig::cli {

enum class Dialect { kSmartmig, kSbatch };

struct Draft {
  JobSpec spec;
  // The deadline, counted from when the daemon accepts the job; spec.deadline where it was given as an instant.
  std::optional<Time> deadline_in;
  std::optional<Time> begin_in;  // the same for the earliest start
  int mem_per_cpu_mib = 0;       // of the host; 0: not said
  std::string wrap;              // a command line that is to be the script; empty: none
  std::string export_list = "ALL";
  ModelFacts model;                // what was said of its model (--model, --batch ...)
  bool estimate_memory = true;     // of its model, where its memory is not told
  std::vector<std::string> notes;  // to be said: what was read otherwise than it looks
};

struct SubmitOption : JobOption {
  const char* heading;  // of --help
  std::function<Result<Ok>(Draft&, std::string_view value, Dialect dialect, UnixTime now)> apply;
};
const std::vector<SubmitOption>& submit_options();              // in the order of --help
const SubmitOption* find_submit_option(std::string_view name);  // by any of its names, with dashes; nullptr: unknown

struct GivenOption {
  const SubmitOption* option = nullptr;
  std::string value;
};
// Options of sbatch that mean nothing here are understood, too: each leaves a note.
void declare_submit_options(Command& cmd, std::vector<GivenOption>& given, std::vector<std::string>& notes);
Result<Ok> apply(Draft& draft, const std::vector<GivenOption>& given, Dialect dialect, UnixTime now);

Json to_body(const Draft& draft);  // a spec of POST /v1/jobs

}  // namespace smartmig::cli
