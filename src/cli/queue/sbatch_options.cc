#include "cli/queue/sbatch_options.h"

#include <fmt/format.h>

#include "cli/queue/submit_options.h"

namespace smartmig::cli {
namespace {

constexpr const char* kOneMachine = "there is one machine";
constexpr const char* kOneSlice = "a job has one task on one slice";

}  // namespace

std::span<const SbatchOption> sbatch_options() {
  using S = SbatchOption;
  static const SbatchOption table[] = {
      {S::kMeaningless, "--account", "-A", true, "users are those of the machine"},
      {S::kMeaningless, "--acctg-freq", "", true, "energy is sampled by the daemon"},
      {S::kHonoured, "--array", "-a", true, ""},
      {S::kRefused, "--batch", "", true, kOneMachine},
      {S::kRefused, "--bb", "", true, "there are no burst buffers"},
      {S::kRefused, "--bbf", "", true, "there are no burst buffers"},
      {S::kHonoured, "--begin", "-b", true, "also a duration, 2h"},
      {S::kHonoured, "--chdir", "-D", true, ""},
      {S::kRefused, "--cluster-constraint", "", true, kOneMachine},
      {S::kRefused, "--clusters", "-M", true, "ask the daemon of that machine with --server"},
      {S::kMeaningless, "--comment", "", true, "nothing reads it"},
      {S::kRefused, "--constraint", "-C", true, "say what the slice must have: --profile, --min-slices, --mem-per-gpu"},
      {S::kRefused, "--container", "", true, "start the container in the script"},
      {S::kRefused, "--container-id", "", true, "start the container in the script"},
      {S::kMeaningless, "--contiguous", "", false, kOneMachine},
      {S::kRefused, "--core-spec", "-S", true, "reserve cores with host.cpus of the daemon"},
      {S::kMeaningless, "--cores-per-socket", "", true, kOneMachine},
      {S::kRefused, "--cpu-freq", "", true, "frequencies are not set"},
      {S::kHonoured, "--cpus-per-gpu", "", true, "as --cpus-per-task: a job has one slice"},
      {S::kHonoured, "--cpus-per-task", "-c", true, ""},
      {S::kHonoured, "--deadline", "", true, "soft: the job is hurried and late if it must be, never removed"},
      {S::kMeaningless, "--delay-boot", "", true, kOneMachine},
      {S::kHonoured, "--dependency", "-d", true,
       "after, afterok, afterany, afternotok, singleton; all of them by commas"},
      {S::kMeaningless, "--distribution", "-m", true, kOneSlice},
      {S::kHonoured, "--error", "-e", true, "standard error is in the log, too"},
      {S::kRefused, "--exclude", "-x", true, "drain a GPU with smartmig drain"},
      {S::kHonoured, "--exclusive", "", false, "a whole GPU; the rest of the machine is shared"},
      {S::kHonoured, "--export", "", true, ""},
      {S::kRefused, "--export-file", "", true, "read the file in the script"},
      {S::kMeaningless, "--extra", "", true, "nothing reads it"},
      {S::kMeaningless, "--extra-node-info", "-B", true, kOneMachine},
      {S::kRefused, "--get-user-env", "", false, "start the script with #!/bin/bash -l"},
      {S::kRefused, "--gid", "", true, "jobs run with their user's groups"},
      {S::kMeaningless, "--gpu-bind", "", true, kOneSlice},
      {S::kRefused, "--gpu-freq", "", true, "frequencies are not set"},
      {S::kHonoured, "--gpus", "-G", true, "1, a MIG profile, or a model for a whole GPU"},
      {S::kHonoured, "--gpus-per-node", "", true, "1, a MIG profile, or a model for a whole GPU"},
      {S::kOnly, "--gpus-per-socket", "", true, kOneSlice, "1"},
      {S::kHonoured, "--gpus-per-task", "", true, "1, a MIG profile, or a model for a whole GPU"},
      {S::kHonoured, "--gres", "", true, "one GPU or slice: gpu:1g.10gb:1, gpu:h100:1, gpu:1"},
      {S::kMeaningless, "--gres-flags", "", true, kOneSlice},
      {S::kMeaningless, "--hint", "", true, kOneSlice},
      {S::kHonoured, "--hold", "-H", false, ""},
      {S::kMeaningless, "--ignore-pbs", "", false, "#PBS lines are never read"},
      {S::kRefused, "--input", "-i", true, "redirect in the script: standard input is /dev/null"},
      {S::kHonoured, "--job-name", "-J", true, ""},
      {S::kOnly, "--kill-on-invalid-dep", "", true, "a job whose dependency can never hold is cancelled", "yes"},
      {S::kRefused, "--licenses", "-L", true, "there are no licenses; --group limits how many run at once"},
      {S::kHonoured, "--mail-type", "", true,
       "by the operator's hooks.mail; NONE, BEGIN, END, FAIL, REQUEUE, TIME_LIMIT, ALL"},
      {S::kHonoured, "--mail-user", "", true, ""},
      {S::kMeaningless, "--mcs-label", "", true, "nothing reads it"},
      {S::kHonoured, "--mem", "", true, "host memory in an #SBATCH line"},
      {S::kMeaningless, "--mem-bind", "", true, kOneSlice},
      {S::kHonoured, "--mem-per-cpu", "", true, "host memory, times --cpus-per-task"},
      {S::kHonoured, "--mem-per-gpu", "", true, "GPU memory"},
      {S::kRefused, "--mincpus", "", true, "say --cpus-per-task"},
      {S::kMeaningless, "--network", "", true, kOneMachine},
      {S::kHonoured, "--nice", "", true, ""},
      {S::kMeaningless, "--no-kill", "-k", false, kOneMachine},
      {S::kHonoured, "--no-requeue", "", false, ""},
      {S::kRefused, "--nodefile", "-F", true, kOneMachine},
      {S::kRefused, "--nodelist", "-w", true, "ask the daemon of that machine with --server"},
      {S::kOnly, "--nodes", "-N", true, kOneMachine, "1"},
      {S::kOnly, "--ntasks", "-n", true, "a job has one task; for more cores --cpus-per-task", "1"},
      {S::kOnly, "--ntasks-per-core", "", true, kOneSlice, "1"},
      {S::kOnly, "--ntasks-per-gpu", "", true, kOneSlice, "1"},
      {S::kOnly, "--ntasks-per-node", "", true, kOneSlice, "1"},
      {S::kOnly, "--ntasks-per-socket", "", true, kOneSlice, "1"},
      {S::kOnly, "--open-mode", "", true, "a new job's files are begun anew, a later attempt goes on in them",
       "truncate"},
      {S::kHonoured, "--output", "-o", true, ""},
      {S::kMeaningless, "--overcommit", "-O", false, kOneSlice},
      {S::kMeaningless, "--oversubscribe", "-s", false, "slices are never shared"},
      {S::kMeaningless, "--parsable", "", false, "submit --parsable prints the number alone"},
      {S::kMeaningless, "--partition", "-p", true, "there is one queue"},
      {S::kMeaningless, "--power", "", true, "caps are the daemon's"},
      {S::kMeaningless, "--prefer", "", true, kOneMachine},
      {S::kHonoured, "--priority", "", true, "only root may ask for more than 0"},
      {S::kHonoured, "--profile", "", true, "a MIG profile, 1g.10gb; Slurm's words (energy, task) mean nothing"},
      {S::kRefused, "--propagate", "", true, "set limits with ulimit in the script"},
      {S::kMeaningless, "--qos", "-q", true, "there is one queue"},
      {S::kMeaningless, "--quiet", "-Q", false, "submit prints one line"},
      {S::kRefused, "--reboot", "", false, "nothing is rebooted"},
      {S::kHonoured, "--requeue", "", false, ""},
      {S::kHonoured, "--reservation", "", true, "one, made with smartmig reserve"},
      {S::kMeaningless, "--resv-ports", "", false, kOneMachine},
      {S::kMeaningless, "--segment", "", true, kOneMachine},
      {S::kHonoured, "--signal", "", true, "before any stop; the number after @ is the time until the kill"},
      {S::kMeaningless, "--sockets-per-node", "", true, kOneMachine},
      {S::kMeaningless, "--spread-job", "", false, kOneMachine},
      {S::kMeaningless, "--stepmgr", "", false, "there are no steps"},
      {S::kMeaningless, "--switches", "", true, kOneMachine},
      {S::kRefused, "--test-only", "", false, "ask smartmig whatif -- COMMAND"},
      {S::kRefused, "--thread-spec", "", true, "reserve cores with host.cpus of the daemon"},
      {S::kMeaningless, "--threads-per-core", "", true, kOneSlice},
      {S::kHonoured, "--time", "-t", true, ""},
      {S::kMeaningless, "--time-min", "", true, "--time is never shortened"},
      {S::kRefused, "--tmp", "", true, "disk space is not counted"},
      {S::kMeaningless, "--tres-bind", "", true, kOneSlice},
      {S::kRefused, "--tres-per-task", "", true, "say --cpus-per-task and --gres"},
      {S::kRefused, "--uid", "", true, "root submits for another with smartmig submit --for USER"},
      {S::kMeaningless, "--use-min-nodes", "", false, kOneMachine},
      {S::kMeaningless, "--verbose", "-v", false, "submit prints one line"},
      {S::kRefused, "--wait", "-W", false, "say smartmig submit --wait"},
      {S::kMeaningless, "--wait-all-nodes", "", true, kOneMachine},
      {S::kMeaningless, "--wckey", "", true, "nothing reads it"},
      {S::kRefused, "--wrap", "", true, "it stands on the command line: smartmig submit --wrap 'COMMAND'"},
      {S::kRefused, "--x11", "", true, "there is no display"},
  };
  return table;
}

const SbatchOption* find_sbatch_option(std::string_view name) {
  for (const SbatchOption& option : sbatch_options())
    if (name == option.name || (*option.alias && name == option.alias)) return &option;
  return nullptr;
}

Result<std::string> read_sbatch_option(const SbatchOption& option, std::string_view value, std::string_view where) {
  const bool meaningless =
      option.verdict == SbatchOption::kMeaningless || (option.verdict == SbatchOption::kOnly && value == option.only);
  if (meaningless) return fmt::format("{}{} means nothing here and is ignored: {}", where, option.name, option.words);
  return invalid("{}{}{}{} cannot be had: {}", where, option.name, value.empty() ? "" : "=", value, option.words);
}

std::string sbatch_table() {
  std::string out = "| option | here | |\n|---|---|---|\n";
  for (const SbatchOption& option : sbatch_options()) {
    const std::string verdict = option.verdict == SbatchOption::kHonoured  ? "honoured"
                                : option.verdict == SbatchOption::kRefused ? "refused"
                                : option.verdict == SbatchOption::kMeaningless
                                    ? "meaningless"
                                    : fmt::format("refused, but for `{}`", option.only);
    out += fmt::format("| `{}`{} | {} | {} |\n", option.name, *option.alias ? fmt::format(", `{}`", option.alias) : "",
                       verdict, option.words);
  }
  return out;
}

}  // namespace smartmig::cli
