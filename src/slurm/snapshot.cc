#include "slurm/snapshot.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "slurm/host_list.h"

namespace smartmig {
namespace {

constexpr std::string_view kHoldWord = "smartmig-hold";  // written by deploy/slurm/job_submit.lua
constexpr std::int64_t kMostCounted = 1 << 30;
constexpr std::int64_t kMostLimit = 10 * 366 * 24 * 60;  // minutes; beyond it means none
constexpr std::size_t kNodeFields = 10;

// Warnings of the program may stand around the JSON.
std::string_view json_part(std::string_view text) {
  const auto begin = text.find('{'), end = text.rfind('}');
  return begin == text.npos || end == text.npos || end < begin ? std::string_view()
                                                               : text.substr(begin, end - begin + 1);
}

const Json* member(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

double number_of(const Json& job, const char* key, double absent = 0) {
  const Json* value = member(job, key);
  if (value && value->is_object()) {
    if (const Json* set = member(*value, "set"); set && set->is_boolean() && !set->get<bool>()) return absent;
    value = member(*value, "number");
  }
  return value && value->is_number() ? value->get<double>() : absent;
}

// Whole numbers that fit; the rest of what JSON can hold is absent.
std::int64_t count_of(const Json& job, const char* key, std::int64_t absent = 0) {
  const double value = number_of(job, key, double(absent));
  return value >= -1e15 && value <= 1e15 ? std::int64_t(value) : absent;
}

std::uint32_t id_of(const Json& job, const char* key) {
  const std::int64_t value = count_of(job, key);
  return value > 0 && value < 0xFFFFFFFFLL ? std::uint32_t(value) : 0;
}

std::string text_of(const Json& job, const char* key) {
  const Json* value = member(job, key);
  if (value && value->is_array() && !value->empty()) value = &value->front();
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

bool flag_of(const Json& job, const char* key) {
  const Json* value = member(job, key);
  return value && value->is_boolean() && value->get<bool>();
}

bool state_has(const Json& job, std::string_view word) {
  const Json* value = member(job, "job_state");
  if (!value) return false;
  if (value->is_string()) return value->get<std::string>() == word;
  return value->is_array() &&
         std::any_of(value->begin(), value->end(), [&](const Json& one) { return one.is_string() && one == word; });
}

SlurmJob::Phase phase_of(const Json& job, const std::string& state) {
  if (state_has(job, "COMPLETING")) return SlurmJob::kCompleting;
  for (const char* waiting : {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
    if (state == waiting) return SlurmJob::kPending;
  for (const char* running : {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"})
    if (state == running) return SlurmJob::kRunning;
  return SlurmJob::kEnded;
}

UnixTime instant_of(const Json& job, const char* key) { return from_unix_us(count_of(job, key) * 1'000'000); }

// "Failed while looking for jobs (slurm_load_jobs)".
std::string words_of(const Json& errors) {
  const Json* first = errors.is_array() ? &errors.front() : &errors;
  if (!first->is_object()) return json_dump(errors).substr(0, 300);
  std::string out = text_of(*first, "description");
  if (out.empty()) out = text_of(*first, "error");
  if (const std::string source = text_of(*first, "source"); !source.empty()) out += fmt::format(" ({})", source);
  return out.empty() ? json_dump(errors).substr(0, 300) : out;
}

SlurmJob read_job(const Json& json) {
  SlurmJob job;
  job.number = id_of(json, "job_id");
  job.name.id = job.number;
  const std::int64_t task = count_of(json, "array_task_id", -1);
  if (const std::uint32_t array = id_of(json, "array_job_id"); array != 0 && task >= 0 && task < (1 << 30))
    job.name = {array, int(task)};
  job.array_limit = int(std::clamp<std::int64_t>(count_of(json, "array_max_tasks"), 0, 1 << 30));
  job.uid = std::uint32_t(count_of(json, "user_id"));
  job.state = text_of(json, "job_state");
  job.phase = phase_of(json, job.state);
  job.reason = text_of(json, "state_reason");
  job.title = text_of(json, "name");
  job.partition = text_of(json, "partition");
  job.dependency = text_of(json, "dependency");
  job.comment = text_of(json, "comment");
  job.admin_comment = text_of(json, "admin_comment");
  job.required_nodes = text_of(json, "required_nodes");
  job.excluded_nodes = text_of(json, "excluded_nodes");
  job.features = text_of(json, "features");
  job.reservation = text_of(json, "resv_name");
  job.cpus = int(std::clamp<std::int64_t>(count_of(json, "cpus", 1), 1, kMostCounted));
  const std::int64_t per_node = count_of(json, "memory_per_node"), per_cpu = count_of(json, "memory_per_cpu");
  job.mem_mib = int(std::clamp<std::int64_t>(per_node > 0 ? per_node : per_cpu * job.cpus, 0, kMostCounted));
  job.whole_node = text_of(json, "shared") == "none";
  job.nodes = text_of(json, "nodes");
  job.user = text_of(json, "user_name");
  job.directory = text_of(json, "current_working_directory");
  job.output = text_of(json, "standard_output");
  job.errors = text_of(json, "standard_error");
  job.held = job.phase == SlurmJob::kPending && number_of(json, "priority", 1) == 0;
  job.held_by_user = job.held && job.comment.find(kHoldWord) != std::string::npos;
  job.requeue = flag_of(json, "requeue");
  job.restarts = int(std::clamp<std::int64_t>(count_of(json, "restart_cnt"), 0, 1 << 30));
  if (const std::int64_t minutes = count_of(json, "time_limit"); minutes > 0 && minutes <= kMostLimit)
    job.time_limit = std::chrono::minutes(minutes);
  job.submitted = instant_of(json, "submit_time");
  job.begin = std::max(instant_of(json, "eligible_time"), instant_of(json, "start_time"));
  job.started = instant_of(json, "start_time");
  job.ended = instant_of(json, "end_time");
  return job;
}

}  // namespace

Result<std::vector<int>> parse_task_list(std::string_view text, std::size_t most) {
  std::vector<int> out;
  if (const auto limit = text.find('%'); limit != text.npos) text = text.substr(0, limit);
  for (std::string_view range : split(text, ',')) {
    if (range == "...") break;  // Slurm cuts long lists
    std::int64_t step = 1;
    if (const auto colon = range.find(':'); colon != range.npos) {
      step = parse_int(range.substr(colon + 1)).value_or(0);
      range = range.substr(0, colon);
    }
    const auto dash = range.find('-');
    const auto first = parse_int(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= (1 << 30) || step < 1)
      return invalid("'{}' is not a list of an array's tasks", text);
    for (std::int64_t task = *first; task <= *last && out.size() < most; task += step) out.push_back(int(task));
  }
  return out;
}

Result<std::vector<SlurmJob>> parse_squeue_json(std::string_view text, std::size_t tasks_of_array) {
  const std::string_view part = json_part(text);
  if (part.empty()) return io_error("squeue --json printed no JSON: {}", trim(text.substr(0, 300)));
  SMARTMIG_TRY(const Json json, parse_json("squeue --json", part));
  const Json* jobs = json.is_object() ? member(json, "jobs") : nullptr;
  const Json* errors = json.is_object() ? member(json, "errors") : nullptr;
  if (errors && !(errors->is_array() && errors->empty()) && !errors->is_null())
    return io_error("squeue --json: {}", words_of(*errors));
  if (!jobs || !jobs->is_array()) return io_error("squeue --json: the output has no list 'jobs'");
  std::vector<SlurmJob> out;
  for (const Json& one : *jobs) {
    if (!one.is_object()) return io_error("squeue --json: 'jobs' has an entry that is not a job");
    SlurmJob job = read_job(one);
    if (job.number == 0) continue;
    const std::string tasks = text_of(one, "array_task_string");
    if (tasks.empty() || job.name.task >= 0) {
      out.push_back(std::move(job));
      continue;
    }
    auto list = parse_task_list(tasks, tasks_of_array);
    if (!list) return io_error("squeue --json, job {}: {}", job.number, list.error().what);
    const ClusterJobName array{id_of(one, "array_job_id"), -1};
    if (list->size() != 1) job.number = 0;  // else it is the array's, which its last task keeps
    for (const int task : *list) {
      job.name = {array.id, task};
      out.push_back(job);
    }
  }
  return out;
}

namespace {

int counted(std::string_view text) {
  return int(std::clamp<std::int64_t>(parse_int(trim(text)).value_or(0), 0, kMostCounted));
}

int units_in(std::string_view gres_list) {
  int units = 0;
  for (const std::string_view gres : split(gres_list, ',')) {
    if (!gres.starts_with("mig:")) continue;
    const std::string_view count = gres.substr(4);
    units += int(std::clamp<std::int64_t>(parse_int(count.substr(0, count.find('('))).value_or(0), 0, 1 << 20));
  }
  return units;
}

// "idle*" of a node that does not answer slurmctld, "mixed-" of one whose reboot is asked for: words of the state only.
std::string_view base_state(std::string_view state) {
  return state.substr(0, state.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
}

}  // namespace

Result<std::vector<SlurmNode>> parse_sinfo(std::string_view text) {
  std::vector<SlurmNode> out;
  std::map<std::string, std::size_t, std::less<>> known;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    const auto fields = split(line, '|');
    if (fields.size() < kNodeFields)
      return io_error("sinfo printed '{}', which does not have {} fields", trim(line), kNodeFields);
    const auto field = [&](std::size_t i) { return trim(fields[i]); };
    std::string_view partition = field(4);
    if (partition.ends_with('*')) partition.remove_suffix(1);  // the default one
    const auto [at, added] = known.emplace(field(0), out.size());
    if (!added) {
      out[at->second].partitions.emplace_back(partition);
      continue;
    }
    SlurmNode node;
    node.name = field(0);
    node.state = lower(field(1));
    node.address = field(2);
    node.units = units_in(field(3));
    node.partitions.emplace_back(partition);
    if (field(5) != "(null)")
      for (const std::string_view feature : split(field(5), ',')) node.features.emplace_back(trim(feature));
    if (const auto cpus = split(field(6), '/'); cpus.size() == 4) {
      node.cpus = counted(cpus[3]);
      node.cpus_taken = counted(cpus[0]);
    }
    node.mem_mib = counted(field(7));
    node.mem_taken_mib = counted(field(8));
    node.reason = trim(line.substr(std::size_t(fields[9].data() - line.data())));
    if (node.reason == "none") node.reason.clear();
    const std::string_view state = base_state(node.state);
    node.up = (state == "idle" || state == "mixed" || state == "allocated" || state == "completing") &&
              node.state.find('*') == std::string::npos;
    out.push_back(std::move(node));
  }
  return out;
}

void add_reservations(std::string_view text, std::vector<SlurmNode>& nodes) {
  for (const std::string_view line : split(text, '\n')) {
    std::string_view name, state;
    std::vector<std::string> reserved;
    for (const std::string_view word : split(line, ' ')) {
      if (word.starts_with("ReservationName=")) name = word.substr(word.find('=') + 1);
      if (word.starts_with("State=")) state = word.substr(word.find('=') + 1);
      if (!word.starts_with("Nodes=")) continue;
      if (auto list = expand_host_list(word.substr(word.find('=') + 1))) reserved = std::move(*list);
    }
    if (name.empty() || state != "ACTIVE") continue;
    for (SlurmNode& node : nodes) {
      if (std::find(reserved.begin(), reserved.end(), node.name) == reserved.end()) continue;
      node.reservations.emplace_back(name);
      if (node.state == "reserved") node.up = true;
    }
  }
}

}  // namespace smartmig
