#include "cli/queue/submit_values.h"

#include <csignal>
#include <filesystem>

#include "base/text.h"
#include "cli/queue/gres.h"
#include "cli/time_words.h"
#include "live/jobs/signal_names.h"
#include "model/job.h"

namespace smartmig::cli {
namespace {

constexpr Time kMinute(60'000'000), kSecond(1'000'000);

// "now+COUNT[seconds|minutes|hours|days|weeks]" as Slurm writes it; nothing: another form.
std::optional<Time> slurm_offset(std::string_view value) {
  if (lower(value.substr(0, 4)) != "now+") return std::nullopt;
  value.remove_prefix(4);
  const auto end = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto count = parse_int(value.substr(0, end));
  if (!count || *count < 0 || *count > 10'000'000) return std::nullopt;
  std::string unit = lower(value.substr(end));
  if (unit.ends_with('s')) unit.pop_back();
  const std::pair<const char*, std::int64_t> units[] = {{"", 1},        {"second", 1},   {"minute", 60},
                                                        {"hour", 3600}, {"day", 86'400}, {"week", 604'800}};
  for (const auto& [name, seconds] : units)
    if (unit == name) return Time(*count * seconds * 1'000'000);
  return std::nullopt;
}

Result<int> read_size(std::string_view value, Dialect dialect) {
  if (dialect == Dialect::kSmartmig && parse_int(value) && *parse_int(value) > 0)
    return invalid("'{0}' names no unit: {0}M is {0} MiB, {0}G is {0} GiB", value);
  SMARTMIG_TRY(const int mib, read_mib(value));
  if (mib <= 0) return invalid("'{}' is no memory: write 18G or 512M, or leave it out", value);
  return mib;
}

std::string_view clock_of_word(std::string_view word) {
  const std::pair<const char*, const char*> words[] = {
      {"midnight", "00:00"}, {"elevenses", "11:00"}, {"noon", "12:00"}, {"fika", "15:00"}, {"teatime", "16:00"}};
  for (const auto& [name, clock] : words)
    if (lower(word) == name) return clock;
  return word;
}

}  // namespace

Result<int> whole_number(std::string_view text, std::int64_t low, std::int64_t high) {
  const auto number = parse_int(text);
  if (!number || *number < low || *number > high)
    return invalid("'{}' is not a whole number from {} to {}", text, low, high);
  return int(*number);
}

Result<Ok> set_gpu_memory(Draft& draft, std::string_view value, Dialect dialect, UnixTime) {
  if (lower(value) == "auto") {
    draft.spec.mem_mib.reset();
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.mem_mib, read_size(value, dialect));
  return Ok{};
}

Result<Ok> set_host_memory(Draft& draft, std::string_view value, Dialect dialect, UnixTime) {
  if (dialect == Dialect::kSbatch && (value == "0" || lower(value) == "0m" || lower(value) == "0g")) {
    draft.spec.host_mem_mib = 0;
    draft.notes.push_back(
        "#SBATCH --mem=0 asks for all memory of a node: the job gets host memory in proportion to its slice");
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.host_mem_mib, read_size(value, dialect));
  return Ok{};
}

Result<Ok> set_memory_per_cpu(Draft& draft, std::string_view value, Dialect dialect, UnixTime) {
  SMARTMIG_TRY(draft.mem_per_cpu_mib, read_size(value, dialect));
  return Ok{};
}

Result<Ok> set_mem(Draft& draft, std::string_view value, Dialect dialect, UnixTime now) {
  return dialect == Dialect::kSbatch ? set_host_memory(draft, value, dialect, now)
                                     : set_gpu_memory(draft, value, dialect, now);
}

Result<Ok> set_task(Draft& draft, std::string_view value, Dialect, UnixTime) {
  if (value != "train" && value != "infer") return invalid("'{}': train or infer", value);
  draft.model.set("task", std::string(value), "--task");
  return Ok{};
}
Result<Ok> set_batch(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(const int batch, whole_number(value, 1, 1'000'000));
  draft.model.set("batch", std::to_string(batch), "--batch");
  return Ok{};
}
Result<Ok> set_context(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(const int tokens, whole_number(value, 1, 10'000'000));
  draft.model.set("context", std::to_string(tokens), "--context");
  return Ok{};
}
Result<Ok> set_precision(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_RETURN_IF_ERROR(parse_precision(value));
  draft.model.set("precision", std::string(value), "--precision");
  return Ok{};
}
Result<Ok> set_optimizer(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_RETURN_IF_ERROR(parse_optimiser(value));
  draft.model.set("optimizer", std::string(value), "--optimizer");
  return Ok{};
}

Result<When> read_when(std::string_view value, Dialect dialect, UnixTime now) {
  When out;
  if (dialect == Dialect::kSbatch)
    if (const auto offset = slurm_offset(value)) {
      out.from_now = *offset;
      return out;
    }
  if (lower(value) == "tomorrow") out.from_now = std::chrono::hours(24);
  if (lower(value) == "today" || lower(value) == "now") out.from_now = Time{0};
  if (out.from_now) return out;
  value = clock_of_word(value);
  // "16:00" is a clock time here; whatever has no colon and no date is a duration.
  const bool from_now =
      value.find(':') == value.npos && lower(value.substr(0, 3)) != "now" && !(value.size() >= 10 && value[4] == '-');
  if (from_now) {
    SMARTMIG_TRY(out.from_now, read_duration(value, kMinute));
  } else {
    SMARTMIG_TRY(out.at, read_instant(value, now));
  }
  return out;
}

Result<Ok> set_begin(Draft& draft, std::string_view value, Dialect dialect, UnixTime now) {
  SMARTMIG_TRY(const When when, read_when(value, dialect, now));
  draft.begin_in = when.from_now;
  draft.spec.begin = when.at;
  return Ok{};
}

Result<Ok> set_mail_type(Draft& draft, std::string_view value, Dialect, UnixTime) {
  draft.spec.mail.clear();
  for (const std::string_view piece : split(value, ',')) {
    const std::string word = lower(piece);
    if (word == "none" || word == "array_tasks") continue;  // each task is told of by itself
    bool known = word == "all";
    for (int e = 0; e <= int(MailEvent::kTimeLimit); ++e) {
      if (word != name_of(MailEvent(e)) && !(word == "all" && MailEvent(e) != MailEvent::kTimeLimit)) continue;
      draft.spec.mail.push_back(MailEvent(e));
      known = true;
    }
    if (!known) return invalid("'{}' is not one of NONE, BEGIN, END, FAIL, REQUEUE, TIME_LIMIT, ALL", piece);
  }
  return Ok{};
}

Result<Ok> set_deadline(Draft& draft, std::string_view value, Dialect dialect, UnixTime now) {
  draft.spec.deadline.reset();
  draft.deadline_in.reset();
  if (lower(value) == "none") return Ok{};
  SMARTMIG_TRY(const When when, read_when(value, dialect, now));
  draft.deadline_in = when.from_now;
  draft.spec.deadline = when.at;
  if (when.at && *when.at < now) return invalid("'{}' has passed already", value);
  if (dialect == Dialect::kSbatch)
    draft.notes.push_back(
        "#SBATCH --deadline is read as a soft deadline: the job is hurried, and late if it must be, never removed");
  return Ok{};
}

Result<Ok> set_time(Draft& draft, std::string_view value, Dialect, UnixTime) {
  const std::string word = lower(value);
  if (word == "0" || word == "unlimited" || word == "infinite" || word == "none") {
    draft.spec.time_limit.reset();
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.time_limit, read_duration(value, kMinute));
  if (*draft.spec.time_limit <= Time{0}) return invalid("'{}' leaves no time; 0 means no limit", value);
  return Ok{};
}

Result<Ok> set_estimate(Draft& draft, std::string_view value, Dialect, UnixTime) {
  const auto at = value.find('@');
  SMARTMIG_TRY(draft.spec.estimate, read_duration(value.substr(0, at), kMinute));
  if (*draft.spec.estimate <= Time{0}) return invalid("'{}' is not a run time: write 20m or 2h", value);
  draft.spec.estimate_slices = 0;
  if (at == value.npos) return Ok{};
  std::string_view slices = value.substr(at + 1);
  slices = slices.substr(0, slices.find('.'));  // "3g.20gb"
  if (slices.ends_with('g')) slices.remove_suffix(1);
  const auto number = parse_int(slices);
  if (!number || *number < 1 || *number > kMaxComputeSlices)
    return invalid(
        "'{}' does not name a slice after @: write 20m@3g for 20 minutes on 3 compute slices; no GPU has more than {}",
        value, kMaxComputeSlices);
  draft.spec.estimate_slices = int(*number);
  return Ok{};
}

Result<Ok> set_array(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(TaskList list, read_tasks(value));
  draft.spec.array = std::move(list.tasks);
  draft.spec.array_limit = list.limit;
  return Ok{};
}

Result<Ok> set_dependency(Draft& draft, std::string_view value, Dialect, UnixTime) {
  std::vector<Dependency> out;
  bool singleton = false;
  for (const std::string_view group : split(value, ',')) {
    const auto pieces = split(group, ':');
    Dependency dependency;
    if (group == "singleton") {
      singleton = true;
      continue;
    }
    if (pieces[0] == "after")
      dependency.when = Dependency::kAfter;
    else if (pieces[0] == "afterany")
      dependency.when = Dependency::kAfterAny;
    else if (pieces[0] == "afternotok")
      dependency.when = Dependency::kAfterNotOk;
    else if (pieces[0] != "afterok")
      return invalid(
          "'{}' is not a dependency: afterok:ID[:ID], afterany:ID, afternotok:ID, after:ID or singleton, several "
          "by commas",
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
  draft.spec.singleton = singleton;
  return Ok{};
}

Result<Ok> set_checkpoint(Draft& draft, std::string_view value, Dialect, UnixTime) {
  const auto signal = signal_number(value);
  if (!signal || *signal == SIGKILL || *signal == SIGSTOP)
    return invalid("'{}' is not a signal that a program can catch, such as USR1", value);
  draft.spec.checkpoint_signal = *signal;
  return Ok{};
}

Result<Ok> set_restart(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(draft.spec.restart, read_duration(value, kSecond));
  return Ok{};
}

Result<Ok> set_grace(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(draft.spec.grace, read_duration(value, kSecond));
  return Ok{};
}

// Slurm's [R|B:]SIGNAL[@SECONDS]: here the signal before any stop, and the time until the kill.
Result<Ok> set_signal(Draft& draft, std::string_view value, Dialect dialect, UnixTime now) {
  if (const auto colon = value.find(':'); colon != value.npos) value.remove_prefix(colon + 1);
  const auto at = value.find('@');
  SMARTMIG_RETURN_IF_ERROR(set_checkpoint(draft, value.substr(0, at), dialect, now));
  if (at == value.npos) return Ok{};
  SMARTMIG_TRY(draft.spec.grace, read_duration(value.substr(at + 1), kSecond));
  return Ok{};
}

Result<Ok> set_gres(Draft& draft, std::string_view value, Dialect dialect, UnixTime now) {
  SMARTMIG_TRY(const GresWords words, read_gres(value));
  draft.spec.gpu_model = words.model;
  if (!words.profile.empty()) return set_profile(draft, words.profile, dialect, now);
  if (!words.model.empty()) return set_exclusive(draft, "1", dialect, now);
  draft.spec.one_gpu = true;
  return Ok{};
}

Result<Ok> set_profile(Draft& draft, std::string_view value, Dialect, UnixTime) {
  // Slurm's --profile: what acct_gather records.
  for (const char* word : {"none", "all", "energy", "task", "lustre", "network"})
    if (lower(value.substr(0, value.find(','))) == word) {
      draft.notes.push_back(
          fmt::format("--profile={} means nothing here and is ignored: energy is sampled by the daemon", value));
      return Ok{};
    }
  if (!looks_like_profile(value)) return invalid("'{}' is not a MIG profile, such as 1g.10gb", value);
  draft.spec.profile = value;
  draft.spec.min_slices = 1;
  draft.spec.max_slices = 0;
  draft.spec.exclusive = false;
  return Ok{};
}

Result<Ok> set_min_slices(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(draft.spec.min_slices, whole_number(value, 1, kMaxComputeSlices));
  draft.spec.profile.clear();
  draft.spec.exclusive = false;
  return Ok{};
}

Result<Ok> set_max_slices(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(draft.spec.max_slices, whole_number(value, 1, kMaxComputeSlices));
  draft.spec.profile.clear();
  draft.spec.exclusive = false;
  return Ok{};
}

Result<Ok> set_exclusive(Draft& draft, std::string_view, Dialect, UnixTime) {
  draft.spec.exclusive = true;
  draft.spec.profile.clear();
  draft.spec.min_slices = 1;
  draft.spec.max_slices = 0;
  return Ok{};
}

Result<Ok> set_directory(Draft& draft, std::string_view value, Dialect, UnixTime) {
  std::error_code failed;
  const auto path = std::filesystem::absolute(std::string(value), failed);
  if (failed || value.empty()) return invalid("'{}' is not a directory", value);
  draft.spec.directory = path.lexically_normal().string();
  return Ok{};
}

}  // namespace smartmig::cli
