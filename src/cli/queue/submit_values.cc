#include "cli/queue/submit_values.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "cli/time_words.h"
#include "live/jobs/container_command.h"
#include "live/jobs/signal_names.h"
#include "mig/catalog.h"
#include "model/job.h"

namespace smartmig::cli {
namespace {

Error not_understood(std::string_view text) {
  return invalid("cannot read '{}': write gpu:1g.10gb:1, gpu:h100:1 or gpu:1", text);
}

// "h100" of h100-80gb-sxm: what else stands before a count may be a gres of another sort.
bool starts_a_model(std::string_view word) {
  const auto models = Catalog::builtin().models();
  return std::any_of(models.begin(), models.end(), [&](const auto& model) {
    const std::string& name = model->name();
    return name.starts_with(word) && (name.size() == word.size() || name[word.size()] == '-');
  });
}

}  // namespace

bool looks_like_profile(std::string_view text) {
  const auto g = text.find("g.");
  if (g == text.npos || !parse_int(text.substr(0, g))) return false;
  const auto gb = text.find("gb", g);
  return gb != text.npos && parse_int(text.substr(g + 2, gb - g - 2)).has_value();
}

Result<GresWords> read_gres(std::string_view text) {
  std::vector<std::string_view> words = split(text, ':');
  const bool gpu = words.front() == "gpu" || words.front() == "gres/gpu";
  if (gpu) words.erase(words.begin());
  if (!words.empty() && parse_int(words.back())) {
    const std::int64_t count = *parse_int(words.back());
    if (count > 1)
      return invalid("'{}' requests {} GPUs, but a job gets one slice; jobs on several GPUs are not supported", text,
                     count);
    if (count < 1) return invalid("'{}' requests no GPU, but every job gets a slice", text);
    words.pop_back();
  } else if (!gpu && words.size() == 1 && !looks_like_profile(words[0]) && !starts_a_model(words[0]) &&
             text.find('_') == text.npos) {
    return not_understood(text);
  }
  if (words.empty()) return GresWords{};
  if (words.size() > 1 || words[0].empty() || text.find(',') != text.npos) return not_understood(text);
  GresWords out;
  std::string_view model = words[0], profile = words[0];
  if (const auto underscore = profile.rfind('_'); underscore != profile.npos) profile.remove_prefix(underscore + 1);
  if (looks_like_profile(profile)) {
    out.profile = profile;
    model.remove_suffix(std::min(model.size(), profile.size() + 1));
    if (model == "mig" || model.ends_with("_mig")) model.remove_suffix(std::min<std::size_t>(model.size(), 4));
  } else if (!gpu && !starts_a_model(lower(model))) {
    return not_understood(text);
  }
  out.model = lower(model);
  return out;
}

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
    return invalid("'{0}' has no unit; write {0}M for {0} MiB or {0}G for {0} GiB", value);
  SMARTMIG_TRY(const int mib, read_mib(value));
  if (mib <= 0) return invalid("'{}' is not an amount of memory; write 18G or 512M, or leave it out", value);
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

namespace {

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
        "#SBATCH --mem=0 (all memory of a node) has no effect: the job gets host memory in "
        "proportion to its slice");
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
  if (value != "train" && value != "infer") return invalid("'{}' is not train or infer", value);
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
  if (when.at && *when.at < now) return invalid("'{}' is in the past", value);
  if (dialect == Dialect::kSbatch)
    draft.notes.push_back(
        "#SBATCH --deadline becomes a soft deadline: smartmig hurries the job and never removes "
        "it");
  return Ok{};
}

Result<Ok> set_time(Draft& draft, std::string_view value, Dialect, UnixTime) {
  const std::string word = lower(value);
  if (word == "0" || word == "unlimited" || word == "infinite" || word == "none") {
    draft.spec.time_limit.reset();
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.time_limit, read_duration(value, kMinute));
  if (*draft.spec.time_limit <= Time{0}) return invalid("'{}' leaves no time to run; for no limit write 0", value);
  return Ok{};
}

Result<Ok> set_estimate(Draft& draft, std::string_view value, Dialect, UnixTime) {
  const auto at = value.find('@');
  SMARTMIG_TRY(draft.spec.estimate, read_duration(value.substr(0, at), kMinute));
  if (*draft.spec.estimate <= Time{0}) return invalid("'{}' is not a run time; write 20m or 2h", value);
  draft.spec.estimate_slices = 0;
  if (at == value.npos) return Ok{};
  std::string_view slices = value.substr(at + 1);
  slices = slices.substr(0, slices.find('.'));  // "3g.20gb"
  if (slices.ends_with('g')) slices.remove_suffix(1);
  const auto number = parse_int(slices);
  if (!number || *number < 1 || *number > kMaxComputeSlices)
    return invalid(
        "'{}' has no slice size after @; write 20m@3g for 20 minutes on 3 compute slices, at "
        "most {}",
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
          "'{}' is not a dependency; write afterok:ID[:ID], afterany:ID, afternotok:ID, after:ID "
          "or singleton, separated by commas",
          group);
    if (pieces.size() < 2) return invalid("'{}' does not name a job; write {}:ID", group, pieces[0]);
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const auto id = parse_int(pieces[i]);
      if (!id || *id < 1) return invalid("'{}' is not a job number", pieces[i]);
      dependency.job = std::uint64_t(*id);
      out.push_back(dependency);
    }
  }
  draft.spec.dependencies = std::move(out);
  draft.spec.singleton = singleton;
  return Ok{};
}

// "nvcr.io#nvidia/pytorch:24.05" is how pyxis writes registry and image.
Result<Ok> set_container(Draft& draft, std::string_view value, Dialect, UnixTime) {
  draft.spec.container = std::string(value);
  if (const auto hash = draft.spec.container.find('#'); hash != std::string::npos) draft.spec.container[hash] = '/';
  if (draft.spec.container.empty()) return invalid("needs the name of an image");
  return Ok{};
}

Result<Ok> set_container_mounts(Draft& draft, std::string_view value, Dialect, UnixTime) {
  for (const std::string_view part : split(value, ',')) {
    SMARTMIG_TRY(const ContainerMount mount, parse_container_mount(part));
    draft.spec.container_mounts.push_back(std::string(part));
  }
  return Ok{};
}

Result<Ok> set_idle(Draft& draft, std::string_view value, Dialect, UnixTime) {
  if (value == "none" || value == "0") {
    draft.spec.idle = Time{0};
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.idle, read_duration(value, kMinute));
  return Ok{};
}

Result<Ok> set_port(Draft& draft, std::string_view value, Dialect, UnixTime) {
  if (value == "auto") {
    draft.spec.port = 0;
    return Ok{};
  }
  SMARTMIG_TRY(draft.spec.port, whole_number(value, 1024, 65'535));
  return Ok{};
}

// Slurm's [R|B:]SIGNAL[@SECONDS]: here the signal before any stop, and the time until the kill.
Result<Ok> set_signal(Draft& draft, std::string_view value, Dialect, UnixTime now) {
  if (const auto colon = value.find(':'); colon != value.npos) value.remove_prefix(colon + 1);
  const auto at = value.find('@');
  SMARTMIG_RETURN_IF_ERROR(
      set_job_field(draft.spec, *find_job_field("checkpoint_signal"), std::string(value.substr(0, at)), now));
  if (at == value.npos) return Ok{};
  SMARTMIG_TRY(draft.spec.grace, read_duration(value.substr(at + 1), kSecond));
  return Ok{};
}

Result<Ok> set_profile(Draft& draft, std::string_view value, Dialect, UnixTime);
Result<Ok> set_exclusive(Draft& draft, std::string_view, Dialect, UnixTime);

// Of what says how large the slice is, the last one wins.
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
      draft.notes.push_back(fmt::format("--profile={} has no effect here: the daemon samples energy", value));
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

Result<Ok> set_cpus(Draft& draft, std::string_view value, Dialect, UnixTime) {
  const auto number = parse_double(value);
  if (!number || *number <= 0 || *number > 65'536) return invalid("'{}' is not a number of cores", value);
  draft.spec.cpus = *number;
  return Ok{};
}

Result<Ok> set_nice(Draft& draft, std::string_view value, Dialect, UnixTime) {
  SMARTMIG_TRY(const int nice, whole_number(value, -1'000'000, 1'000'000));
  draft.spec.priority = -nice;
  return Ok{};
}

Result<Ok> set_requeue(Draft& draft, std::string_view, Dialect, UnixTime) {
  draft.spec.requeue = true;
  draft.spec.once = false;
  return Ok{};
}

Result<Ok> set_no_preempt(Draft& draft, std::string_view, Dialect, UnixTime) {
  draft.spec.requeue = false;
  draft.spec.checkpoint_signal = 0;
  return Ok{};
}

Result<Ok> set_no_requeue(Draft& draft, std::string_view value, Dialect dialect, UnixTime now) {
  draft.spec.once = true;
  return set_no_preempt(draft, value, dialect, now);
}

Result<Ok> set_model(Draft& draft, std::string_view value, Dialect, UnixTime) {
  draft.model.set("model", std::string(value), "--model");
  return Ok{};
}

Result<Ok> set_checkpointing(Draft& draft, std::string_view, Dialect, UnixTime) {
  draft.model.set("checkpointing", "yes", "--checkpointing");
  return Ok{};
}

Result<Ok> set_no_model(Draft& draft, std::string_view, Dialect, UnixTime) {
  draft.estimate_memory = false;
  return Ok{};
}

Result<Ok> set_wrap(Draft& draft, std::string_view value, Dialect, UnixTime) {
  draft.wrap = value;
  return Ok{};
}

Result<Ok> set_export(Draft& draft, std::string_view value, Dialect, UnixTime) {
  draft.export_list = value;
  return Ok{};
}

}  // namespace

ValueReader find_value_reader(std::string_view option) {
  static constexpr std::pair<std::string_view, ValueReader> kReaders[] = {
      {"--mem", set_mem},
      {"--mem-per-gpu", set_gpu_memory},
      {"--host-mem", set_host_memory},
      {"--mem-per-cpu", set_memory_per_cpu},
      {"--profile", set_profile},
      {"--gres", set_gres},
      {"--min-slices", set_min_slices},
      {"--max-slices", set_max_slices},
      {"--exclusive", set_exclusive},
      {"--deadline", set_deadline},
      {"--time", set_time},
      {"--estimate", set_estimate},
      {"--begin", set_begin},
      {"--dependency", set_dependency},
      {"--array", set_array},
      {"--cpus", set_cpus},
      {"--nice", set_nice},
      {"--chdir", set_directory},
      {"--wrap", set_wrap},
      {"--container", set_container},
      {"--container-mounts", set_container_mounts},
      {"--idle", set_idle},
      {"--port", set_port},
      {"--export", set_export},
      {"--mail-type", set_mail_type},
      {"--requeue", set_requeue},
      {"--no-requeue", set_no_requeue},
      {"--no-preempt", set_no_preempt},
      {"--signal", set_signal},
      {"--model", set_model},
      {"--task", set_task},
      {"--batch", set_batch},
      {"--context", set_context},
      {"--precision", set_precision},
      {"--optimizer", set_optimizer},
      {"--checkpointing", set_checkpointing},
      {"--no-model", set_no_model},
  };
  for (const auto& [name, reader] : kReaders)
    if (name == option) return reader;
  return nullptr;
}

Result<Json> value_of(const JobField& field, const JobOption& option, std::string_view value, Dialect dialect) {
  const std::string_view key = field.key, type = field.type;
  if (option.is_flag()) return Json(!std::string_view(option.name).starts_with("--no-"));
  if (key.ends_with("_mib")) {
    SMARTMIG_TRY(const int mib, read_size(value, dialect));
    return Json(mib);
  }
  if (type == "num" && key.ends_with("_s")) {
    SMARTMIG_TRY(const Time time, read_duration(value, kSecond));
    return Json(seconds(time));
  }
  if (type == "int") {
    SMARTMIG_TRY(const int number, whole_number(value, INT32_MIN, INT32_MAX));
    return Json(number);
  }
  if (type == "num") {
    const auto number = parse_double(value);
    if (!number) return invalid("'{}' is not a number", value);
    return Json(*number);
  }
  return Json(std::string(value));
}

}  // namespace smartmig::cli
