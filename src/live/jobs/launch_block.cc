#include "live/jobs/launch_block.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "live/jobs/process_runner.h"

namespace smartmig {
namespace {

constexpr char kPortWord[] = "{port}";
constexpr Time kUnnamedGrace{30'000'000};  // of a launch that names none; the daemon always does

class BlockWriter {
 public:
  BlockWriter() : data_(sizeof(LaunchHead), '\0') { data_.push_back('\0'); }
  std::uint32_t text(const std::string& text) {
    if (text.empty()) return std::uint32_t(sizeof(LaunchHead));
    const auto at = std::uint32_t(data_.size());
    data_.append(text).push_back('\0');
    return at;
  }
  LaunchList list(const std::vector<std::string>& texts) {
    std::vector<std::uint32_t> offsets;
    for (const std::string& item : texts) offsets.push_back(text(item));
    return numbers(offsets);
  }
  LaunchList numbers(const std::vector<std::uint32_t>& values) {
    data_.resize((data_.size() + 3) / 4 * 4);
    const auto at = std::uint32_t(data_.size());
    data_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::uint32_t));
    return {at, std::uint32_t(values.size())};
  }
  Result<int> to_memfd(LaunchHead head) {
    head.bytes = data_.size();
    std::memcpy(data_.data(), &head, sizeof head);
    const int fd = ::memfd_create("smartmig-launch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return io_error("not enough memory to launch a job: {}", std::strerror(errno));
    std::size_t done = 0;
    while (done < data_.size()) {
      const ssize_t n = ::write(fd, data_.data() + done, data_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int error = errno;
        ::close(fd);
        return io_error("not enough memory to launch a job: {}", std::strerror(error));
      }
      done += std::size_t(n);
    }
    ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    return fd;
  }

 private:
  std::string data_;
};

std::vector<std::uint32_t> groups_of(const Launch& launch) {
  std::string user = launch.user;
  if (user.empty()) {
    char buffer[4096];
    passwd entry{}, *found = nullptr;
    if (::getpwuid_r(launch.uid, &entry, buffer, sizeof buffer, &found) == 0 && found) user = found->pw_name;
  }
  if (user.empty()) return {launch.gid};
  std::vector<gid_t> groups(64);
  int count = int(groups.size());
  while (::getgrouplist(user.c_str(), launch.gid, groups.data(), &count) < 0 && count < 65536)
    groups.resize(std::size_t(count));
  groups.resize(std::size_t(count));
  return {groups.begin(), groups.end()};
}

bool has_zero(const std::string& text) { return text.find('\0') != text.npos; }

const std::string* find_value(const Environment& environment, std::string_view name) {
  for (const auto& [key, value] : environment)
    if (key == name) return &value;
  return nullptr;
}

// As the kernel reads a "#!" line: the program, and the rest of the line as one argument.
std::vector<std::string> interpreter_of(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  const std::string_view line = trim(script.substr(2, script.find('\n') - 2));
  const auto space = line.find_first_of(" \t");
  std::vector<std::string> words{std::string(line.substr(0, space))};
  if (space != line.npos) words.emplace_back(trim(line.substr(space)));
  return words;
}

}  // namespace

std::string expand_output(const std::string& pattern, const Launch& launch) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    const std::string *array = find_value(launch.slice, "SLURM_ARRAY_JOB_ID"),
                      *index = find_value(launch.slice, "SLURM_ARRAY_TASK_ID");
    switch (next) {
      case 'j':
        out += std::to_string(launch.id.job);
        break;
      case 't':
        out += std::to_string(launch.id.attempt);
        break;
      case 'u':
        out += launch.user;
        break;
      case 'x':
        out += launch.spec.name.empty() ? "job" : launch.spec.name;
        break;
      case 'A':
        out += array ? *array : std::to_string(launch.id.job);
        break;
      case 'a':
        out += index ? *index : "0";
        break;
      case '%':
        out += '%';
        break;
      default:
        out += pattern[i];
        continue;
    }
    ++i;
  }
  return out;
}

std::vector<std::string> arguments_of(const Launch& launch) {
  std::vector<std::string> out = launch.spec.command;
  if (launch.spec.port)
    for (std::string& argument : out)
      for (auto at = argument.find(kPortWord); at != argument.npos; at = argument.find(kPortWord, at))
        argument.replace(at, std::size(kPortWord) - 1, std::to_string(*launch.spec.port));
  if (launch.spec.script.empty()) return out;
  for (std::string& argument : out)
    if (argument == "{script}") return argument = kScriptPath, out;
  const auto words = interpreter_of(launch.spec.script);
  const bool begins_so =
      !words.empty() && words.size() <= out.size() && std::equal(words.begin(), words.end(), out.begin());
  out.insert(begins_so ? out.begin() + std::ptrdiff_t(words.size()) : out.end(), kScriptPath);
  return out;
}

std::vector<std::string> environment_of(const Launch& launch, const std::string& sim_state, const std::string& token) {
  std::map<std::string, std::string> all;
  all["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  if (!launch.home.empty()) all["HOME"] = launch.home;
  if (!launch.user.empty()) all["USER"] = all["LOGNAME"] = launch.user;
  for (const std::string& entry : launch.spec.environment) {
    const auto equals = entry.find('=');
    if (equals == entry.npos || equals == 0 || entry.starts_with("SMARTMIG_HOLD")) continue;  // of a job that submits
    all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  if (!sim_state.empty()) all["NVML_SIM_STATE"] = sim_state;
  for (const auto& [name, value] : launch.slice) all[name] = value;
  all["SMARTMIG_ATTEMPT_TOKEN"] = token;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

Result<Ok> ProcessRunner::check(const Launch& launch) const {
  const JobSpec& spec = launch.spec;
  const auto name = [&] { return fmt::format("attempt {} of job {}", launch.id.attempt, launch.id.job); };
  if (launch.id.attempt < 1) return invalid("{}: attempts count from 1", name());
  if (spec.command.empty() || spec.command[0].empty()) return invalid("{}: no command", name());
  bool zero = has_zero(spec.directory) || has_zero(spec.output) || has_zero(spec.error) || has_zero(launch.device) ||
              has_zero(launch.user);
  for (const auto& part : {spec.command, spec.environment})
    for (const std::string& text : part) zero |= has_zero(text);
  for (const auto& [key, value] : launch.slice) zero |= has_zero(key) || has_zero(value) || key.find('=') != key.npos;
  if (zero) return invalid("{}: its command, environment or paths contain a zero byte", name());
  if (::geteuid() != 0 && launch.uid != ::geteuid())
    return no_permission(
        "{}: the daemon runs as uid {} and cannot start jobs of uid {}; run it as root, or "
        "submit as its user",
        name(), ::geteuid(), launch.uid);
  if (!launch.emulated_kind.empty() && options_.sim_library.empty())
    return invalid("{}: an emulated slice needs the nvml-sim library, but no path was given", name());
  return Ok{};
}

CgroupLimits ProcessRunner::limits_of(const Launch& launch) const {
  CgroupLimits limits{launch.cpus, launch.host_mem_mib, options_.most_processes, launch.device_nodes};
  if (!limits.device_nodes.empty())
    limits.device_nodes.insert(limits.device_nodes.end(), options_.extra_device_nodes.begin(),
                               options_.extra_device_nodes.end());
  return limits;
}

// Apptainer shows all devices, and what the fence leaves of them. On emulated GPUs nothing needs to be handed over.
Result<ContainerPlace> ProcessRunner::container_place(const Launch& launch) const {
  ContainerPlace out{memory_directory(launch.id), {"", launch.device}, launch.uid != 0};
  if (launch.spec.container_runtime != "podman" || launch.device.empty()) return out;
  auto device = container_device(launch.device, options_.containers);
  if (!device && launch.emulated_kind.empty()) return device.error();
  if (device) out.device = std::move(*device);
  return out;
}

Result<int> ProcessRunner::launch_block(const Launch& launch, const std::string& directory) const {
  struct stat entry {};
  if (::stat(directory.c_str(), &entry) != 0) return io_error("{}: {}", directory, std::strerror(errno));
  const std::string token = fmt::format("{}.{}-{:x}-{:x}-{:x}", launch.id.job, launch.id.attempt, entry.st_dev,
                                        entry.st_ino, entry.st_ctim.tv_nsec);
  const CgroupPlan plan = cgroups_.plan(token, limits_of(launch));
  SMARTMIG_RETURN_IF_ERROR(cgroups_.fence(plan, limits_of(launch)));

  const JobSpec& spec = launch.spec;
  BlockWriter out;
  LaunchHead head;
  const auto optional_text = [&](const std::string& text) { return text.empty() ? 0u : out.text(text); };
  head.job = launch.id.job;
  head.attempt = launch.id.attempt;
  head.uid = launch.uid;
  head.gid = launch.gid;
  head.change_user = ::geteuid() == 0 && launch.uid != 0;
  head.append_output = launch.id.attempt > 1;
  head.held = launch.hold;
  head.new_privileges = launch.new_privileges;
  head.host_mem_mib = std::uint32_t(launch.host_mem_mib);
  head.time_limit_us = spec.time_limit ? std::max<std::int64_t>(1, spec.time_limit->count()) : 0;
  head.grace_us = spec.grace.value_or(kUnnamedGrace).count();
  head.patience_us = options_.kill_patience.count();
  head.log_segment_bytes = options_.log_segment_bytes;
  head.copy_bytes = options_.copy_bytes;
  head.boot_id = out.text(this_boot());
  head.token = out.text(token);
  head.directory = out.text(spec.directory);
  head.output = out.text(spec.output.empty() ? "" : expand_output(spec.output, launch));
  head.error = out.text(spec.error.empty() ? "" : expand_output(spec.error, launch));
  head.script_bytes = spec.script.size();
  head.script = out.text(spec.script);
  if (!launch.emulated_kind.empty() && !launch.hold) {  // without a slice it is on none
    head.sim_library = out.text(options_.sim_library);
    head.sim_state = out.text(options_.sim_state);
    head.device = out.text(launch.device);
    head.kind = out.text(launch.emulated_kind);
  }
  head.kill_file = optional_text(plan.kill_file);
  head.freezer_file = optional_text(plan.freezer_file);
  head.peak_file = optional_text(plan.peak_file);
  head.oom_file = optional_text(plan.oom_file);
  std::vector<std::string> arguments = arguments_of(launch);
  auto environment = environment_of(launch, launch.emulated_kind.empty() ? "" : options_.sim_state, token);
  if (!spec.container.empty()) {
    SMARTMIG_TRY(const ContainerPlace container, container_place(launch));
    enter_container(launch, container, arguments, environment);
  } else if (!options_.shims.empty()) {
    for (std::string& variable : environment)
      if (variable.starts_with("PATH=")) variable.insert(5, options_.shims + ":");
  }
  head.arguments = out.list(arguments);
  head.environment = out.list(environment);
  head.groups = out.numbers(groups_of(launch));
  head.cgroups = out.list(plan.directories);
  std::vector<std::string> settings;
  for (const auto& [file, text] : plan.settings) settings.insert(settings.end(), {file, text});
  head.settings = out.list(settings);
  return out.to_memfd(head);
}

}  // namespace smartmig
