#include "live/gpu/doctor.h"

#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "live/gpu/controller_lock.h"
#include "live/gpu/holders.h"
#include "live/gpu/intent.h"
#include "live/gpu/quarantine.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;
constexpr double kLeastDiskMib = 100;
constexpr std::time_t kNoClockBefore = 1'704'067'200;  // 2024-01-01: older than this program

Finding ok(std::string check, std::string found) { return {Finding::kOk, std::move(check), std::move(found), ""}; }

void check_boards(MigDriver& driver, std::vector<Finding>& out) {
  const auto boards = driver.inventory();
  if (!boards) {
    out.push_back({Finding::kFailure, "GPUs", boards.error().what, "see what nvidia-smi says"});
    return;
  }
  if (boards->empty()) {
    out.push_back({Finding::kFailure, "GPUs", "the driver lists none", "check the cards with lspci and dmesg"});
    return;
  }
  int on = 0;
  bool sound = true;
  for (const GpuBoard& board : *boards) {
    on += board.mode == MigMode::kOn;
    if (!board.trouble.empty()) {
      sound = false;
      out.push_back({Finding::kFailure, "GPUs", fmt::format("{}: {}", title(board), board.trouble),
                     "leave this GPU out, or correct the catalogue (docs/geometry.md)"});
    }
    for (const Instance& i : board.instances)
      if (i.compute_instance < 0)
        out.push_back({Finding::kWarning, "GPUs",
                       fmt::format("{}: GPU instance {} has no compute instance", title(board), i.gpu_instance),
                       "smartmig apply removes it; add --adopt if smartmig did not make it"});
    if (board.mode != board.pending)
      out.push_back({Finding::kWarning, "MIG mode", fmt::format("{}: a change of mode is pending", title(board)),
                     fmt::format("stop its processes, then nvidia-smi --gpu-reset -i {}", board.index)});
  }
  if (sound) out.push_back(ok("GPUs", fmt::format("{} with the geometry of the catalogue", boards->size())));
  if (on == int(boards->size()))
    out.push_back(ok("MIG mode", fmt::format("on for all {} GPUs", on)));
  else
    out.push_back({Finding::kWarning, "MIG mode", fmt::format("on for {} of {} GPUs", on, boards->size()),
                   "smartmig apply --allow-mode-change, or nvidia-smi -i N -mig 1; or soft slices with --driver mps"});
}

void check_permissions(const DoctorOptions& options, std::vector<Finding>& out) {
  const std::string capability = options.proc_root + "/driver/nvidia/capabilities/mig/config";
  if (::geteuid() == 0)
    out.push_back(ok("permissions", "root"));
  else if (::access(capability.c_str(), R_OK) == 0)
    out.push_back(ok("permissions", "may read the capability mig/config"));
  else
    out.push_back({Finding::kFailure, "permissions", "not root, and the capability mig/config cannot be read",
                   fmt::format("run as root, or make {} and its node in /dev/nvidia-caps readable", capability)});
}

void check_cgroups(const DoctorOptions& options, std::vector<Finding>& out) {
  const std::string root = options.sys_root + "/fs/cgroup";
  std::error_code error;
  std::ifstream in(root + "/cgroup.controllers");
  std::set<std::string> found;
  for (std::string word; in >> word;) found.insert(word);
  std::string version = "v2";
  if (!found.contains("memory")) {
    for (const char* name : {"memory", "cpu", "freezer", "devices", "pids"})
      if (fs::is_directory(root + "/" + name, error)) {
        found.insert(name);
        version = "v1";
      }
  }
  if (found.contains("memory") && found.contains("cpu"))
    out.push_back(ok("cgroups", fmt::format("{} with {}", version, fmt::join(found, " "))));
  else
    out.push_back({Finding::kWarning, "cgroups", fmt::format("no memory and cpu controllers below {}", root),
                   "mount cgroup2 there; without it jobs run without limits on host memory and cores"});
}

void check_holders(MigDriver* driver, const DoctorOptions& options, std::vector<Finding>& out) {
  std::set<std::uint32_t> jobs;
  if (driver)
    if (const auto boards = driver->inventory())
      for (const GpuBoard& board : *boards)
        if (const auto running = driver->processes(GpuId{std::uint32_t(board.index)}))
          for (const DeviceProcess& p : *running) jobs.insert(p.pid);
  auto holders = find_holders({options.proc_root, -1, -1, -1});
  std::erase_if(holders, [&](const Holder& h) { return jobs.contains(h.pid); });
  if (holders.empty())
    out.push_back(ok("holders", "only jobs keep GPUs open"));
  else
    out.push_back({Finding::kWarning, "holders", describe(holders),
                   "monitors that keep devices open can block the removal of slices; pause them while slices change"});
}

void check_disk(const DoctorOptions& options, std::vector<Finding>& out) {
  fs::path at = options.state_dir.empty() ? fs::path(".") : fs::path(options.state_dir);
  std::error_code error;
  while (!fs::exists(at, error) && at.has_parent_path() && at != at.parent_path()) at = at.parent_path();
  if (at.empty()) at = ".";
  struct statvfs info {};
  if (::statvfs(at.c_str(), &info) != 0 || ::access(at.c_str(), W_OK) != 0) {
    out.push_back({Finding::kFailure, "disk", fmt::format("{} cannot be written", at.string()),
                   "choose another directory with --state, or run as root"});
    return;
  }
  const double mib = double(info.f_bavail) * double(info.f_frsize) / (1 << 20);
  if (mib < kLeastDiskMib)
    out.push_back({Finding::kFailure, "disk", fmt::format("{:.0f} MiB free below {}", mib, at.string()),
                   fmt::format("free at least {:.0f} MiB, or choose another directory with --state", kLeastDiskMib)});
  else
    out.push_back(ok("disk", fmt::format("{} has {:.0f} MiB free", at.string(), mib)));
}

void check_clock(std::vector<Finding>& out) {
  struct timex clock {};
  const int state = ::adjtimex(&clock);
  if (std::time(nullptr) < kNoClockBefore)
    out.push_back({Finding::kFailure, "clock", "the date lies before 2024", "set the clock; deadlines depend on it"});
  else if (state < 0 || state == TIME_ERROR || (clock.status & STA_UNSYNC))
    out.push_back({Finding::kWarning, "clock", "not synchronised", "run chronyd or systemd-timesyncd"});
  else
    out.push_back(ok("clock", "synchronised"));
}

void check_state(MigDriver* driver, const DoctorOptions& options, std::vector<Finding>& out) {
  if (const auto intents = read_intents(options.state_dir); !intents)
    out.push_back({Finding::kFailure, "reshapes", intents.error().what, "check the GPU, then move the file away"});
  else if (!intents->empty())
    out.push_back({Finding::kWarning, "reshapes", fmt::format("{} not finished", intents->size()),
                   "the next smartmig apply finishes them"});
  else
    out.push_back(ok("reshapes", "none unfinished"));
  const auto quarantine = Quarantine::open(options.state_dir + "/quarantine.json");
  if (!quarantine)
    out.push_back({Finding::kFailure, "quarantine", quarantine.error().what, "repair or remove the file"});
  else if (quarantine->entries().empty())
    out.push_back(ok("quarantine", "empty"));
  else
    for (const auto& e : quarantine->entries())
      out.push_back({Finding::kWarning, "quarantine",
                     fmt::format("{}{}: {}", e.gpu, e.slice.empty() ? "" : " " + e.slice, e.reason),
                     fmt::format("after repair: smartmig doctor --release {}", e.gpu)});
  if (options.emulated || !driver) return;
  std::vector<std::string> uuids;
  if (const auto boards = driver->inventory())
    for (const GpuBoard& board : *boards) uuids.push_back(board.uuid);
  if (const auto lock = ControllerLock::take(options.lock_dir, uuids); lock)
    out.push_back(ok("controller", "none runs"));
  else if (lock.error().code == Error::kBusy)
    out.push_back(ok("controller", lock.error().what));
  else
    out.push_back(
        {Finding::kWarning, "controller", lock.error().what, "set SMARTMIG_LOCK_DIR to a directory you can write"});
}

}  // namespace

std::vector<Finding> examine(MigDriver* driver, const std::string& driver_error, const DoctorOptions& options) {
  std::vector<Finding> out;
  if (driver) {
    out.push_back(ok("driver", driver->name() + (driver->isolated() ? "" : ", soft slices, not isolated")));
    check_boards(*driver, out);
  } else {
    const auto advice = driver_error.rfind("; ");  // sentences end with what to do
    out.push_back({Finding::kFailure, "driver", driver_error.substr(0, advice),
                   advice == driver_error.npos ? "see what nvidia-smi says" : driver_error.substr(advice + 2)});
  }
  if (!options.emulated) {
    check_permissions(options, out);
    check_cgroups(options, out);
    check_holders(driver, options, out);
  }
  check_disk(options, out);
  if (!options.emulated) check_clock(out);
  check_state(driver, options, out);
  return out;
}

}  // namespace smartmig
