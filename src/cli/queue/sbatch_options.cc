#include "cli/queue/sbatch_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/queue/submit_options.h"

namespace smartmig::cli {
namespace {

constexpr const char* kOneMachine = "the queue has only one machine";
constexpr const char* kOneSlice = "a job has one task on one slice";

}  // namespace

std::span<const SbatchOption> sbatch_options() {
  using S = SbatchOption;
  static const SbatchOption table[] = {
      {S::kMeaningless, "--account", "-A", true, "smartmig uses the machine's user accounts"},
      {S::kMeaningless, "--acctg-freq", "", true, "the daemon samples energy"},
      {S::kHonoured, "--array", "-a", true, ""},
      {S::kRefused, "--batch", "", true, kOneMachine},
      {S::kRefused, "--bb", "", true, "smartmig has no burst buffers"},
      {S::kRefused, "--bbf", "", true, "smartmig has no burst buffers"},
      {S::kHonoured, "--begin", "-b", true, "also a duration, 2h"},
      {S::kHonoured, "--chdir", "-D", true, ""},
      {S::kRefused, "--cluster-constraint", "", true, kOneMachine},
      {S::kRefused, "--clusters", "-M", true, "use --server to reach another machine's daemon"},
      {S::kMeaningless, "--comment", "", true, "smartmig does not use it"},
      {S::kRefused, "--constraint", "-C", true, "use --profile, --min-slices or --mem-per-gpu"},
      {S::kHonoured, "--container", "", true, "the name of an image, not the path of an OCI bundle"},
      {S::kRefused, "--container-id", "", true, "name an image with --container"},
      {S::kHonoured, "--container-image", "", true, "the pyxis option; the same as --container"},
      {S::kHonoured, "--container-mounts", "", true, "of pyxis"},
      {S::kMeaningless, "--container-name", "", true, "every attempt has its own container"},
      {S::kRefused, "--container-save", "", true, "build the image first"},
      {S::kRefused, "--container-workdir", "", true, "use --chdir: the directory is mounted under its own name"},
      {S::kMeaningless, "--contiguous", "", false, kOneMachine},
      {S::kRefused, "--core-spec", "-S", true, "reserve cores with the daemon's setting host.cpus"},
      {S::kMeaningless, "--cores-per-socket", "", true, kOneMachine},
      {S::kRefused, "--cpu-freq", "", true, "smartmig does not set clock frequencies"},
      {S::kHonoured, "--cpus-per-gpu", "", true, "the same as --cpus-per-task, because a job has one slice"},
      {S::kHonoured, "--cpus-per-task", "-c", true, ""},
      {S::kHonoured, "--deadline", "", true, "soft: smartmig tries to meet the deadline and never removes the job"},
      {S::kMeaningless, "--delay-boot", "", true, kOneMachine},
      {S::kHonoured, "--dependency", "-d", true,
       "after, afterok, afterany, afternotok or singleton, separated by commas"},
      {S::kMeaningless, "--distribution", "-m", true, kOneSlice},
      {S::kHonoured, "--error", "-e", true, "the log contains standard error too"},
      {S::kRefused, "--exclude", "-x", true, "use smartmig drain to exclude a GPU"},
      {S::kHonoured, "--exclusive", "", false, "a whole GPU; the rest of the machine is shared"},
      {S::kHonoured, "--export", "", true, ""},
      {S::kRefused, "--export-file", "", true, "source the file in the script"},
      {S::kMeaningless, "--extra", "", true, "smartmig does not use it"},
      {S::kMeaningless, "--extra-node-info", "-B", true, kOneMachine},
      {S::kRefused, "--get-user-env", "", false, "start the script with #!/bin/bash -l"},
      {S::kRefused, "--gid", "", true, "jobs run with the groups of their user"},
      {S::kMeaningless, "--gpu-bind", "", true, kOneSlice},
      {S::kRefused, "--gpu-freq", "", true, "smartmig does not set clock frequencies"},
      {S::kHonoured, "--gpus", "-G", true, "1, a MIG profile, or a GPU model (a whole GPU)"},
      {S::kHonoured, "--gpus-per-node", "", true, "1, a MIG profile, or a GPU model (a whole GPU)"},
      {S::kOnly, "--gpus-per-socket", "", true, kOneSlice, "1"},
      {S::kHonoured, "--gpus-per-task", "", true, "1, a MIG profile, or a GPU model (a whole GPU)"},
      {S::kHonoured, "--gres", "", true, "one GPU or slice: gpu:1g.10gb:1, gpu:h100:1 or gpu:1"},
      {S::kMeaningless, "--gres-flags", "", true, kOneSlice},
      {S::kMeaningless, "--hint", "", true, kOneSlice},
      {S::kHonoured, "--hold", "-H", false, ""},
      {S::kMeaningless, "--ignore-pbs", "", false, "smartmig does not read #PBS lines"},
      {S::kRefused, "--input", "-i", true, "standard input is /dev/null; redirect it in the script"},
      {S::kHonoured, "--job-name", "-J", true, ""},
      {S::kOnly, "--kill-on-invalid-dep", "", true, "smartmig cancels a job whose dependency cannot be met", "yes"},
      {S::kRefused, "--licenses", "-L", true,
       "smartmig has no licenses; use --group to limit how many jobs run at once"},
      {S::kHonoured, "--mail-type", "", true, "NONE, BEGIN, END, FAIL, REQUEUE, TIME_LIMIT or ALL; needs hooks.mail"},
      {S::kHonoured, "--mail-user", "", true, ""},
      {S::kMeaningless, "--mcs-label", "", true, "smartmig does not use it"},
      {S::kHonoured, "--mem", "", true, "host memory, in an #SBATCH line"},
      {S::kMeaningless, "--mem-bind", "", true, kOneSlice},
      {S::kHonoured, "--mem-per-cpu", "", true, "host memory per core, multiplied by --cpus-per-task"},
      {S::kHonoured, "--mem-per-gpu", "", true, "GPU memory"},
      {S::kRefused, "--mincpus", "", true, "use --cpus-per-task"},
      {S::kMeaningless, "--network", "", true, kOneMachine},
      {S::kHonoured, "--nice", "", true, ""},
      {S::kMeaningless, "--no-kill", "-k", false, kOneMachine},
      {S::kHonoured, "--no-requeue", "", false, ""},
      {S::kRefused, "--nodefile", "-F", true, kOneMachine},
      {S::kRefused, "--nodelist", "-w", true, "use --server to reach another machine's daemon"},
      {S::kOnly, "--nodes", "-N", true, kOneMachine, "1"},
      {S::kOnly, "--ntasks", "-n", true, "a job has one task; use --cpus-per-task for more cores", "1"},
      {S::kOnly, "--ntasks-per-core", "", true, kOneSlice, "1"},
      {S::kOnly, "--ntasks-per-gpu", "", true, kOneSlice, "1"},
      {S::kOnly, "--ntasks-per-node", "", true, kOneSlice, "1"},
      {S::kOnly, "--ntasks-per-socket", "", true, kOneSlice, "1"},
      {S::kOnly, "--open-mode", "", true, "the first attempt empties the files, later attempts append", "truncate"},
      {S::kHonoured, "--output", "-o", true, ""},
      {S::kMeaningless, "--overcommit", "-O", false, kOneSlice},
      {S::kMeaningless, "--oversubscribe", "-s", false, "slices are never shared"},
      {S::kMeaningless, "--parsable", "", false, "use submit --parsable"},
      {S::kMeaningless, "--partition", "-p", true, "there is only one queue"},
      {S::kMeaningless, "--power", "", true, "the daemon sets power caps"},
      {S::kMeaningless, "--prefer", "", true, kOneMachine},
      {S::kHonoured, "--priority", "", true, "only root can set a value above 0"},
      {S::kHonoured, "--profile", "", true, "a MIG profile such as 1g.10gb; energy and task have no effect"},
      {S::kRefused, "--propagate", "", true, "set limits with ulimit in the script"},
      {S::kMeaningless, "--qos", "-q", true, "there is only one queue"},
      {S::kMeaningless, "--quiet", "-Q", false, "submit always prints one line"},
      {S::kRefused, "--reboot", "", false, "smartmig does not reboot machines"},
      {S::kHonoured, "--requeue", "", false, ""},
      {S::kHonoured, "--reservation", "", true, "the name of one reservation, from smartmig reserve"},
      {S::kMeaningless, "--resv-ports", "", false, kOneMachine},
      {S::kMeaningless, "--segment", "", true, kOneMachine},
      {S::kHonoured, "--signal", "", true,
       "sent before the job is stopped for any reason; the number after @ is the time until the kill"},
      {S::kMeaningless, "--sockets-per-node", "", true, kOneMachine},
      {S::kMeaningless, "--spread-job", "", false, kOneMachine},
      {S::kMeaningless, "--stepmgr", "", false, "smartmig has no job steps"},
      {S::kMeaningless, "--switches", "", true, kOneMachine},
      {S::kRefused, "--test-only", "", false, "use smartmig whatif -- COMMAND"},
      {S::kRefused, "--thread-spec", "", true, "reserve cores with the daemon's setting host.cpus"},
      {S::kMeaningless, "--threads-per-core", "", true, kOneSlice},
      {S::kHonoured, "--time", "-t", true, ""},
      {S::kMeaningless, "--time-min", "", true, "smartmig never shortens --time"},
      {S::kRefused, "--tmp", "", true, "smartmig does not count disk space"},
      {S::kMeaningless, "--tres-bind", "", true, kOneSlice},
      {S::kRefused, "--tres-per-task", "", true, "use --cpus-per-task and --gres"},
      {S::kRefused, "--uid", "", true, "root uses smartmig submit --for USER"},
      {S::kMeaningless, "--use-min-nodes", "", false, kOneMachine},
      {S::kMeaningless, "--verbose", "-v", false, "submit always prints one line"},
      {S::kRefused, "--wait", "-W", false, "use smartmig submit --wait"},
      {S::kMeaningless, "--wait-all-nodes", "", true, kOneMachine},
      {S::kMeaningless, "--wckey", "", true, "smartmig does not use it"},
      {S::kRefused, "--wrap", "", true, "use it on the command line: smartmig submit --wrap 'COMMAND'"},
      {S::kRefused, "--x11", "", true, "smartmig does not forward displays"},
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
  if (meaningless) return fmt::format("{}{} has no effect here: {}", where, option.name, option.words);
  return invalid("{}{}{}{} is not supported: {}", where, option.name, value.empty() ? "" : "=", value, option.words);
}

std::string sbatch_table() {
  constexpr std::pair<SbatchOption::Verdict, const char*> kParts[] = {
      {SbatchOption::kHonoured, "Honoured"},
      {SbatchOption::kMeaningless, "Without effect"},
      {SbatchOption::kRefused, "Refused"},
      {SbatchOption::kOnly, "Refused, except for one value"},
  };
  std::string out;
  for (const auto& [verdict, title] : kParts) {
    std::vector<std::pair<std::string, std::string>> rows;  // words, and the options that share them
    for (const SbatchOption& option : sbatch_options()) {
      if (option.verdict != verdict) continue;
      const std::string words =
          *option.only ? fmt::format("only `{}`: {}", option.only, option.words) : std::string(option.words);
      const std::string name =
          fmt::format("`{}`{}", option.name, *option.alias ? fmt::format(" (`{}`)", option.alias) : "");
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& other) { return other.first == words; });
      if (row == rows.end())
        rows.emplace_back(words, name);
      else
        row->second += ", " + name;
    }
    out += fmt::format("{}## {}\n\n", out.empty() ? "" : "\n", title);
    for (const auto& [words, names] : rows) out += fmt::format("- {}{}{}\n", names, words.empty() ? "" : ": ", words);
  }
  return out;
}

}  // namespace smartmig::cli
