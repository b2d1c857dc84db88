#include "live/jobs/job_spec.h"

#include <algorithm>
#include <csignal>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "live/gpu/memory_size.h"
#include "live/jobs/signal_names.h"

namespace smartmig {
namespace {

// Of Linux: MAX_ARG_STRLEN with its zero byte, and a quarter of a stack of 8 MiB, less what the daemon adds itself.
constexpr std::size_t kLongestString = (128u << 10) - 1, kMostLaunched = (2u << 20) - (64u << 10);
constexpr std::size_t kMaxArguments = 65'536, kMaxBytes = 4u << 20;  // of command, environment and script, each
constexpr std::size_t kMaxTasks = 10'000, kMaxDependencies = 1'000, kMaxName = 255, kMaxPath = 4'095;

const std::vector<std::string> kKeys = {"command",
                                        "script",
                                        "directory",
                                        "environment",
                                        "name",
                                        "output",
                                        "kind",
                                        "mem_mib",
                                        "min_slices",
                                        "deadline_at",
                                        "deadline_s",
                                        "time_limit_s",
                                        "estimate_s",
                                        "estimate_slices",
                                        "requeue",
                                        "once",
                                        "oom_retry",
                                        "checkpoint_signal",
                                        "grace_s",
                                        "cpus",
                                        "host_mem_mib",
                                        "priority",
                                        "dependencies",
                                        "array",
                                        "array_limit",
                                        "exact_memory",
                                        "restart_s",
                                        "error",
                                        "submit_directory",
                                        "hold",
                                        "begin_at",
                                        "begin_s",
                                        "mail",
                                        "mail_user",
                                        "patient",
                                        "prelaunch",
                                        "group",
                                        "reservation",
                                        "mem_estimate_mib",
                                        "mem_basis",
                                        "max_slices",
                                        "profile",
                                        "gpu_model",
                                        "exclusive",
                                        "gpus",
                                        "pty"};

// Reads one object; the first complaint is kept and every later value reads as its fallback.
class SpecReader {
 public:
  explicit SpecReader(JsonObject object) : object_(std::move(object)) {}
  std::optional<Error> error;

  void complain(std::string_view key, std::string_view what) {
    if (!error) error = object_.error(key, what);
  }
  const Json* find(const char* key) const { return object_.find(key); }
  std::string text(const char* key, std::size_t longest) {
    const Json* value = find(key);
    return value ? text_of(key, *value, longest, false) : "";
  }
  std::string text_of(const char* key, const Json& value, std::size_t longest, bool any_character) {
    const std::string out = kept(object_.text_in(value, key), std::string());
    if (out.size() > longest) complain(key, fmt::format("is longer than {} bytes", longest));
    for (const char c : out)
      if (c == '\0' || (!any_character && static_cast<unsigned char>(c) < 32)) {
        complain(key, "holds a control character");
        break;
      }
    return out;
  }
  std::vector<std::string> texts(const char* key, std::size_t most) {
    std::vector<std::string> out;
    const Json* value = find(key);
    if (!value) return out;
    if (!value->is_array() || value->size() > most) {
      complain(key, fmt::format("must be a list of at most {} texts", most));
      return out;
    }
    std::size_t bytes = 0;
    for (const Json& item : *value) {
      out.push_back(text_of(key, item, kMaxBytes, true));
      bytes += out.back().size() + 1;
    }
    if (bytes > kMaxBytes) complain(key, fmt::format("holds {} bytes, more than {}", bytes, kMaxBytes));
    return out;
  }
  int integer(const char* key, std::int64_t low, std::int64_t high, std::int64_t fallback) {
    return int(kept(object_.integer(key, low, high, fallback), low));
  }
  int integer_of(const char* key, const Json& value, std::int64_t low, std::int64_t high) {
    return int(kept(object_.integer_in(value, key, low, high), low));
  }
  std::optional<double> number(const char* key, double low, double high) {
    return find(key) ? std::optional(kept(object_.number(key, low, high), low)) : std::nullopt;
  }
  std::optional<Time> duration(const char* key, double low) {
    const auto value = number(key, low, kMaxSeconds);
    return value ? std::optional(from_seconds(*value)) : std::nullopt;
  }
  bool yes(const char* key) { return kept(object_.yes_or_no(key, false), false); }

 private:
  template <class T>
  T kept(const Result<T>& value, T fallback) {
    if (value) return *value;
    if (!error) error = value.error();
    return fallback;
  }
  JsonObject object_;
};

const char* word_of(Dependency::When when) {
  static const char* const words[] = {"afterok", "afterany", "afternotok", "after"};
  return words[int(when)];
}

std::optional<Dependency> parse_dependency(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  Dependency out;
  const std::string_view word = text.substr(0, colon);
  if (word == "afterany")
    out.when = Dependency::kAfterAny;
  else if (word == "afternotok")
    out.when = Dependency::kAfterNotOk;
  else if (word == "after")
    out.when = Dependency::kAfter;
  else if (word != "afterok")
    return std::nullopt;
  const auto id = parse_int(text.substr(colon + 1));
  if (!id || *id < 1) return std::nullopt;
  out.job = std::uint64_t(*id);
  return out;
}

void read_mail(SpecReader& in, JobSpec& spec) {
  std::set<MailEvent> events;
  for (const std::string& word : in.texts("mail", 16)) {
    bool known = false;
    for (int e = 0; e <= int(MailEvent::kTimeLimit); ++e)
      if (word == name_of(MailEvent(e))) known = events.insert(MailEvent(e)).second || true;
    if (!known)
      in.complain("mail",
                  fmt::format("holds '{}'; known are begin, end, fail, requeue, time_limit", word.substr(0, 60)));
  }
  spec.mail.assign(events.begin(), events.end());
  spec.mail_user = in.text("mail_user", kMaxName);
  if (spec.mail_user.starts_with('-') || spec.mail_user.find_first_of(" \"'\\<>;|&`$()") != std::string::npos)
    in.complain("mail_user", "is neither a user nor an address");
}

// What says how large its slice is: at most one way of saying it.
void read_size(SpecReader& in, JobSpec& spec) {
  spec.min_slices = in.integer("min_slices", 1, 64, 1);
  spec.max_slices = in.integer("max_slices", 0, 64, 0);
  spec.profile = in.text("profile", 64);
  spec.gpu_model = in.text("gpu_model", 64);
  spec.exclusive = in.yes("exclusive");
  spec.pty = in.yes("pty");
  if (in.find("gpus")) {
    const int gpus = in.integer("gpus", 1, 1'000'000, 1);
    if (gpus > 1)
      in.complain("gpus",
                  fmt::format("asks for {}: jobs over several GPUs are not supported yet, a job gets one slice", gpus));
    spec.one_gpu = true;
  }
  if (spec.max_slices > 0 && spec.max_slices < spec.min_slices)
    in.complain("max_slices", fmt::format("is {}, below min_slices, which is {}", spec.max_slices, spec.min_slices));
  if (spec.exclusive && !spec.profile.empty())
    in.complain("exclusive", fmt::format("asks for a whole GPU, profile for a {}: give one of them", spec.profile));
  if (spec.exclusive && spec.max_slices > 0)
    in.complain("exclusive", fmt::format("asks for a whole GPU, max_slices for {} at most", spec.max_slices));
  if (!spec.profile.empty() && (spec.min_slices > 1 || spec.max_slices > 0))
    in.complain("profile", fmt::format("says the size by itself: leave out {}",
                                       spec.max_slices > 0 ? "max_slices" : "min_slices"));
}

void check_environment(SpecReader& in, const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    if (const auto equals = entry.find('='); equals == entry.npos || equals == 0)
      in.complain("environment", fmt::format("holds '{}', which is not NAME=value", entry.substr(0, 60)));
}

}  // namespace

const char* name_of(MailEvent event) {
  static const char* const names[] = {"begin", "end", "fail", "requeue", "time_limit"};
  return names[int(event)];
}

Result<JobSpec> parse_job_spec(std::string_view text, UnixTime now) {
  SMARTMIG_TRY(const Json json, parse_json("the job", text));
  if (!json.is_object()) return invalid("the job must be a JSON object with at least \"command\"");
  SMARTMIG_TRY(JsonObject object, JsonObject::open(json, "the job", "", kKeys));
  SpecReader in(std::move(object));
  JobSpec spec;
  spec.command = in.texts("command", kMaxArguments);
  if (!in.error && (spec.command.empty() || spec.command.front().empty()))
    in.complain("command", "is missing: a list of the program and its arguments, [\"python3\", \"train.py\"]");
  if (const Json* script = in.find("script")) spec.script = in.text_of("script", *script, kMaxBytes, true);
  spec.directory = in.text("directory", kMaxPath);
  if (spec.directory.empty()) spec.directory = "/";
  if (spec.directory.front() != '/') in.complain("directory", fmt::format("'{}' must be absolute", spec.directory));
  spec.environment = in.texts("environment", kMaxArguments);
  check_environment(in, spec.environment);
  spec.name = in.text("name", kMaxName);
  spec.output = in.text("output", kMaxPath);
  spec.error = in.text("error", kMaxPath);
  spec.submit_directory = in.text("submit_directory", kMaxPath);
  spec.kind = in.text("kind", kMaxName);

  if (in.find("mem_mib")) spec.mem_mib = in.integer("mem_mib", 0, kMaxMemoryMib, 0);
  if (in.find("mem_estimate_mib")) spec.mem_estimate_mib = in.integer("mem_estimate_mib", 0, kMaxMemoryMib, 0);
  spec.mem_basis = in.text("mem_basis", kMaxPath);
  if (in.find("exact_memory")) spec.exact_memory = in.yes("exact_memory");
  read_size(in, spec);
  spec.time_limit = in.duration("time_limit_s", 1e-6);
  spec.estimate = in.duration("estimate_s", 1e-6);
  spec.estimate_slices = in.integer("estimate_slices", 0, 64, 0);
  if (const auto since_1970 = in.duration("deadline_at", 0)) spec.deadline = UnixTime(*since_1970);
  if (const auto from_now = in.duration("deadline_s", 0)) {
    if (spec.deadline) in.complain("deadline", "is given twice: deadline_at and deadline_s");
    spec.deadline = now + *from_now;
  }
  if (in.find("prelaunch")) spec.prelaunch = in.yes("prelaunch");
  if (in.find("patient")) spec.patient = in.yes("patient");
  spec.requeue = in.yes("requeue");
  spec.once = in.yes("once");
  if (in.find("oom_retry")) spec.oom_retry = in.yes("oom_retry");
  if (in.find("checkpoint_signal")) {
    const std::string name = in.text("checkpoint_signal", kMaxName);
    if (const auto signal = signal_number(name); signal && *signal != SIGKILL && *signal != SIGSTOP)
      spec.checkpoint_signal = *signal;
    else
      in.complain("checkpoint_signal",
                  fmt::format("'{}' is not a signal that a program can catch, such as USR1", name));
  }
  spec.restart = in.duration("restart_s", 0);
  spec.grace = in.duration("grace_s", 0);
  spec.cpus = in.number("cpus", 0, 65'536).value_or(0);
  spec.host_mem_mib = in.integer("host_mem_mib", 0, kMaxMemoryMib, 0);
  spec.priority = in.integer("priority", -1'000'000, 1'000'000, 0);
  for (const std::string& word : in.texts("dependencies", kMaxDependencies)) {
    if (word == "singleton") {
      spec.singleton = true;
      continue;
    }
    const auto dependency = parse_dependency(word);
    if (!dependency)
      in.complain("dependencies",
                  fmt::format("hold '{}'; one reads afterok:12, afterany:12, afternotok:12, after:12 or singleton",
                              word.substr(0, 60)));
    else
      spec.dependencies.push_back(*dependency);
  }
  spec.hold = in.yes("hold");
  if (const auto since_1970 = in.duration("begin_at", 0)) spec.begin = UnixTime(*since_1970);
  if (const auto from_now = in.duration("begin_s", 0)) {
    if (spec.begin) in.complain("begin", "is given twice: begin_at and begin_s");
    spec.begin = now + *from_now;
  }
  spec.group = in.text("group", 64);
  spec.reservation = in.text("reservation", 64);
  read_mail(in, spec);
  if (const Json* array = in.find("array")) {
    if (!array->is_array() || array->size() > kMaxTasks)
      in.complain("array", fmt::format("must be a list of at most {} task numbers", kMaxTasks));
    else
      for (const Json& task : *array) spec.array.push_back(in.integer_of("array", task, 0, INT32_MAX));
    std::set<int> seen(spec.array.begin(), spec.array.end());
    if (seen.size() != spec.array.size()) in.complain("array", "gives a task number twice");
  }
  spec.array_limit = in.integer("array_limit", 0, INT32_MAX, 0);
  if (in.error) return *in.error;
  return spec;
}

std::size_t bytes_of_command(const JobSpec& spec) {
  std::size_t sum = 0;
  for (const std::string& argument : spec.command) sum += argument.size() + 1;
  return sum;
}

std::vector<std::string> shown_command(const std::vector<std::string>& command) {
  constexpr std::size_t kShown = 1024;
  std::size_t sum = 0;
  std::uint64_t hash = 0;
  for (const std::string& argument : command) sum += argument.size() + 1;
  if (sum <= kLongCommand) return command;
  std::vector<std::string> out;
  std::size_t left = kShown;
  for (const std::string& argument : command) {
    hash = hash * 0x100000001B3 ^ hash_text(argument);
    if (left == 0) continue;
    std::size_t part = std::min(left, argument.size());
    while (part > 1 && part < argument.size() && (static_cast<unsigned char>(argument[part]) & 0xC0) == 0x80) --part;
    out.push_back(argument.substr(0, part));
    left = part < argument.size() ? 0 : left - std::min(left, part + 1);
  }
  out.push_back(fmt::format("...({}_bytes_{:016x})", sum, hash));
  return out;
}

std::string launch_json(const JobSpec& spec) {
  const bool long_command = bytes_of_command(spec) > kLongCommand;
  if (spec.environment.empty() && spec.script.empty() && !long_command) return {};
  Json out = {{"environment", spec.environment}};
  if (long_command) out["command"] = spec.command;
  if (!spec.script.empty()) out["script"] = spec.script;
  return json_dump(out);
}

Result<Ok> take_launch(JobSpec& spec, std::string_view launch) {
  if (launch.empty()) return Ok{};
  SMARTMIG_TRY(const Json json, parse_json("the launch", launch));
  SMARTMIG_TRY(JsonObject object, JsonObject::open(json, "the launch", "", {"environment", "script", "command"}));
  SpecReader in(std::move(object));
  spec.environment = in.texts("environment", kMaxArguments);
  if (in.find("command")) spec.command = in.texts("command", kMaxArguments);
  if (const Json* script = in.find("script")) spec.script = in.text_of("script", *script, kMaxBytes, true);
  if (in.error) return *in.error;
  return Ok{};
}

Result<Ok> can_be_executed(const JobSpec& spec) {
  std::size_t sum = 0;
  for (const auto* list : {&spec.command, &spec.environment})
    for (const std::string& text : *list) {
      sum += text.size() + 1 + sizeof(char*);
      if (text.size() <= kLongestString) continue;
      if (list == &spec.command)
        return invalid("an argument has {} bytes, and a program takes {} at most in one: put it into a file",
                       text.size(), kLongestString);
      return invalid(
          "the variable {} has {} bytes, and a program takes {} at most in one: unset it, or --export others",
          text.substr(0, std::min<std::size_t>(60, text.find('='))), text.size(), kLongestString);
    }
  if (sum > kMostLaunched)
    return invalid("command and environment have {} bytes, and a program takes {} at most: --export fewer variables",
                   sum, kMostLaunched);
  return Ok{};
}

std::string to_json(const JobSpec& spec, bool with_environment) {
  nlohmann::ordered_json out;
  out["command"] = spec.command;
  if (!spec.script.empty()) out["script"] = spec.script;
  out["directory"] = spec.directory;
  if (with_environment) out["environment"] = spec.environment;
  if (!spec.name.empty()) out["name"] = spec.name;
  if (!spec.output.empty()) out["output"] = spec.output;
  if (!spec.error.empty()) out["error"] = spec.error;
  if (!spec.submit_directory.empty()) out["submit_directory"] = spec.submit_directory;
  if (!spec.kind.empty()) out["kind"] = spec.kind;
  if (spec.mem_mib) out["mem_mib"] = *spec.mem_mib;
  if (spec.mem_estimate_mib) out["mem_estimate_mib"] = *spec.mem_estimate_mib;
  if (!spec.mem_basis.empty()) out["mem_basis"] = spec.mem_basis;
  if (spec.exact_memory) out["exact_memory"] = *spec.exact_memory;
  out["min_slices"] = spec.min_slices;
  if (spec.max_slices) out["max_slices"] = spec.max_slices;
  if (!spec.profile.empty()) out["profile"] = spec.profile;
  if (!spec.gpu_model.empty()) out["gpu_model"] = spec.gpu_model;
  if (spec.exclusive) out["exclusive"] = true;
  if (spec.one_gpu) out["gpus"] = 1;
  if (spec.pty) out["pty"] = true;
  if (spec.deadline) out["deadline_at"] = unix_seconds(*spec.deadline);
  if (spec.prelaunch) out["prelaunch"] = *spec.prelaunch;
  if (spec.patient) out["patient"] = *spec.patient;
  if (spec.time_limit) out["time_limit_s"] = seconds(*spec.time_limit);
  if (spec.estimate) out["estimate_s"] = seconds(*spec.estimate);
  if (spec.estimate_slices) out["estimate_slices"] = spec.estimate_slices;
  out["requeue"] = spec.requeue;
  if (spec.once) out["once"] = true;
  if (!spec.oom_retry) out["oom_retry"] = false;
  if (spec.checkpoint_signal) out["checkpoint_signal"] = signal_name(spec.checkpoint_signal);
  if (spec.restart) out["restart_s"] = seconds(*spec.restart);
  if (spec.grace) out["grace_s"] = seconds(*spec.grace);
  if (spec.cpus > 0) out["cpus"] = spec.cpus;
  if (spec.host_mem_mib) out["host_mem_mib"] = spec.host_mem_mib;
  if (spec.priority) out["priority"] = spec.priority;
  if (!spec.dependencies.empty() || spec.singleton) {
    auto& list = out["dependencies"] = nlohmann::ordered_json::array();
    for (const Dependency& d : spec.dependencies) list.push_back(fmt::format("{}:{}", word_of(d.when), d.job));
    if (spec.singleton) list.push_back("singleton");
  }
  if (!spec.group.empty()) out["group"] = spec.group;
  if (!spec.reservation.empty()) out["reservation"] = spec.reservation;
  if (spec.hold) out["hold"] = true;
  if (spec.begin) out["begin_at"] = unix_seconds(*spec.begin);
  if (!spec.mail.empty()) {
    auto& list = out["mail"] = nlohmann::ordered_json::array();
    for (const MailEvent event : spec.mail) list.push_back(name_of(event));
  }
  if (!spec.mail_user.empty()) out["mail_user"] = spec.mail_user;
  if (!spec.array.empty()) out["array"] = spec.array;
  if (spec.array_limit) out["array_limit"] = spec.array_limit;
  // A path or variable need not be UTF-8: what is not is shown with the replacement character, never thrown.
  return json_dump(out);
}

}  // namespace smartmig
