#include "live/jobs/job_fields.h"

#include <csignal>
#include <set>

#include "base/text.h"
#include "live/gpu/memory_size.h"
#include "live/jobs/container_command.h"
#include "live/jobs/signal_names.h"

namespace smartmig {
namespace {

constexpr std::size_t kMaxTasks = 10'000, kMaxDependencies = 1'000, kMaxMounts = 100;
constexpr std::size_t kNameBytes = SpecReader::kLongestName, kPathBytes = SpecReader::kLongestPath;
constexpr int kMostSlices = 64, kMostPriority = 1'000'000;

Json unless_empty(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json unless_zero(int number) { return number == 0 ? Json() : Json(number); }

JobField text_field(const char* key, std::string JobSpec::*at, std::size_t longest) {
  return {key, "text", [at, longest](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.text(k, longest); },
          [at](const JobSpec& spec) { return unless_empty(spec.*at); }};
}

JobField integer_field(const char* key, int JobSpec::*at, int low, int high) {
  return {key, "int",
          [at, low, high](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.integer(k, low, high); },
          [at](const JobSpec& spec) { return unless_zero(spec.*at); }};
}

JobField memory_field(const char* key, std::optional<int> JobSpec::*at) {
  return {key, "int",
          [at](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.integer(k, 0, kMaxMemoryMib); },
          [at](const JobSpec& spec) { return spec.*at ? Json(*(spec.*at)) : Json(); }};
}

// Written where it differs from what a job has that says nothing.
JobField yes_field(const char* key, bool JobSpec::*at) {
  return {key, "bool", [at](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.yes(k); },
          [at](const JobSpec& spec) { return spec.*at == JobSpec{}.*at ? Json() : Json(spec.*at); }};
}

JobField yes_or_default_field(const char* key, std::optional<bool> JobSpec::*at) {
  return {key, "bool", [at](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.yes(k); },
          [at](const JobSpec& spec) { return spec.*at ? Json(*(spec.*at)) : Json(); }};
}

JobField duration_field(const char* key, std::optional<Time> JobSpec::*at, double least) {
  return {key, "num", [at, least](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.duration(k, least); },
          [at](const JobSpec& spec) { return spec.*at ? Json(seconds(*(spec.*at))) : Json(); }};
}

JobField instant_field(const char* key, std::optional<UnixTime> JobSpec::*at) {
  return {key, "num", [at](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.instant(k); },
          [at](const JobSpec& spec) { return spec.*at ? Json(unix_seconds(*(spec.*at))) : Json(); }};
}

// The same instant, in seconds from when the daemon accepts the job; never stored.
JobField from_now_field(const char* key, std::optional<UnixTime> JobSpec::*at, const char* twin) {
  return {key,
          "num",
          [at](SpecReader& in, const char* k, JobSpec& spec) { spec.*at = in.now + in.duration(k, 0); },
          [](const JobSpec&) { return Json(); },
          JobField::kUnchangeable,
          twin};
}

JobField operator|(JobField field, JobField::Update update) {
  field.update = update;
  return field;
}

JobField below(const char* heading, JobField field, std::vector<JobOption> options) {
  field.heading = heading;
  field.options = std::move(options);
  return field;
}

void read_environment(SpecReader& in, const char* key, JobSpec& spec) {
  spec.environment = in.texts(key);
  for (const std::string& entry : spec.environment)
    if (const auto equals = entry.find('='); equals == entry.npos || equals == 0)
      in.complain(key, fmt::format("contains '{}', which is not NAME=value", entry.substr(0, 60)));
}

void read_directory(SpecReader& in, const char* key, JobSpec& spec) {
  spec.directory = in.text(key, kPathBytes);
  if (spec.directory.empty()) spec.directory = "/";
  if (spec.directory.front() != '/') in.complain(key, fmt::format("'{}' must be absolute", spec.directory));
}

void read_gpus(SpecReader& in, const char* key, JobSpec& spec) {
  const int gpus = in.integer(key, 1, 1'000'000);
  if (gpus > 1)
    in.complain(
        key, fmt::format("requests {} GPUs, but a job gets one slice; jobs on several GPUs are not supported", gpus));
  spec.one_gpu = true;
}

void read_signal(SpecReader& in, const char* key, JobSpec& spec) {
  const std::string name = in.text(key, kNameBytes);
  if (const auto signal = signal_number(name); signal && *signal != SIGKILL && *signal != SIGSTOP)
    spec.checkpoint_signal = *signal;
  else
    in.complain(key, fmt::format("'{}' is not a signal that a program can catch, such as USR1", name));
}

constexpr const char* kWhen[] = {"afterok", "afterany", "afternotok", "after"};  // by Dependency::When

std::optional<Dependency> parse_dependency(std::string_view words) {
  const auto colon = words.find(':');
  if (colon == words.npos) return std::nullopt;
  for (std::size_t when = 0; when < std::size(kWhen); ++when) {
    if (words.substr(0, colon) != kWhen[when]) continue;
    const auto id = parse_int(words.substr(colon + 1));
    if (!id || *id < 1) return std::nullopt;
    return Dependency{Dependency::When(when), std::uint64_t(*id)};
  }
  return std::nullopt;
}

void read_dependencies(SpecReader& in, const char* key, JobSpec& spec) {
  spec.dependencies.clear();
  spec.singleton = false;
  for (const std::string& word : in.texts(key, kMaxDependencies)) {
    if (word == "singleton")
      spec.singleton = true;
    else if (const auto dependency = parse_dependency(word))
      spec.dependencies.push_back(*dependency);
    else
      in.complain(key, fmt::format("contain '{}'; write afterok:12, afterany:12, afternotok:12, after:12 or singleton",
                                   word.substr(0, 60)));
  }
}

Json written_dependencies(const JobSpec& spec) {
  Json list = Json::array();
  for (const Dependency& d : spec.dependencies) list.push_back(fmt::format("{}:{}", kWhen[d.when], d.job));
  if (spec.singleton) list.push_back("singleton");
  return list.empty() ? Json() : list;
}

void read_mail(SpecReader& in, const char* key, JobSpec& spec) {
  std::set<MailEvent> events;
  for (const std::string& word : in.texts(key, 16)) {
    bool known = false;
    for (int e = 0; e <= int(MailEvent::kTimeLimit); ++e)
      if (word == name_of(MailEvent(e))) known = events.insert(MailEvent(e)).second || true;
    if (!known)
      in.complain(key, fmt::format("contains '{}'; the events are begin, end, fail, requeue and time_limit",
                                   word.substr(0, 60)));
  }
  spec.mail.assign(events.begin(), events.end());
}

Json written_mail(const JobSpec& spec) {
  Json list = Json::array();
  for (const MailEvent event : spec.mail) list.push_back(name_of(event));
  return list.empty() ? Json() : list;
}

void read_mail_user(SpecReader& in, const char* key, JobSpec& spec) {
  spec.mail_user = in.text(key, kNameBytes);
  if (spec.mail_user.starts_with('-') || spec.mail_user.find_first_of(" \"'\\<>;|&`$()") != std::string::npos)
    in.complain(key, "is neither a user nor an address");
}

void read_port(SpecReader& in, const char* key, JobSpec& spec) {
  spec.port = in.integer(key, 0, 65'535);
  if (*spec.port > 0 && *spec.port < 1024) in.complain(key, "is below 1024; only root may listen on such a port");
}

void read_array(SpecReader& in, const char* key, JobSpec& spec) {
  spec.array = in.integers(key, kMaxTasks, 0, INT32_MAX, "task numbers");
  const std::set<int> seen(spec.array.begin(), spec.array.end());
  if (!in.error && seen.size() != spec.array.size()) in.complain(key, "contains a task number twice");
}

std::vector<JobField> fields_of_commands() {
  using S = JobSpec;
  constexpr const char *kHeading = "Command", *kContainers = "Containers", *kServers = "Servers and notebooks";
  const auto into = [](auto member) {
    return [member](SpecReader& in, const char* key, S& spec) { spec.*member = in.texts(key); };
  };
  return {
      {"command", "[text]", into(&S::command), [](const S& spec) { return Json(spec.command); }},
      below(kHeading, text_field("name", &S::name, kNameBytes),
            {{"--name", "NAME", "name of the job (default: the name of the script or program)", "-J", {"--job-name"}}}),
      below(
          kHeading,
          {"array", "[int]", read_array, [](const S& spec) { return spec.array.empty() ? Json() : Json(spec.array); }},
          {{"--array",
            "TASKS",
            "submit one job for each task: 0-15, 0-15%4 (at most 4 at once) or 1,3,5-9:2",
            "",
            {"-a"}}}),
      integer_field("array_limit", &S::array_limit, 0, INT32_MAX),
      below(kHeading,
            {"script", "text", [](SpecReader& in, const char* key, S& spec) { spec.script = in.script(key); },
             [](const S& spec) { return unless_empty(spec.script); }},
            {{"--wrap", "COMMAND", "instead of a script, run this command line with sh"}}),
      below(kHeading, {"directory", "text", read_directory, [](const S& spec) { return Json(spec.directory); }},
            {{"--chdir", "DIR", "working directory of the job (default: the current directory)", "-D", {"--workdir"}}}),
      text_field("submit_directory", &S::submit_directory, kPathBytes),
      below(
          kHeading, {"environment", "[text]", read_environment, [](const S& spec) { return Json(spec.environment); }},
          {{"--export", "LIST",
            "environment variables to pass to the job: ALL; NONE; a list such as A,B=value (only these); or ALL,A=value (all, and A)"}}),
      below(kHeading,
            {"cpus", "num", [](SpecReader& in, const char* key, S& spec) { spec.cpus = in.number(key, 0, 65'536); },
             [](const S& spec) { return spec.cpus > 0 ? Json(spec.cpus) : Json(); }},
            {{"--cpus",
              "N",
              "number of processor cores (default: in proportion to the slice)",
              "-c",
              {"--cpus-per-task", "--cpus-per-gpu"}}}),
      below(kHeading, integer_field("host_mem_mib", &S::host_mem_mib, 0, kMaxMemoryMib),
            {{"--host-mem", "SIZE", "host memory (default: in proportion to the slice)"},
             {"--mem-per-cpu", "SIZE", "host memory per core (Slurm's option)"}}),
      yes_field("pty", &S::pty),
      below(kContainers, text_field("container", &S::container, kPathBytes),
            {{"--container",
              "IMAGE",
              "run the command in this container image, with access to the job's slice and working directory",
              "",
              {"--container-image"}}}),
      below(kContainers, text_field("container_runtime", &S::container_runtime, kNameBytes),
            {{"--container-runtime", "NAME",
              "podman, apptainer or singularity (default: the one that suits the image, or else the site's default)"}}),
      below(kContainers,
            {"container_mounts", "[text]",
             [](SpecReader& in, const char* key, S& spec) { spec.container_mounts = in.texts(key, kMaxMounts); },
             [](const S& spec) { return spec.container_mounts.empty() ? Json() : Json(spec.container_mounts); }},
            {{"--container-mounts", "LIST", "mount additional paths in the container: SOURCE[:TARGET[:ro]],..."}}),
      below(kServers, duration_field("idle_s", &S::idle, 0),
            {{"--idle", "TIME", "cancel the job when it has not used its GPU for TIME, such as 30m; 0 means never"}}),
      below(kServers, yes_field("keep_alive", &S::keep_alive),
            {{"--keep-alive", "", "restart the job whenever it fails, until you cancel it"}}),
      below(
          kServers, {"port", "int", read_port, [](const S& spec) { return spec.port ? Json(*spec.port) : Json(); }},
          {{"--port", "N|auto",
            "reserve port N, or any free port (auto); smartmig sets SMARTMIG_PORT and replaces {port} in the command"}}),
  };
}

std::vector<JobField> fields_of_slices() {
  using S = JobSpec;
  constexpr const char *kHeading = "Slice", *kModel = "Memory estimate";
  return {
      below(kHeading, memory_field("mem_mib", &S::mem_mib) | JobField::kWaiting,
            {{"--mem", "SIZE|auto",
              "GPU memory that the job needs, such as 18G or 512M; auto (default): learned from earlier runs"},
             {"--mem-per-gpu", "SIZE", "GPU memory; use this option in #SBATCH lines, where --mem means host memory"}}),
      below(kHeading, text_field("profile", &S::profile, 64),
            {{"--profile", "PROFILE", "use exactly this MIG profile, such as 1g.10gb"}}),
      below(
          kHeading, {"gpus", "int", read_gpus, [](const S& spec) { return spec.one_gpu ? Json(1) : Json(); }},
          {{"--gres",
            "GPU",
            "the slice in Slurm's notation: gpu:1g.10gb:1 (this profile), gpu:h100:1 (a whole GPU) or gpu:1 (any size)",
            "-G",
            {"--gpus", "--gpus-per-node", "--gpus-per-task"}}}),
      text_field("gpu_model", &S::gpu_model, 64),
      below(kHeading,
            {"min_slices", "int",
             [](SpecReader& in, const char* key, S& spec) { spec.min_slices = in.integer(key, 1, kMostSlices); },
             [](const S& spec) { return Json(spec.min_slices); }},
            {{"--min-slices", "N", "use at least N compute slices"}}),
      below(kHeading, integer_field("max_slices", &S::max_slices, 0, kMostSlices),
            {{"--max-slices", "N", "use at most N compute slices"}}),
      below(kHeading, yes_field("exclusive", &S::exclusive), {{"--exclusive", "", "use a whole GPU"}}),
      below(kModel, memory_field("mem_estimate_mib", &S::mem_estimate_mib),
            {{"--model", "NAME|PATH",
              "estimate GPU memory from this model: a name from smartmig estimate --list, a directory or a file"},
             {"--task", "WHAT", "with --model: train or infer"},
             {"--batch", "N", "with --model: samples per step, or concurrent requests"},
             {"--context", "TOKENS", "with --model: tokens per sample"},
             {"--precision", "P", "with --model: fp32, fp16, bf16 (in training: mixed precision), int8 or int4"},
             {"--optimizer", "O", "with --model: sgd, momentum, adam, adamw, adam-8bit or adafactor"},
             {"--checkpointing", "", "with --model: the job recomputes activations to save memory"},
             {"--no-model", "", "do not estimate GPU memory from the command line or from model files"}}),
      text_field("mem_basis", &S::mem_basis, kPathBytes),
  };
}

std::vector<JobField> fields_of_times() {
  using S = JobSpec;
  constexpr const char *kHeading = "Time", *kStart = "Start";
  return {
      below(kHeading, instant_field("deadline_at", &S::deadline) | JobField::kAlways,
            {{"--deadline", "WHEN", "soft deadline, such as 2h (from now), 16:00 or 2026-11-15T16:00"}}),
      from_now_field("deadline_s", &S::deadline, "deadline_at") | JobField::kAlways,
      below(kHeading, duration_field("estimate_s", &S::estimate, 1e-6) | JobField::kWaiting,
            {{"--estimate", "TIME[@Ng]", "expected run time on a whole GPU (20m) or on N compute slices (20m@3g)"}}),
      integer_field("estimate_slices", &S::estimate_slices, 0, kMostSlices) | JobField::kWaiting,
      below(kHeading, duration_field("time_limit_s", &S::time_limit, 1e-6) | JobField::kWaiting,
            {{"--time", "LIMIT",
              "kill the job after this run time, such as 30m, 2h or 1-12:00:00; a bare number means minutes", "-t"}}),
      below(kHeading, text_field("kind", &S::kind, kNameBytes),
            {{"--kind", "NAME", "kind of job: the row of the speed and power tables to use"}}),
      below(kHeading, yes_or_default_field("patient", &S::patient),
            {{"--patient", "", "delay the job to save energy, as long as it can still meet its deadline"},
             {"--no-patient", "", "start the job as soon as possible, even if --patient is the site's default"}}),
      below(kStart, instant_field("begin_at", &S::begin) | JobField::kWaiting,
            {{"--begin", "WHEN", "do not start before this time, such as 2h (from now), 16:00 or 2026-11-15T16:00",
              "-b"}}),
      from_now_field("begin_s", &S::begin, "begin_at") | JobField::kWaiting,
      below(kStart, yes_field("hold", &S::hold),
            {{"--hold", "", "hold the job until you release it with smartmig release", "-H"}}),
      below(
          kStart, {"dependencies", "[text]", read_dependencies, written_dependencies},
          {{"--dependency", "LIST",
            "conditions on other jobs, such as afterok:12:13,afterany:14; also afternotok, after (the job has started) and singleton (all earlier jobs with this name have ended)",
            "-d"}}),
      below(kStart, integer_field("priority", &S::priority, -kMostPriority, kMostPriority) | JobField::kAlways,
            {{"--priority", "N", "priority of the job; higher priorities run first; only root can set a value above 0"},
             {"--nice", "N", "the same as --priority -N (Slurm's option)"}}),
      below(kStart, text_field("group", &S::group, 64),
            {{"--group", "NAME",
              "put the job into this group; to limit how many of its jobs run at once, use smartmig group"}}),
      below(kStart, text_field("project", &S::project, 64),
            {{"--project", "NAME", "count the job against this project's quota"}}),
      below(kStart, text_field("reservation", &S::reservation, 64),
            {{"--reservation", "NAME", "run only on the GPUs of this reservation (smartmig reserve)"}}),
  };
}

std::vector<JobField> fields_of_runs() {
  using S = JobSpec;
  constexpr const char *kOutput = "Output and mail", *kStops = "Stopping and restarting", *kProcesses = "Processes";
  return {
      below(kOutput, text_field("output", &S::output, kPathBytes),
            {{"--output", "FILE",
              "write a copy of the log to FILE; %j stands for the job number, %a for the task number", "-o"}}),
      below(kOutput, text_field("error", &S::error, kPathBytes),
            {{"--error", "FILE", "write standard error to FILE as well as to the log", "-e"}}),
      below(
          kOutput, {"mail", "[text]", read_mail, written_mail},
          {{"--mail-type", "LIST",
            "send mail on these events: BEGIN, END, FAIL, REQUEUE, TIME_LIMIT, ALL or NONE (requires hooks.mail in the daemon's configuration)"}}),
      below(kOutput, {"mail_user", "text", read_mail_user, [](const S& spec) { return unless_empty(spec.mail_user); }},
            {{"--mail-user", "ADDRESS", "send mail to this address (default: the user)"}}),
      below(
          kStops,
          {"requeue", "bool", [](SpecReader& in, const char* key, S& spec) { spec.requeue = in.yes(key); },
           [](const S& spec) { return Json(spec.requeue); }},
          {{"--requeue", "",
            "allow smartmig to restart the job from the beginning, after stopping it in favour of another one or after a GPU failure"},
           {"--no-preempt", "", "never stop the job in favour of another one (default)"}}),
      below(
          kStops, yes_field("once", &S::once),
          {{"--no-requeue", "",
            "run the job only once: never stop it in favour of another one and never restart it, even if it runs out of GPU memory"}}),
      below(kStops, yes_field("oom_retry", &S::oom_retry),
            {{"--no-oom-retry", "",
              "if the job runs out of GPU memory, let it fail (default: restart it on a larger slice)"}}),
      below(
          kStops,
          {"checkpoint_signal", "text", read_signal,
           [](const S& spec) { return spec.checkpoint_signal ? Json(signal_name(spec.checkpoint_signal)) : Json(); }},
          {{"--checkpoint-signal", "SIGNAL",
            "allow smartmig to stop the job with SIGNAL and restart it later; on SIGNAL, the job must save its state and exit"},
           {"--signal", "SIGNAL[@S]", "--checkpoint-signal and --grace in Slurm's notation, such as USR1@30"}}),
      below(
          kStops, duration_field("restart_s", &S::restart, 0),
          {{"--restart-time", "TIME",
            "time that the job needs to save and load its state, such as 20s or 5m; a bare number means seconds (default: the value for --kind, otherwise 30s)"}}),
      below(kStops, duration_field("grace_s", &S::grace, 0),
            {{"--grace", "TIME",
              "time between the stop signal and the kill, such as 2m; a bare number means seconds (default: 30s)"}}),
      below(
          kProcesses, yes_or_default_field("exact_memory", &S::exact_memory),
          {{"--exact-memory", "",
            "measure CUDA and tensor memory exactly, so that the job gets a slice of the right size if it must restart"},
           {"--no-exact-memory", "", "do not measure memory exactly, even if --exact-memory is the site's default"}}),
      below(kProcesses, yes_or_default_field("prelaunch", &S::prelaunch),
            {{"--prelaunch", "", "start the processes before the slice is free; they pause at their first CUDA call"},
             {"--no-prelaunch", "",
              "start the processes only when the slice is free, even if --prelaunch is the site's default"}}),
  };
}

// What one value alone does not show.
void check_together(SpecReader& in, JobSpec& spec) {
  if (spec.command.empty() || spec.command.front().empty())
    in.complain("command", "is missing; give a list of the program and its arguments, [\"python3\", \"train.py\"]");
  for (const JobField& field : job_fields())
    if (field.twin && in.has(field.key) && in.has(field.twin))
      in.complain(std::string_view(field.key).substr(0, std::string_view(field.key).find('_')),
                  fmt::format("is given twice, as {} and as {}", field.twin, field.key));
  if (spec.max_slices > 0 && spec.max_slices < spec.min_slices)
    in.complain("max_slices", fmt::format("is {}, below min_slices, which is {}", spec.max_slices, spec.min_slices));
  if (spec.exclusive && !spec.profile.empty())
    in.complain("exclusive",
                fmt::format("requests a whole GPU, but profile requests a {}; give only one of them", spec.profile));
  if (spec.exclusive && spec.max_slices > 0)
    in.complain("exclusive", fmt::format("requests a whole GPU, but max_slices allows at most {}", spec.max_slices));
  if (!spec.profile.empty() && (spec.min_slices > 1 || spec.max_slices > 0))
    in.complain("profile",
                fmt::format("sets the size; leave out {}", spec.max_slices > 0 ? "max_slices" : "min_slices"));
  if (spec.port && !spec.array.empty())
    in.complain("port", "cannot be combined with an array, because its tasks would share the port");
  if (spec.keep_alive && spec.once) in.complain("keep_alive", "contradicts once, which forbids every restart");
}

}  // namespace

const std::vector<JobField>& job_fields() {
  static const std::vector<JobField> table = [] {
    std::vector<JobField> all;
    for (auto part : {fields_of_slices(), fields_of_times(), fields_of_commands(), fields_of_runs()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

const JobField* find_job_field(std::string_view key) {
  for (const JobField& field : job_fields())
    if (key == field.key) return &field;
  return nullptr;
}

Result<Ok> set_job_field(JobSpec& spec, const JobField& field, const Json& value, UnixTime now) {
  const Json object = {{field.key, value}};
  SMARTMIG_TRY(JsonObject opened, JsonObject::open(object, "the job", ""));
  SpecReader in(std::move(opened), now);
  field.read(in, field.key, spec);
  if (!in.error) return Ok{};
  const std::string name = fmt::format("the job: {} ", field.key);
  if (in.error->what.starts_with(name)) in.error->what.erase(0, name.size());
  return *in.error;
}

Result<JobSpec> read_job_spec(const Json& json, UnixTime now) {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const JobField& field : job_fields()) all.emplace_back(field.key);
    return all;
  }();
  if (!json.is_object()) return invalid("the job must be a JSON object with at least \"command\"");
  SMARTMIG_TRY(JsonObject object, JsonObject::open(json, "the job", "", keys));
  SpecReader in(std::move(object), now);
  JobSpec spec;
  spec.directory = "/";
  for (const JobField& field : job_fields())
    if (in.has(field.key)) field.read(in, field.key, spec);
  check_together(in, spec);
  if (in.error) return *in.error;
  SMARTMIG_RETURN_IF_ERROR(check_container(spec));
  return spec;
}

Result<JobSpec> parse_job_spec(std::string_view text, UnixTime now) {
  SMARTMIG_TRY(const Json json, parse_json("the job", text));
  return read_job_spec(json, now);
}

Json spec_json(const JobSpec& spec, bool with_environment) {
  Json out = Json::object();
  for (const JobField& field : job_fields()) {
    if (!with_environment && field.key == std::string_view("environment")) continue;
    if (Json value = field.write(spec); !value.is_null()) out[field.key] = std::move(value);
  }
  return out;
}

// A path or variable need not be UTF-8: what is not is shown with the replacement character, never thrown.
std::string to_json(const JobSpec& spec, bool with_environment) { return json_dump(spec_json(spec, with_environment)); }

}  // namespace smartmig
