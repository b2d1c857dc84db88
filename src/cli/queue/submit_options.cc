#include "cli/queue/submit_options.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "cli/queue/gres.h"
#include "cli/time_words.h"
#include "live/jobs/signal_names.h"

namespace smartmig::cli {
namespace {

constexpr Time kMinute(60'000'000), kSecond(1'000'000);

Result<int> whole(std::string_view text, std::int64_t low, std::int64_t high) {
  const auto number = parse_int(text);
  if (!number || *number < low || *number > high)
    return invalid("'{}' is not a whole number from {} to {}", text, low, high);
  return int(*number);
}

Result<Ok> set_gpu_memory(Draft& draft, std::string_view value) {
  if (lower(value) == "auto") {
    draft.spec.mem_mib.reset();
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.mem_mib, read_mib(value));
  return Ok{};
}

Result<Ok> set_host_memory(Draft& draft, std::string_view value) {
  SMARTMIG_TRY(draft.spec.host_mem_mib, read_mib(value));
  return Ok{};
}

Result<Ok> set_mem(Draft& draft, std::string_view value, Dialect dialect, Time) {
  return dialect == Dialect::kSbatch ? set_host_memory(draft, value) : set_gpu_memory(draft, value);
}

Result<Ok> set_deadline(Draft& draft, std::string_view value, Dialect dialect, Time now) {
  draft.spec.deadline.reset();
  draft.deadline_in.reset();
  if (lower(value) == "none") return Ok{};
  // "16:00" is a clock time here; whatever has no colon and no date is a duration.
  const bool from_now =
      value.find(':') == value.npos && lower(value.substr(0, 3)) != "now" && !(value.size() >= 10 && value[4] == '-');
  if (from_now) {
    SMARTMIG_TRY(draft.deadline_in, read_duration(value, kMinute));
  } else {
    SMARTMIG_TRY(draft.spec.deadline, read_instant(value, now));
    if (*draft.spec.deadline < now) draft.notes.push_back(fmt::format("the deadline {} has already passed", value));
  }
  if (dialect == Dialect::kSbatch)
    draft.notes.push_back(
        "#SBATCH --deadline is read as a soft deadline: the job is hurried, and late if it must be, never removed");
  return Ok{};
}

Result<Ok> set_time(Draft& draft, std::string_view value, Dialect, Time) {
  const std::string word = lower(value);
  if (word == "0" || word == "unlimited" || word == "infinite" || word == "none") {
    draft.spec.time_limit.reset();
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.time_limit, read_duration(value, kMinute));
  if (*draft.spec.time_limit <= Time{0}) return invalid("'{}' leaves no time; 0 means no limit", value);
  return Ok{};
}

Result<Ok> set_estimate(Draft& draft, std::string_view value, Dialect, Time) {
  const auto at = value.find('@');
  SMARTMIG_TRY(draft.spec.estimate, read_duration(value.substr(0, at), kMinute));
  if (*draft.spec.estimate <= Time{0}) return invalid("'{}' is no time at all", value);
  draft.spec.estimate_slices = 0;
  if (at == value.npos) return Ok{};
  std::string_view slices = value.substr(at + 1);
  slices = slices.substr(0, slices.find('.'));  // "3g.20gb"
  if (slices.ends_with('g')) slices.remove_suffix(1);
  const auto number = parse_int(slices);
  if (!number || *number < 1 || *number > 64)
    return invalid("'{}' does not name a slice after @: write 20m@3g for 20 minutes on 3 compute slices", value);
  draft.spec.estimate_slices = int(*number);
  return Ok{};
}

Result<Ok> set_array(Draft& draft, std::string_view value, Dialect, Time) {
  SMARTMIG_TRY(TaskList list, read_tasks(value));
  draft.spec.array = std::move(list.tasks);
  draft.spec.array_limit = list.limit;
  return Ok{};
}

Result<Ok> set_dependency(Draft& draft, std::string_view value, Dialect, Time) {
  std::vector<Dependency> out;
  for (const std::string_view group : split(value, ',')) {
    const auto pieces = split(group, ':');
    Dependency dependency;
    if (pieces[0] == "afterany")
      dependency.when = Dependency::kAfterAny;
    else if (pieces[0] == "afternotok")
      dependency.when = Dependency::kAfterNotOk;
    else if (pieces[0] != "afterok")
      return invalid("'{}' is not a dependency: afterok:ID[:ID], afterany:ID or afternotok:ID, several by commas",
                     group);
    if (pieces.size() < 2) return invalid("'{}' names no job: {}:ID", group, pieces[0]);
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const auto id = parse_int(pieces[i]);
      if (!id || *id < 1) return invalid("'{}' is not the number of a job", pieces[i]);
      dependency.job = std::uint64_t(*id);
      out.push_back(dependency);
    }
  }
  draft.spec.dependencies = std::move(out);
  return Ok{};
}

Result<Ok> set_checkpoint(Draft& draft, std::string_view value, Dialect, Time) {
  const auto signal = signal_number(value);
  if (!signal || *signal == SIGKILL || *signal == SIGSTOP)
    return invalid("'{}' is not a signal that a program can catch, such as USR1", value);
  draft.spec.checkpoint_signal = *signal;
  return Ok{};
}

// Slurm's [R|B:]SIGNAL[@SECONDS]: here the signal before any stop, and the time until the kill.
Result<Ok> set_signal(Draft& draft, std::string_view value, Dialect dialect, Time now) {
  if (const auto colon = value.find(':'); colon != value.npos) value.remove_prefix(colon + 1);
  const auto at = value.find('@');
  SMARTMIG_RETURN_IF_ERROR(set_checkpoint(draft, value.substr(0, at), dialect, now));
  if (at == value.npos) return Ok{};
  SMARTMIG_TRY(draft.spec.grace, read_duration(value.substr(at + 1), kSecond));
  return Ok{};
}

Result<Ok> set_gres(Draft& draft, std::string_view value, Dialect, Time) {
  SMARTMIG_TRY(const GresSlice slice, read_gres(value));
  if (slice.compute_slices == 0) {
    draft.notes.push_back(
        fmt::format("'{}' names no slice: any that fits is taken; --min-slices and --mem say more", value));
    return Ok{};
  }
  draft.spec.min_slices = slice.compute_slices;
  draft.spec.mem_mib = slice.memory_mib;
  return Ok{};
}

Result<Ok> set_directory(Draft& draft, std::string_view value, Dialect, Time) {
  std::error_code failed;
  const auto path = std::filesystem::absolute(std::string(value), failed);
  if (failed || value.empty()) return invalid("'{}' is not a directory", value);
  draft.spec.directory = path.lexically_normal().string();
  return Ok{};
}

#define SMARTMIG_SET(...)                                                 \
  [](Draft& draft, std::string_view value, Dialect, Time) -> Result<Ok> { \
    (void)value;                                                          \
    __VA_ARGS__;                                                          \
    return Ok{};                                                          \
  }

}  // namespace

std::span<const SubmitOption> submit_options() {
  static const std::vector<SubmitOption> table = {
      {"--mem",
       "",
       {},
       "SIZE|auto",
       "GPU memory: 18G, 512M, 20480 (MiB); auto: learned, larger after running out",
       set_mem},
      {"--min-slices",
       "",
       {},
       "N",
       "at least N compute slices",
       SMARTMIG_SET(SMARTMIG_TRY(draft.spec.min_slices, whole(value, 1, 64)))},
      {"--deadline", "", {}, "WHEN", "soft: 2h from now, 16:00, 2026-11-15T16:00, now+2h", set_deadline},
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
      {"--array", "-a", {}, "TASKS", "one job for each task: 0-15, 0-15%4 (4 at once), 1,3,5-9:2", set_array},
      {"--dependency", "-d", {}, "LIST", "afterok:ID[:ID][,afterany:ID]; also afternotok", set_dependency},
      {"--requeue",
       "",
       {},
       "",
       "may be stopped for another job and started again from the beginning",
       SMARTMIG_SET(draft.spec.requeue = true)},
      {"--no-requeue",
       "",
       {"--no-preempt"},
       "",
       "is never stopped for another job (the default)",
       SMARTMIG_SET(draft.spec.requeue = false; draft.spec.checkpoint_signal = 0)},
      {"--checkpoint-signal",
       "",
       {},
       "SIGNAL",
       "may be stopped: gets SIGNAL, saves its state, exits, continues later",
       set_checkpoint},
      {"--grace",
       "",
       {},
       "TIME",
       "from the first signal of a stop to the kill: 30s (the default), 2m, 45 (seconds)",
       SMARTMIG_SET(SMARTMIG_TRY(draft.spec.grace, read_duration(value, kSecond)))},
      {"--signal", "", {}, "SIGNAL[@S]", "Slurm's form of --checkpoint-signal and --grace: USR1@30", set_signal},
      {"--cpus",
       "-c",
       {"--cpus-per-task"},
       "N",
       "processor cores; else in proportion to the slice",
       SMARTMIG_SET(
           const auto number = parse_double(value);
           if (!number || *number < 0 || *number > 65'536) return invalid("'{}' is not a number of cores", value);
           draft.spec.cpus = *number)},
      {"--host-mem",
       "",
       {},
       "SIZE",
       "host memory; else in proportion to the slice",
       [](Draft& draft, std::string_view value, Dialect, Time) { return set_host_memory(draft, value); }},
      {"--exact-memory",
       "",
       {},
       "",
       "count its CUDA requests by a preloaded library: after a failure it restarts with what it needed",
       SMARTMIG_SET(draft.spec.exact_memory = true)},
      {"--mem-per-gpu",
       "",
       {},
       "SIZE",
       "GPU memory, also in an #SBATCH line, where --mem is host memory",
       [](Draft& draft, std::string_view value, Dialect, Time) { return set_gpu_memory(draft, value); }},
      {"--gres",
       "-G",
       {"--gpus", "--gpus-per-node", "--gpus-per-task"},
       "gpu:PROFILE:1",
       "memory and compute slices of a MIG profile: gpu:1g.10gb:1",
       set_gres},
      {"--priority",
       "",
       {},
       "N",
       "higher goes first; only root may ask for more than 0",
       SMARTMIG_SET(SMARTMIG_TRY(draft.spec.priority, whole(value, -1'000'000, 1'000'000)))},
      {"--nice",
       "",
       {},
       "N",
       "Slurm's word for a priority of -N",
       SMARTMIG_SET(SMARTMIG_TRY(const int nice, whole(value, -1'000'000, 1'000'000)); draft.spec.priority = -nice)},
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

void declare_submit_options(Command& cmd, std::vector<GivenOption>& given) {
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
}

Result<Ok> apply(Draft& draft, const std::vector<GivenOption>& given, Dialect dialect, Time now) {
  for (const GivenOption& one : given) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 32; };
    if (std::any_of(one.value.begin(), one.value.end(), control))
      return invalid("{}: the value holds a control character", one.option->name);
    if (auto done = one.option->apply(draft, one.value, dialect, now); !done)
      return Error{done.error().code, fmt::format("{}: {}", one.option->name, done.error().what)};
  }
  return Ok{};
}

std::vector<std::string> exported_environment(std::string_view list, char** environment,
                                              std::vector<std::string>& notes) {
  std::map<std::string, std::string> here, out;
  for (char** entry = environment; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0 || text.substr(0, equals) == "SMARTMIG_TOKEN") continue;
    here.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string_view word : split(list, ',')) {
    const auto equals = word.find('=');
    if (lower(word) == "all") {
      for (const auto& [name, value] : here) out.emplace(name, value);
    } else if (equals != word.npos && equals > 0) {
      out[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
    } else if (!word.empty() && lower(word) != "none") {
      if (const auto found = here.find(std::string(word)); found != here.end())
        out[found->first] = found->second;
      else
        notes.push_back(fmt::format("--export: there is no variable '{}' here", word));
    }
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : out) {
    try {
      (void)nlohmann::json(name + value).dump();
      entries.push_back(name + "=" + value);
    } catch (const nlohmann::json::exception&) {
      notes.push_back(fmt::format("the variable {} is left out: its value is not UTF-8",
                                  nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    }
  }
  return entries;
}

nlohmann::json to_body(const Draft& draft) {
  nlohmann::json body = nlohmann::json::parse(to_json(draft.spec));
  if (draft.deadline_in) body["deadline_s"] = seconds(*draft.deadline_in);
  return body;
}

}  // namespace smartmig::cli
