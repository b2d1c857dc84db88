#include "cli/queue/submit_options.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "cli/queue/sbatch_options.h"
#include "cli/queue/submit_values.h"
#include "cli/time_words.h"

namespace smartmig::cli {

#define SMARTMIG_SET(...)                                                     \
  [](Draft& draft, std::string_view value, Dialect, UnixTime) -> Result<Ok> { \
    (void)value;                                                              \
    __VA_ARGS__;                                                              \
    return Ok{};                                                              \
  }

std::span<const SubmitOption> submit_options() {
  static const std::vector<SubmitOption> table = {
      {"--mem", "", {}, "SIZE|auto", "GPU memory: 18G, 512M; auto: learned, larger after running out", set_mem},
      {"--model",
       "",
       {},
       "NAME|PATH",
       "estimate GPU memory from its model: a name of smartmig estimate --list or a checkpoint, a directory, a file",
       SMARTMIG_SET(draft.model.set("model", std::string(value), "--model"))},
      {"--task", "", {}, "WHAT", "with --model: train or infer", set_task},
      {"--batch", "", {}, "N", "with --model: samples of one step, or requests at once", set_batch},
      {"--context", "", {}, "TOKENS", "with --model: tokens per sample", set_context},
      {"--precision", "", {}, "P", "with --model: fp32, fp16, bf16 (mixed where training), int8, int4", set_precision},
      {"--optimizer", "", {}, "O", "with --model: sgd, momentum, adam, adamw, adam-8bit, adafactor", set_optimizer},
      {"--checkpointing",
       "",
       {},
       "",
       "with --model: activations are recomputed layer by layer",
       SMARTMIG_SET(draft.model.set("checkpointing", "yes", "--checkpointing"))},
      {"--no-model",
       "",
       {},
       "",
       "estimate no GPU memory from its command line or from files of a model",
       SMARTMIG_SET(draft.estimate_memory = false)},
      {"--profile", "", {}, "PROFILE", "a slice of that MIG profile and no other: 1g.10gb", set_profile},
      {"--min-slices", "", {}, "N", "at least N compute slices", set_min_slices},
      {"--max-slices", "", {}, "N", "at most N compute slices", set_max_slices},
      {"--exclusive", "", {}, "", "a whole GPU", set_exclusive},
      {"--deadline", "", {}, "WHEN", "soft: 2h from now, 16:00, 2026-11-15T16:00, now+2h", set_deadline},
      {"--patient",
       "",
       {},
       "",
       "may wait while it will be in time for its deadline, where that saves energy",
       SMARTMIG_SET(draft.spec.patient = true)},
      {"--no-patient",
       "",
       {},
       "",
       "starts as soon as it can, also where the site's jobs are patient",
       SMARTMIG_SET(draft.spec.patient = false)},
      {"--time", "-t", {}, "LIMIT", "killed after this run time: 30m, 2h, 1-12:00:00, 90 (minutes)", set_time},
      {"--estimate",
       "",
       {},
       "TIME[@Ng]",
       "expected run time on the whole GPU, or on N compute slices: 20m@3g",
       set_estimate},
      {"--kind",
       "",
       {},
       "NAME",
       "row of the speed and power tables that this job is like",
       SMARTMIG_SET(draft.spec.kind = std::string(value))},
      {"--name",
       "-J",
       {"--job-name"},
       "NAME",
       "what to call it; else from the command",
       SMARTMIG_SET(draft.spec.name = std::string(value))},
      {"--output",
       "-o",
       {},
       "FILE",
       "where to put a copy of the log; %j is the job, %a the task",
       SMARTMIG_SET(draft.spec.output = std::string(value))},
      {"--error",
       "-e",
       {},
       "FILE",
       "where to put standard error alone; it is in the log, too",
       SMARTMIG_SET(draft.spec.error = std::string(value))},
      {"--begin", "-b", {}, "WHEN", "starts no earlier: 2h from now, 16:00, 2026-11-15T16:00, now+2h", set_begin},
      {"--hold", "-H", {}, "", "waits until smartmig release", SMARTMIG_SET(draft.spec.hold = true)},
      {"--group",
       "",
       {},
       "NAME",
       "obeys the concurrency limit of this group (smartmig group)",
       SMARTMIG_SET(draft.spec.group = std::string(value))},
      {"--reservation",
       "",
       {},
       "NAME",
       "runs in that reservation of GPUs (smartmig reserve), there and then alone",
       SMARTMIG_SET(draft.spec.reservation = std::string(value))},
      {"--wrap",
       "",
       {},
       "COMMAND",
       "a command line that sh runs, in the place of a script",
       SMARTMIG_SET(draft.wrap = std::string(value))},
      {"--mail-type",
       "",
       {},
       "LIST",
       "what to hear of, where the daemon has a program for mail: BEGIN,END,FAIL,REQUEUE,TIME_LIMIT, ALL or NONE",
       set_mail_type},
      {"--mail-user",
       "",
       {},
       "ADDRESS",
       "where to; else the user",
       SMARTMIG_SET(draft.spec.mail_user = std::string(value))},
      {"--array", "-a", {}, "TASKS", "one job for each task: 0-15, 0-15%4 (4 at once), 1,3,5-9:2", set_array},
      {"--dependency",
       "-d",
       {},
       "LIST",
       "afterok:ID[:ID][,afterany:ID]; also afternotok, after (its start), singleton (its name)",
       set_dependency},
      {"--requeue",
       "",
       {},
       "",
       "may be stopped for another job and started again from the beginning; also after a failure of its GPU",
       SMARTMIG_SET(draft.spec.requeue = true; draft.spec.once = false)},
      {"--no-requeue",
       "",
       {},
       "",
       "runs once: is not started again after it ran out of GPU memory, nor for any other reason; never stopped for "
       "another job",
       SMARTMIG_SET(draft.spec.requeue = false; draft.spec.checkpoint_signal = 0; draft.spec.once = true)},
      {"--no-oom-retry",
       "",
       {},
       "",
       "fails when it runs out of GPU memory; without it, it starts again on a larger slice",
       SMARTMIG_SET(draft.spec.oom_retry = false)},
      {"--no-preempt",
       "",
       {},
       "",
       "is never stopped for another job (the default)",
       SMARTMIG_SET(draft.spec.requeue = false; draft.spec.checkpoint_signal = 0)},
      {"--checkpoint-signal",
       "",
       {},
       "SIGNAL",
       "may be stopped: gets SIGNAL, saves its state, exits, continues later",
       set_checkpoint},
      {"--restart-time",
       "",
       {},
       "TIME",
       "what saving and resuming takes: 20s, 5m, 45 (seconds); else by its kind, 30s for an unknown one",
       set_restart},
      {"--grace",
       "",
       {},
       "TIME",
       "from the first signal of a stop to the kill: 30s (the default), 2m, 45 (seconds)",
       set_grace},
      {"--signal", "", {}, "SIGNAL[@S]", "Slurm's form of --checkpoint-signal and --grace: USR1@30", set_signal},
      {"--cpus",
       "-c",
       {"--cpus-per-task", "--cpus-per-gpu"},
       "N",
       "processor cores; else in proportion to the slice",
       SMARTMIG_SET(
           const auto number = parse_double(value);
           if (!number || *number <= 0 || *number > 65'536) return invalid("'{}' is not a number of cores", value);
           draft.spec.cpus = *number)},
      {"--host-mem", "", {}, "SIZE", "host memory; else in proportion to the slice", set_host_memory},
      {"--mem-per-cpu", "", {}, "SIZE", "Slurm's word for host memory, times --cpus", set_memory_per_cpu},
      {"--exact-memory",
       "",
       {},
       "",
       "count its CUDA requests and what its tensors hold: after a failure it restarts with what it needed",
       SMARTMIG_SET(draft.spec.exact_memory = true)},
      {"--no-exact-memory",
       "",
       {},
       "",
       "put nothing into its processes that counts, also where the site's jobs are counted",
       SMARTMIG_SET(draft.spec.exact_memory = false)},
      {"--prelaunch",
       "",
       {},
       "",
       "start its processes before its slice is free; they wait at their first CUDA call",
       SMARTMIG_SET(draft.spec.prelaunch = true)},
      {"--no-prelaunch",
       "",
       {},
       "",
       "start it when its slice is there, also where the site's jobs start before",
       SMARTMIG_SET(draft.spec.prelaunch = false)},
      {"--mem-per-gpu",
       "",
       {},
       "SIZE",
       "GPU memory, also in an #SBATCH line, where --mem is host memory",
       set_gpu_memory},
      {"--gres",
       "-G",
       {"--gpus", "--gpus-per-node", "--gpus-per-task"},
       "GPU",
       "Slurm's words: gpu:1g.10gb:1 is that profile, gpu:h100:1 a whole GPU, gpu:1 names no size",
       set_gres},
      {"--priority",
       "",
       {},
       "N",
       "higher goes first; only root may ask for more than 0",
       SMARTMIG_SET(SMARTMIG_TRY(draft.spec.priority, whole_number(value, -1'000'000, 1'000'000)))},
      {"--nice",
       "",
       {},
       "N",
       "Slurm's word for a priority of -N",
       SMARTMIG_SET(SMARTMIG_TRY(const int nice, whole_number(value, -1'000'000, 1'000'000));
                    draft.spec.priority = -nice)},
      {"--chdir", "-D", {"--workdir"}, "DIR", "where it runs; else the present directory", set_directory},
      {"--export",
       "",
       {},
       "LIST",
       "environment it gets: ALL, NONE, or A,B=value (with ALL among them: besides all)",
       SMARTMIG_SET(draft.export_list = std::string(value))},
  };
  return table;
}

const SubmitOption* find_submit_option(std::string_view name) {
  for (const SubmitOption& option : submit_options())
    if (name == option.name || (*option.alias && name == option.alias) ||
        std::any_of(option.also.begin(), option.also.end(), [&](const char* other) { return name == other; }))
      return &option;
  return nullptr;
}

void declare_submit_options(Command& cmd, std::vector<GivenOption>& given, std::vector<std::string>& notes) {
  for (const SubmitOption& option : submit_options()) {
    const auto take = [&given, row = &option](std::string_view value) -> Result<Ok> {
      if (!(row->is_flag() && (value == "0" || value == "false" || value == "no")))
        given.push_back({row, std::string(value)});
      return Ok{};
    };
    if (option.is_flag())
      cmd.flag(option.name, Command::Setter(take), option.help);
    else
      cmd.option(option.name, Command::Setter(take), option.value_name, option.help);
    if (*option.alias) cmd.alias(option.alias);
    for (const char* other : option.also) cmd.also(other);
  }
  for (const SbatchOption& option : sbatch_options()) {
    if (option.verdict == SbatchOption::kHonoured) continue;
    const auto take = [&notes, row = &option](std::string_view value) -> Result<Ok> {
      SMARTMIG_TRY(std::string note, read_sbatch_option(*row, row->takes_value ? value : "", ""));
      notes.push_back(std::move(note));
      return Ok{};
    };
    if (option.takes_value)
      cmd.option(option.name, Command::Setter(take), "VALUE", "");
    else
      cmd.flag(option.name, Command::Setter(take), "");
    if (*option.alias) cmd.alias(option.alias);
    cmd.hidden();
  }
}

Result<Ok> apply(Draft& draft, const std::vector<GivenOption>& given, Dialect dialect, UnixTime now) {
  for (const GivenOption& one : given) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 32; };
    if (std::any_of(one.value.begin(), one.value.end(), control))
      return invalid("{}: the value holds a control character", one.option->name);
    if (const std::string shown = valid_utf8(one.value); shown != one.value)
      return invalid("{}: '{}' is not UTF-8, which is all that smartmig takes", one.option->name, shown);
    if (auto done = one.option->apply(draft, one.value, dialect, now); !done)
      return Error{done.error().code, fmt::format("{}: {}", one.option->name, done.error().what)};
  }
  return Ok{};
}

nlohmann::json to_body(const Draft& draft) {
  nlohmann::json body = nlohmann::json::parse(to_json(draft.spec));
  if (draft.deadline_in) body["deadline_s"] = seconds(*draft.deadline_in);
  if (draft.begin_in) body["begin_s"] = seconds(*draft.begin_in);
  if (draft.mem_per_cpu_mib > 0)
    body["host_mem_mib"] = std::int64_t(std::ceil(draft.mem_per_cpu_mib * std::max(1.0, draft.spec.cpus)));
  return body;
}

}  // namespace smartmig::cli
