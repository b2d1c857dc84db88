#include "serve/api/daemon_host.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "live/durable_file.h"
#include "live/gpu_access.h"
#include "live/jobs/in_process_runner.h"
#include "live/jobs/process_runner.h"
#include "live/own_directory.h"
#include "model/site_tables.h"
#include "queue/config/places.h"
#include "serve/daemon/lost_store.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

int host_memory_mib() { return int(double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE)) / (1 << 20)); }

// They are read at their first use, which must not fail.
Result<Ok> use_tables(const Settings::Places& places) {
  add_site_files(kSpeedsVariable, places.speeds);
  add_site_files(kPowerVariable, places.power_kinds);
  auto good = check_site_tables();
  if (!good) {
    add_site_files(kSpeedsVariable, {});
    add_site_files(kPowerVariable, {});
  }
  return good;
}

}  // namespace

Result<std::unique_ptr<DaemonHost>> DaemonHost::open(DaemonHostOptions options) {
  std::unique_ptr<DaemonHost> host(new DaemonHost(std::move(options)));
  const Settings& settings = host->options_.settings;
  SMARTMIG_RETURN_IF_ERROR(check_settings(settings));
  SMARTMIG_RETURN_IF_ERROR(use_tables(settings.places));
  host->state_dir_ = settings.places.state_dir.empty() ? default_state_dir() : settings.places.state_dir;
  if (host->state_dir_.starts_with(temporary_home() + "/")) {
    SMARTMIG_TRY(const OwnDirectory home, OwnDirectory::open(temporary_home(), 0755));
  }
  {
    SMARTMIG_TRY(const OwnDirectory state,
                 OwnDirectory::open(host->state_dir_, 0755));  // emulated GPUs serve everybody
  }
  SMARTMIG_TRY(host->lock_, ControllerLock::take(host->state_dir_, {"queue"}));
  if (!host->options_.in_process && !host->options_.new_queue)
    SMARTMIG_RETURN_IF_ERROR(check_store_is_there(host->state_dir_ + "/" + kStoreFile, host->state_dir_ + "/spool"));
  SMARTMIG_TRY(host->store_, Store::open(host->state_dir_ + "/" + kStoreFile));
  SMARTMIG_RETURN_IF_ERROR(host->open_driver());
  SMARTMIG_TRY(Reshaper reshaper, Reshaper::open(*host->driver_, host->state_dir_));
  host->reshaper_ = std::make_unique<Reshaper>(std::move(reshaper));
  SMARTMIG_RETURN_IF_ERROR(host->open_runner());
  SMARTMIG_TRY(host->daemon_,
               Daemon::open({*host->clock_, *host->driver_, *host->reshaper_, *host->runner_, *host->store_,
                             host->emulated(), host->options_.version, host->options_.settings.power.model,
                             host->pace(), host->state_dir_ + "/" + kPowerFitFile},
                            host->effective(settings)));
  *host->to_wake_ = host->daemon_.get();
  DaemonService::Facts facts;
  facts.version = host->options_.version;
  facts.isolation = host->isolation_;
  facts.isolates = host->isolates_;
  if (::geteuid() != 0 && !host->options_.in_process) facts.only_uid = ::geteuid();
  if (host->options_.reread)
    facts.reload = [s = host.get()]() -> Result<Settings> {
      SMARTMIG_TRY(const Settings wanted, s->options_.reread());
      if (const auto fixed = fixed_changes(s->options_.settings, wanted); !fixed.empty())
        return busy_error("changing {} needs a restart of the daemon", fmt::join(fixed, ", "));
      return s->effective(wanted);
    };
  host->service_ = std::make_unique<DaemonService>(*host->daemon_, *host->store_, std::move(facts));
  return host;
}

DaemonHost::~DaemonHost() {
  *to_wake_ = nullptr;
  service_.reset();
  daemon_.reset();
  runner_.reset();
}

GpuAccessOptions gpu_access_of(const DaemonHostOptions& options, const std::string& state_dir) {
  GpuAccessOptions access;
  access.driver = options.settings.places.driver;
  access.state_dir = state_dir;
  access.nvml = options.nvml;
  access.like = options.like;
  access.overlap = options.settings.mps.overlap;
  access.halves = options.settings.mps.halves && options.settings.mps.overlap >= 2;
  access.adopt = options.adopt;
  access.clock = options.clock;
  access.power = options.settings.power.model == "fitted" ? "auto" : options.settings.power.model;
  access.seed = options.emulation_seed;
  return access;
}

Result<Ok> DaemonHost::open_driver() {
  GpuAccessOptions access = gpu_access_of(options_, state_dir_);
  access.nothing_runs = true;
  access.steps = RealClock::Steps::kTaken;
  for (const JobStatus status : {JobStatus::kStarting, JobStatus::kRunning, JobStatus::kStopping}) {
    StoreFind find;
    find.status = int(status);
    find.limit = 1;
    const auto rows = store_->find(find);
    access.nothing_runs &= rows && rows->empty();
  }
  SMARTMIG_TRY(GpuAccess opened, open_gpus(access));
  machine_ = std::move(opened.machine);
  clock_ = options_.wrap_clock ? options_.wrap_clock(std::move(opened.clock)) : std::move(opened.clock);
  driver_ = std::move(opened.driver);
  return Ok{};
}

Result<Ok> DaemonHost::open_runner() {
  if (options_.in_process) {
    if (!machine_) return invalid("--without-processes needs emulated GPUs");
    runner_ = std::make_unique<InProcessRunner>(*clock_, machine_->sim());
    return Ok{};
  }
  ProcessRunnerOptions options;
  options.spool = state_dir_ + "/spool";
  options.memory = state_dir_ + "/memory";
  SMARTMIG_RETURN_IF_ERROR(make_directories(options.memory));
  if (::geteuid() == 0) {  // jobs of other users pass through the state directory, and list nothing in it
    std::error_code failed;
    for (const std::string& passed : {state_dir_, options.memory})
      fs::permissions(passed, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec,
                      passed == state_dir_ ? fs::perm_options::add : fs::perm_options::replace, failed);
    if (failed) return io_error("cannot make {} accessible to jobs: {}", state_dir_, failed.message());
  }
  if (machine_) {
    options.sim_library = machine_->library();
    options.sim_state = machine_->directory();
  }
  options.log_segment_bytes = std::uint64_t(options_.settings.logs.max_mib) * (1u << 20) / 2;
  options.shims = find_shims();
  options.on_exit = [clock = clock_] { clock->wake(); };
  if (clock_->is_virtual()) options.starters = 0;  // its time would go on meanwhile
  SMARTMIG_TRY(auto runner, ProcessRunner::open(std::move(options)));
  isolation_ = runner->isolation();
  isolates_ = runner->isolates();
  runner_ = std::move(runner);
  return Ok{};
}

Settings DaemonHost::effective(Settings settings) const {
  if (settings.host.cpus <= 0) settings.host.cpus = double(::sysconf(_SC_NPROCESSORS_ONLN));
  if (settings.host.mem_mib <= 0) settings.host.mem_mib = host_memory_mib();
  // A quarter of them for jobs that wait for their slice.
  settings.prelaunch.cpus = std::max(1.0, settings.host.cpus / 4);
  settings.prelaunch.mem_mib = std::max(1, settings.host.mem_mib / 4);
  return settings;
}

DaemonPace DaemonHost::pace() const {
  DaemonPace out;
  out.decide_each_arrival = options_.decide_each_arrival;
  if (clock_->is_virtual()) out.tick = kNever;
  if (options_.tick) out.tick = *options_.tick;
  if (options_.advice) out.advice = *options_.advice;
  return out;
}

std::string DaemonHost::gpus() const {
  return fmt::format("{}{}", daemon_->state().session.platform().spec(),
                     machine_              ? " (emulated)"
                     : driver_->isolated() ? ""
                                           : " (soft slices by MPS: not isolated)");
}

}  // namespace smartmig
