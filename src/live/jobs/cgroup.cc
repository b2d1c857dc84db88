#include "live/jobs/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/errors.h"
#include "base/text.h"
#include "live/jobs/device_program.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kV1Controllers = {"memory", "cpu", "pids", "freezer", "devices"};

constexpr std::string_view kTokenName = "SMARTMIG_ATTEMPT_TOKEN=";

std::string proc_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

bool put(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool good = ::write(fd, text.data(), text.size()) == ssize_t(text.size());
  ::close(fd);
  return good;
}

bool is_directory(const std::string& path) {
  struct stat entry {};
  return ::stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// What an ordinary program opens: null, zero, full, random, urandom, tty, ptmx and the terminals behind it.
const DeviceNumbers kUsualDevices = {{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 2}, {136, kAnyMinor}};

Result<Ok> close_devices(const std::string& path, const std::vector<std::string>& device_nodes) {
  DeviceNumbers allowed = kUsualDevices;
  for (const std::string& node : device_nodes) {
    struct stat entry {};
    if (::stat(node.c_str(), &entry) == 0 && S_ISCHR(entry.st_mode))
      allowed.emplace_back(major(entry.st_rdev), minor(entry.st_rdev));
  }
  return set_device_program(path, allowed);
}

void kill_pids_in(const std::string& file) {
  for (const std::string& word : words_of(proc_text(file)))
    if (const auto pid = parse_int(word); pid && *pid > 1) ::kill(pid_t(*pid), SIGKILL);
}

constexpr int kExecRounds =
    40;  // of 5 ms: an exec takes less, and a program without an environment shows none for ever
// A process shows no environment while it becomes another program; so do the dead, and threads of the kernel, which have
// no program at all.
bool may_be_in_exec(const fs::path& process) {
  if (::access((process / "environ").c_str(), R_OK) != 0) return false;  // another user's
  const std::string stat = proc_text((process / "stat").string());
  const auto after_name = stat.rfind(')');
  if (after_name == stat.npos) return false;
  const auto fields = split(std::string_view(stat).substr(after_name + 1), ' ');  // "", state, parent
  return fields.size() > 3 && fields[1] != "Z" && fields[1] != "X" && fields[2] != "2" && fields[2] != "0";
}

}  // namespace

Cgroups Cgroups::from(const std::string& mounts, const std::string& self, bool root) {
  std::vector<std::pair<std::string, std::string>> own;  // controller, path; "" is v2
  for (const std::string_view line : split(self, '\n')) {
    const auto first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    for (const std::string_view name : split(line.substr(first + 1, second - first - 1), ','))
      own.emplace_back(name, line.substr(second + 1));
  }
  const auto own_path = [&](std::string_view controller) -> std::string {
    for (const auto& [name, path] : own)
      if (name == controller) return path == "/" ? "" : path;
    return "";
  };
  Cgroups out;
  for (const std::string_view line : split(mounts, '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() < 4) continue;
    const std::string mount(fields[1]);
    if (fields[2] == "cgroup2" && out.v2_.empty()) {
      const std::string mine = own_path("");
      if (mine.ends_with("/daemon"))
        out.v2_ = mount + mine.substr(0, mine.size() - 7) + "/jobs";
      else
        out.v2_ = mount + (root ? "/smartmig" : mine + "/smartmig");
    }
    if (fields[2] != "cgroup") continue;
    for (const std::string_view option : split(fields[3], ','))
      if (std::find(kV1Controllers.begin(), kV1Controllers.end(), option) != kV1Controllers.end())
        out.v1_.push_back({std::string(option), mount + own_path(option) + "/smartmig", mount});
  }
  return out;
}

CgroupTree CgroupTree::of_this_machine() { return of_this_machine(proc_text("/proc/self/mounts")); }

CgroupTree CgroupTree::of_this_machine(std::string mounts) {
  const auto make = [](const std::string& path) {
    return (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) && ::access(path.c_str(), W_OK) == 0;
  };
  return {std::move(mounts), proc_text("/proc/self/cgroup"), ::geteuid() == 0, make, put, proc_text, close_devices};
}

Cgroups Cgroups::find(const CgroupTree& tree) {
  Cgroups out = from(tree.mounts, tree.self, tree.root);
  std::erase_if(out.v1_, [&](Place& place) {
    if (tree.make(place.base)) return false;
    place.base = place.mount + "/smartmig";  // a container may show its own part of the tree as the root
    return !tree.make(place.base);
  });
  if (!out.v2_.empty() && !tree.make(out.v2_)) out.v2_.clear();
  if (!out.v2_.empty()) {
    const std::string parent = fs::path(out.v2_).parent_path().string();
    for (const char* controller : {"+memory", "+cpu", "+pids"}) {
      tree.write(parent + "/cgroup.subtree_control", controller);
      tree.write(out.v2_ + "/cgroup.subtree_control", controller);
    }
    out.v2_controllers_ = words_of(tree.read(out.v2_ + "/cgroup.subtree_control"));
    if (const std::string probe = out.v2_ + "/probe"; out.base_of("devices").empty() && tree.make(probe)) {
      out.v2_fence_ = bool(tree.fence(probe, {}));
      ::rmdir(probe.c_str());
    }
  }
  return out;
}

std::string Cgroups::base_of(const std::string& controller) const {
  for (const Place& place : v1_)
    if (place.controller == controller) return place.base;
  return "";
}

bool Cgroups::has(const std::string& controller) const {
  return !base_of(controller).empty() ||
         std::find(v2_controllers_.begin(), v2_controllers_.end(), controller) != v2_controllers_.end();
}

std::vector<std::pair<std::string, std::string>> Cgroups::isolates() const {
  const auto on = [&](const char* controller) -> std::string {
    if (!base_of(controller).empty()) return fmt::format("{} controller of cgroup v1", controller);
    return has(controller) ? fmt::format("{} controller of cgroup v2", controller) : "nothing";
  };
  std::string devices = "nothing: the environment names the slice, and a job may open others";
  if (!base_of("devices").empty())
    devices = "devices controller of cgroup v1";
  else if (v2_fence_)
    devices = "BPF program on cgroup v2";
  return {{"device files", devices},
          {"host memory", on("memory")},
          {"CPUs", on("cpu")},
          {"number of processes", on("pids")},
          {"end of all processes", !v2_.empty()                  ? "cgroup.kill"
                                   : !base_of("freezer").empty() ? "freezer of cgroup v1"
                                                                 : "process tree"}};
}

std::string Cgroups::words() const {
  std::string limits;
  for (const char* name : {"cpu", "memory", "pids", "devices"})
    if (has(name) || (name == std::string_view("devices") && v2_fence_))
      limits += fmt::format("{}{}", limits.empty() ? "" : ", ", name);
  if (v1_.empty() && v2_.empty()) return "no cgroups: jobs have no limits and are killed as a process tree";
  return fmt::format("cgroup limits: {}; killing {}", limits.empty() ? "none" : limits,
                     v2_.empty() ? "by the freezer or the list of processes" : "by cgroup.kill");
}

CgroupPlan Cgroups::plan(const std::string& name, const CgroupLimits& limits) const {
  CgroupPlan plan;
  const auto directory = [&](const std::string& base) {
    const std::string path = base + "/" + name;
    if (std::find(plan.directories.begin(), plan.directories.end(), path) == plan.directories.end())
      plan.directories.push_back(path);
    return path;
  };
  const auto set = [&](const std::string& file, std::string text) {
    plan.settings.emplace_back(file, std::move(text));
  };
  const std::int64_t bytes = std::int64_t(limits.host_mem_mib) << 20;
  const std::int64_t quota = std::max<std::int64_t>(1000, std::int64_t(limits.cpus * 100'000));

  for (const auto& [controller, base, mount] : v1_) {
    if (controller == "devices" && limits.device_nodes.empty()) continue;
    const std::string at = directory(base);
    if (controller == "memory") {
      if (bytes > 0) {
        set(at + "/memory.limit_in_bytes", fmt::format("{}", bytes));
        set(at + "/memory.memsw.limit_in_bytes", fmt::format("{}", bytes));
      }
      plan.peak_file = at + "/memory.max_usage_in_bytes";
      plan.oom_file = at + "/memory.oom_control";
    } else if (controller == "cpu" && limits.cpus > 0) {
      set(at + "/cpu.cfs_quota_us", fmt::format("{}", quota));
    } else if (controller == "pids" && limits.processes > 0) {
      set(at + "/pids.max", fmt::format("{}", limits.processes));
    } else if (controller == "freezer") {
      plan.freezer_file = at + "/freezer.state";
    } else if (controller == "devices") {
      set(at + "/devices.deny", "a");
      for (const auto& [major_, minor_] : kUsualDevices)
        set(at + "/devices.allow",
            minor_ == kAnyMinor ? fmt::format("c {}:* rw", major_) : fmt::format("c {}:{} rw", major_, minor_));
      for (const std::string& node : limits.device_nodes) {
        struct stat entry {};
        if (::stat(node.c_str(), &entry) == 0 && (S_ISCHR(entry.st_mode) || S_ISBLK(entry.st_mode)))
          set(at + "/devices.allow", fmt::format("{} {}:{} rw", S_ISCHR(entry.st_mode) ? 'c' : 'b',
                                                 major(entry.st_rdev), minor(entry.st_rdev)));
      }
    }
  }
  if (!v2_.empty()) {
    const std::string at = directory(v2_);
    plan.kill_file = at + "/cgroup.kill";
    if (v2_fence_ && !limits.device_nodes.empty()) plan.fenced = at;
    const auto offered = [&](const char* controller) {
      return std::find(v2_controllers_.begin(), v2_controllers_.end(), controller) != v2_controllers_.end();
    };
    if (offered("memory")) {
      if (bytes > 0) {
        set(at + "/memory.max", fmt::format("{}", bytes));
        set(at + "/memory.swap.max", "0");
        set(at + "/memory.oom.group", "1");
      }
      plan.peak_file = at + "/memory.peak";
      plan.oom_file = at + "/memory.events";
    }
    if (offered("cpu") && limits.cpus > 0) set(at + "/cpu.max", fmt::format("{} 100000", quota));
    if (offered("pids") && limits.processes > 0) set(at + "/pids.max", fmt::format("{}", limits.processes));
  }
  return plan;
}

Result<Ok> Cgroups::fence(const CgroupPlan& plan, const CgroupLimits& limits) const {
  if (plan.fenced.empty()) return Ok{};
  if (::mkdir(plan.fenced.c_str(), 0755) != 0 && errno != EEXIST)
    return io_error("{}: {}", plan.fenced, std::strerror(errno));
  if (const auto closed = close_devices(plan.fenced, limits.device_nodes); !closed) {
    ::rmdir(plan.fenced.c_str());  // stays where somebody lives in it
    Error error = closed.error();
    error.what = fmt::format("cannot close other slices' devices to the job: {}: {}", plan.fenced, error.what);
    return error;
  }
  return Ok{};
}

bool write_cgroup_file(const std::string& file, const std::string& text) { return put(file, text); }

bool kill_cgroups(const std::vector<std::string>& directories) {
  const auto left = [&] {
    return std::any_of(directories.begin(), directories.end(), [](const std::string& path) {
      if (!is_directory(path)) return false;
      return ::rmdir(path.c_str()) != 0 && errno != ENOENT;
    });
  };
  for (int round = 0; round < 200; ++round) {
    for (const std::string& path : directories) {
      if (!is_directory(path)) continue;
      put(path + "/cgroup.kill", "1");
      kill_pids_in(path + "/cgroup.procs");
      put(path + "/freezer.state", "THAWED");  // a supervisor may have died between freezing and killing
    }
    if (!left()) return true;
    ::usleep(10'000);
  }
  return false;
}

bool anybody_in(const std::vector<std::string>& directories) {
  return std::any_of(directories.begin(), directories.end(), [](const std::string& path) {
    const int fd = ::open((path + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno != ENOENT && errno != ENOTDIR;
    char some[16];
    const ssize_t n = ::read(fd, some, sizeof some);
    const bool gone = n < 0 && errno == ENODEV;  // removed since
    ::close(fd);
    return n != 0 && !gone;
  });
}

std::string token_of_process(int pid) {
  const std::string environment = proc_text(fmt::format("/proc/{}/environ", pid));
  for (const std::string_view entry : split(environment, '\0'))
    if (entry.starts_with(kTokenName)) return std::string(entry.substr(kTokenName.size()));
  return {};
}

std::vector<std::pair<int, std::string>> processes_with_tokens() {
  std::vector<std::pair<int, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const auto pid = parse_int(at->path().filename().string());
    if (!pid || *pid <= 1) continue;
    if (std::string token = token_of_process(int(*pid)); !token.empty())
      found.emplace_back(int(*pid), std::move(token));
  }
  return found;
}

int kill_by_token(const std::vector<std::string>& tokens) {
  if (tokens.empty()) return 0;
  std::error_code error;
  int met = 0, unclear_rounds = 0;
  for (int round = 0; round < 200; ++round) {
    int found = 0;
    bool unclear = false;
    for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
      const auto pid = parse_int(at->path().filename().string());
      if (!pid || *pid <= 1 || *pid == ::getpid()) continue;
      const std::string environment = proc_text(at->path().string() + "/environ");
      unclear |= environment.empty() && may_be_in_exec(at->path());
      for (const std::string_view entry : split(environment, '\0')) {
        if (!entry.starts_with(kTokenName)) continue;
        if (std::find(tokens.begin(), tokens.end(), entry.substr(kTokenName.size())) == tokens.end()) break;
        if (::kill(pid_t(*pid), SIGKILL) == 0) ++found;
        break;
      }
    }
    met += found;
    if (found == 0 && (!unclear || ++unclear_rounds > kExecRounds)) break;
    ::usleep(5'000);
  }
  return met;
}

}  // namespace smartmig
