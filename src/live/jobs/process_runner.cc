#include "live/jobs/process_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "live/grant_format.h"
#include "live/jobs/held_start.h"
#include "live/jobs/launch_block.h"
#include "live/jobs/origin_file.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

struct Descriptor {
  int fd = -1;
  ~Descriptor() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  int release() { return std::exchange(fd, -1); }
};

constexpr int kReadAgainMs = 500;
constexpr int kMostLooks = 5000;  // at an attempt that ends just then, 1 ms apart

int open_pidfd(int pid) { return int(::syscall(SYS_pidfd_open, pid, 0u)); }

UnixTime wall_now() {
  return UnixTime(std::chrono::duration_cast<Time>(std::chrono::system_clock::now().time_since_epoch()));
}

Time steady_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Time(now.tv_sec * std::int64_t(1'000'000) + now.tv_nsec / 1000);
}

std::string attempt_title(AttemptId id) { return fmt::format("attempt {} of job {}", id.attempt, id.job); }

// The supervisor as a new session with the three descriptors it expects, an environment of its own and no signal
// blocked or ignored.
Result<pid_t> spawn_supervisor(const std::string& program, AttemptId id, int report, int block, int directory) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // Through numbers that nobody else has, for a source may be another's target.
  const int from[] = {report, block, directory}, to[] = {kReportFd, kBlockFd, kDirectoryFd};
  Descriptor high[3];
  for (int i = 0; i < 3; ++i) {
    high[i].fd = ::fcntl(from[i], F_DUPFD_CLOEXEC, 10);
    ::posix_spawn_file_actions_adddup2(&actions, high[i].fd, to[i]);
  }
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::string name = "smartmig-supervisor", job = std::to_string(id.job), attempt = std::to_string(id.attempt);
  char* arguments[] = {name.data(), job.data(), attempt.data(), nullptr};
  std::string path = "PATH=/usr/bin:/bin";
  char* environment[] = {path.data(), nullptr};
  pid_t pid = -1;
  const int error = high[0].fd < 0 || high[1].fd < 0 || high[2].fd < 0
                        ? EMFILE
                        : ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return io_error("cannot start the supervisor {}: {}", program, std::strerror(error));
  return pid;
}

// Nothing: it ended, or hung, without a word.
std::optional<SupervisorReport> await_report(int fd, Time patience) {
  SupervisorReport report;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd polled{fd, POLLIN, 0};
    const int ready = ::poll(&polled, 1, int(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t n = ::read(fd, &report, sizeof report);
    if (n < 0 && errno == EINTR) continue;
    if (n != ssize_t(sizeof report)) return std::nullopt;
    report.words[sizeof report.words - 1] = 0;
    return report;
  }
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

ProcessRunner::ProcessRunner(ProcessRunnerOptions options, Spool spool, Cgroups cgroups)
    : options_(std::move(options)), spool_(std::move(spool)), cgroups_(std::move(cgroups)) {}

Result<std::unique_ptr<ProcessRunner>> ProcessRunner::open(ProcessRunnerOptions options) {
  if (options.supervisor.empty()) {
    SMARTMIG_TRY(options.supervisor, find_supervisor());
  }
  if (::access(options.supervisor.c_str(), X_OK) != 0)
    return not_found("the supervisor {}: {}", options.supervisor, std::strerror(errno));
  SMARTMIG_TRY(Spool spool, Spool::open(options.spool));
  Cgroups cgroups;
  if (options.use_cgroups)
    cgroups = Cgroups::find(options.cgroup_mounts.empty() ? CgroupTree::of_this_machine()
                                                          : CgroupTree::of_this_machine(options.cgroup_mounts));
  std::unique_ptr<ProcessRunner> runner(new ProcessRunner(std::move(options), std::move(spool), std::move(cgroups)));
  runner->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  runner->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{EPOLLIN, {.u64 = 0}};
  if (runner->epoll_ < 0 || runner->wake_ < 0 || ::epoll_ctl(runner->epoll_, EPOLL_CTL_ADD, runner->wake_, &event) != 0)
    return io_error("cannot open file descriptors to watch jobs: {}", std::strerror(errno));
  if (Descriptor self{open_pidfd(::getpid())}; self.fd < 0)
    return unsupported("this kernel has no pidfd_open; running jobs needs Linux 5.3 or newer");
  runner->find_alive();
  SMARTMIG_TRY(runner->watcher_, start_thread("the ends of jobs", [r = runner.get()] { r->watch_loop(); }));
  for (int i = 0; i < runner->options_.starters; ++i) {
    SMARTMIG_TRY(std::thread starter, start_thread("the starts of jobs", [r = runner.get()] { r->start_loop(); }));
    runner->starters_.push_back(std::move(starter));
  }
  return runner;
}

void ProcessRunner::wake_watcher() const {
  const std::uint64_t one = 1;
  if (wake_ >= 0) [[maybe_unused]]
    const auto woken = ::write(wake_, &one, sizeof one);
}

ProcessRunner::~ProcessRunner() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  more_.notify_all();
  for (std::thread& starter : starters_) starter.join();  // what waits for them never ran
  wake_watcher();
  if (watcher_.joinable()) watcher_.join();
  for (const auto& [id, watched] : watched_)
    if (watched.pidfd >= 0) ::close(watched.pidfd);
  if (wake_ >= 0) ::close(wake_);
  if (epoll_ >= 0) ::close(epoll_);
}

Result<Ok> ProcessRunner::start(const Launch& launch) {
  SMARTMIG_RETURN_IF_ERROR(launch_supervisor(launch));
  if (!launch.hold) note_place(launch.device, launch.id);
  return Ok{};
}

std::optional<Result<Ok>> ProcessRunner::begin(const Launch& launch) {
  if (options_.starters <= 0) return start(launch);
  if (!launch.hold) note_place(launch.device, launch.id);
  {
    const std::lock_guard lock(mutex_);
    const bool first = beginning_.try_emplace(launch.id).second;
    SMARTMIG_CHECK(first, "{} was begun twice", attempt_title(launch.id));
    to_begin_.push_back(launch);
  }
  more_.notify_one();
  return std::nullopt;
}

bool ProcessRunner::begins_at_once() const {
  const std::lock_guard lock(mutex_);
  return options_.starters <= 0 || int(to_begin_.size()) + starting_ < options_.starters;
}

void ProcessRunner::start_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return closing_ || !to_begin_.empty(); });
    if (closing_) return;
    const Launch launch = std::move(to_begin_.front());
    to_begin_.pop_front();
    ++starting_;
    lock.unlock();
    Result<Ok> result = launch_supervisor(launch);
    lock.lock();
    --starting_;
    beginning_.at(launch.id).told = Begun{launch.id, std::move(result), steady_now()};
    lock.unlock();
    if (options_.on_exit) options_.on_exit();
    lock.lock();
  }
}

std::vector<JobRunner::Begun> ProcessRunner::begun() {
  const std::lock_guard lock(mutex_);
  std::vector<Begun> out;
  for (auto at = beginning_.begin(); at != beginning_.end();) {
    if (!at->second.told) {
      ++at;
      continue;
    }
    out.push_back(std::move(*at->second.told));
    at = beginning_.erase(at);
  }
  return out;
}

Result<Ok> ProcessRunner::launch_supervisor(const Launch& launch) {
  SMARTMIG_RETURN_IF_ERROR(check(launch));
  SMARTMIG_RETURN_IF_ERROR(spool_.make(launch.id));
  const std::string directory = spool_.directory(launch.id);
  const auto give_up = [&](Error error) {
    forget_memory(launch.id);
    spool_.remove(launch.id);
    return error;
  };
  std::string like;
  if (launch.shared != 0) {
    const std::lock_guard lock(mutex_);
    if (launch.shared == noted_.shared) like = noted_.directory;
  }
  if (const auto noted = note_launch(directory, launch.spec, like); !noted) return give_up(noted.error());
  {
    const std::lock_guard lock(mutex_);
    noted_ = {launch.shared, directory};
  }
  if (const auto noted = note_origin(directory, launch); !noted) return give_up(noted.error());
  const Descriptor place{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  if (place.fd < 0) return give_up(io_error("cannot open {}: {}", directory, std::strerror(errno)));
  auto reporting = preload_environment(launch);
  if (!reporting) return give_up(reporting.error());
  Launch whole = launch;
  for (auto& variable : *reporting) whole.slice.push_back(std::move(variable));
  auto made = launch_block(whole, directory);
  if (!made) return give_up(made.error());
  const Descriptor block{*made};
  // Given back for its pidfd: an attempt that has begun must be watched.
  Descriptor reserve{::fcntl(place.fd, F_DUPFD_CLOEXEC, 3)};
  if (reserve.fd < 0)
    return give_up(
        io_error("cannot open a file descriptor to watch {}: {}", attempt_title(launch.id), std::strerror(errno)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return give_up(io_error("cannot open a pipe to a supervisor: {}", std::strerror(errno)));
  Descriptor read_end{ends[0]}, write_end{ends[1]};
  const auto pid = spawn_supervisor(options_.supervisor, launch.id, write_end.fd, block.fd, place.fd);
  if (!pid) return give_up(pid.error());
  write_end.close();
  const auto report = await_report(read_end.fd, Time(30'000'000));
  if (!report || report->what != SupervisorReport::kStarted) {
    ::kill(*pid, SIGKILL);
    if (report && report->what == SupervisorReport::kExists) {
      reap(*pid);
      return busy_error("another process is starting {}: {}", attempt_title(launch.id), report->words);
    }
    // Whatever it came to, the record decides: with one the attempt was begun and will be reported as ended.
    auto found = spool_.look(launch.id);
    if (!found || found->state == Spool::kNeverRan) {
      reap(*pid);
      if (!found) return found.error();
      return io_error("{} was not started: {}", attempt_title(launch.id),
                      report ? report->words : "its supervisor ended without a message");
    }
  }
  reserve.close();
  read_end.close();
  Descriptor pidfd{open_pidfd(*pid)};
  if (pidfd.fd >= 0 && watch(launch.id, pidfd.release(), true)) return Ok{};
  // Nobody would hear of its end: it ends here, and that is told. It has begun, so this is no failure to start.
  ::kill(*pid, SIGKILL);
  reap(*pid);
  auto record = spool_.read_record(launch.id);
  const std::lock_guard lock(mutex_);
  if (record) {
    AttemptExit exit = ending_of_abandoned(launch.id, *record);
    exit.words = fmt::format("no descriptor was left to watch {}", attempt_title(launch.id));
    ended_.push_back(std::move(exit));
  } else {
    watched_[launch.id] = {launch.id};
    unread_.push_back({launch.id});
    wake_watcher();
  }
  return Ok{};
}

Result<Ok> ProcessRunner::watch(AttemptId id, int pidfd, bool child) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = next_key_++;
  epoll_event event{EPOLLIN | EPOLLONESHOT, {.u64 = key}};
  watched_[id] = {id, pidfd, child, false};
  keys_[key] = id;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, pidfd, &event) == 0) {
    if (const auto at = beginning_.find(id); at != beginning_.end() && at->second.order)
      (void)send(watched_[id], *at->second.order);
    return Ok{};
  }
  const int error = errno;
  keys_.erase(key);
  watched_.erase(id);
  ::close(pidfd);
  return io_error("cannot watch {}: {}", attempt_title(id), std::strerror(error));
}

void ProcessRunner::watch_loop() {
  while (!closing_) {
    epoll_event events[64];
    bool doubtful;
    {
      const std::lock_guard lock(mutex_);
      doubtful = !unread_.empty();
    }
    const int count = ::epoll_wait(epoll_, events, 64, doubtful ? kReadAgainMs : -1);
    std::vector<Watched> again;
    if (doubtful) {
      const std::lock_guard lock(mutex_);
      again.swap(unread_);
    }
    for (Watched& one : again) has_ended(std::move(one));
    for (int i = 0; i < count && !closing_; ++i) {
      Watched watched;
      const std::uint64_t which = events[i].data.u64;  // a packed field
      if (std::uint64_t woken; which == 0) [[maybe_unused]]
        const auto drained = ::read(wake_, &woken, sizeof woken);
      {
        const std::lock_guard lock(mutex_);
        const auto key = keys_.find(which);
        if (key == keys_.end()) continue;
        watched = watched_.at(key->second);
        keys_.erase(key);
      }
      has_ended(watched);
    }
  }
}

void ProcessRunner::has_ended(Watched watched) {
  if (watched.child) {
    siginfo_t info{};
    ::waitid(idtype_t(P_PIDFD), id_t(watched.pidfd), &info, WEXITED);
    watched.orderly = info.si_code == CLD_EXITED && info.si_status == kLeftNothing;
    watched.child = false;
  }
  auto exit = ending_of(watched);
  {
    const std::lock_guard lock(mutex_);
    if (exit) {
      watched_.erase(watched.id);
      if (watched.orderly) left_nothing_.push_back(watched.id);
      ended_.push_back(std::move(*exit));
      if (unread_.empty()) trouble_.clear();
    } else {
      trouble_ = fmt::format("{} has ended, but its exit status cannot be read yet: {}; smartmig tries again",
                             attempt_title(watched.id), exit.error().what);
      unread_.push_back(watched);
    }
  }
  if (exit && watched.pidfd >= 0) ::close(watched.pidfd);
  if (options_.on_exit) options_.on_exit();
}

// An error: it cannot be read at the moment, so nothing is known.
Result<AttemptExit> ProcessRunner::ending_of(const Watched& watched) {
  auto written = spool_.read_exit(watched.id);
  if (!written && written.error().code == Error::kIo) return written.error();
  const auto record = spool_.read_record(watched.id);
  if (!record && record.error().code == Error::kIo) return record.error();
  if (written && *written) {
    if (!watched.orderly && record) {
      kill_cgroups(record->cgroups);
      kill_by_token({record->token});
    }
    return std::move(**written);
  }
  if (record) return ending_of_abandoned(watched.id, *record);
  AttemptExit exit;
  exit.id = watched.id;
  exit.ended = exit.started = wall_now();
  exit.words = fmt::format("its files in the spool are gone: {}", record.error().what);
  return exit;
}

std::string ProcessRunner::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

// No supervisor and no exit: what is left of the job is killed, and how it would have ended stays unknown.
AttemptExit ProcessRunner::ending_of_abandoned(AttemptId id, const AttemptRecord& record) {
  AttemptExit exit;
  exit.id = id;
  const bool same_boot = record.boot_id == this_boot();
  if (same_boot) {
    kill_cgroups(record.cgroups);
    kill_by_token({record.token});
  }
  struct stat entry {};
  exit.ended = wall_now();
  exit.started = exit.ended;
  if (::stat((spool_.directory(id) + "/record").c_str(), &entry) == 0)
    exit.started = from_unix_us(entry.st_mtim.tv_sec * std::int64_t(1'000'000) + entry.st_mtim.tv_nsec / 1000);
  exit.words =
      same_boot ? "its supervisor was killed, and then the rest of the job" : "the machine restarted while it ran";
  exit.signal = same_boot ? SIGKILL : 0;
  [[maybe_unused]] const auto kept = spool_.write_exit(exit);  // else found out again next time
  return exit;
}

Result<Ok> ProcessRunner::stop(AttemptId id, int first_signal, Time grace, StopReason why) {
  const std::lock_guard lock(mutex_);  // keeps the pidfd open while it is used
  const Order order{first_signal, grace, why};
  if (const auto watched = watched_.find(id); watched != watched_.end()) return send(watched->second, order);
  const auto beginning = beginning_.find(id);
  if (beginning == beginning_.end()) return not_found("{} is not running", attempt_title(id));
  beginning->second.order = order;
  return Ok{};
}

Result<Ok> ProcessRunner::send(const Watched& watched, const Order& order) const {
  siginfo_t info{};
  info.si_signo = kStopSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr =
      reinterpret_cast<void*>(stop_payload(order.first_signal, order.grace.count(), std::uint8_t(order.why)));
  if (::syscall(SYS_pidfd_send_signal, watched.pidfd, kStopSignal, &info, 0u) == 0 || errno == ESRCH)
    return Ok{};  // ESRCH: it has ended just now, and its exit is on its way
  return io_error("cannot ask the supervisor of {} to stop it: {}", attempt_title(watched.id), std::strerror(errno));
}

// A supervisor of before knows these as a stop: its kill would come in a lifetime.
Result<Ok> ProcessRunner::suspend(AttemptId id, bool on) {
  return stop(id, on ? SIGSTOP : SIGCONT, std::chrono::hours(24 * 365 * 30));
}

Result<JobRunner::Found> ProcessRunner::recover(const std::vector<AttemptId>& expected) {
  Found found;
  std::vector<std::string> tokens;  // of ended ones whose supervisor may have been killed before it had cleaned up
  for (const AttemptId id : expected) {
    {
      const std::lock_guard lock(mutex_);
      if (watched_.count(id) > 0) {
        found.running.push_back(id);
        continue;
      }
    }
    int rounds = 0;
    for (bool again = true; again;) {
      again = false;
      if (++rounds > kMostLooks) return io_error("cannot examine {}; try again", attempt_title(id));
      SMARTMIG_TRY(Spool::Look look, spool_.look(id));
      if (look.state == Spool::kAbandoned) {
        found.ended.push_back(ending_of_abandoned(id, look.record));
      } else if (look.state == Spool::kEnded) {
        if (look.record.boot_id == this_boot()) {
          kill_cgroups(look.record.cgroups);
          tokens.push_back(look.record.token);
        }
        if (look.record.boot_id != this_boot()) look.exit->ended_steady.reset();
        found.ended.push_back(std::move(*look.exit));
      } else if (look.state == Spool::kRunning) {
        Descriptor pidfd{open_pidfd(look.record.pid)};
        if (pidfd.fd < 0 && errno != ESRCH)
          return io_error("cannot open a file descriptor to watch {}: {}", attempt_title(id), std::strerror(errno));
        // The descriptor is of the recorded process only if that pid still began when the record says.
        if (pidfd.fd < 0 || look.record.boot_id != this_boot() ||
            start_ticks_of(look.record.pid) != look.record.start_ticks) {
          ::usleep(1000);
          again = true;  // it ended between the two looks
          continue;
        }
        SMARTMIG_RETURN_IF_ERROR(watch(id, pidfd.release(), false));
        if (const auto origin = read_origin(spool_.directory(id))) note_place(origin->device, id);
        found.running.push_back(id);
      }
    }
  }
  kill_by_token(tokens);
  return found;
}

std::vector<AttemptExit> ProcessRunner::poll() {
  const std::lock_guard lock(mutex_);
  std::vector<AttemptExit> out;
  std::erase_if(ended_, [&](AttemptExit& exit) {
    if (beginning_.contains(exit.id)) return false;
    out.push_back(std::move(exit));
    return true;
  });
  return out;
}

std::size_t ProcessRunner::watched() const {
  const std::lock_guard lock(mutex_);
  return watched_.size();
}

std::string ProcessRunner::log_path(AttemptId id) const {
  const std::string path = spool_.directory(id) + "/log";
  return ::access(path.c_str(), F_OK) == 0 ? path : "";
}

std::uint64_t ProcessRunner::last_job() const {
  std::uint64_t last = 0;
  for (const std::uint64_t job : spool_.jobs()) last = std::max(last, job);
  return last;
}

std::vector<JobRunner::Left> ProcessRunner::left(const std::function<bool(std::uint64_t job)>& wanted) const {
  std::vector<Left> out;
  for (const std::uint64_t job : spool_.jobs()) {
    if (!wanted(job)) continue;
    const std::vector<AttemptId> attempts = spool_.attempts(job);
    if (attempts.empty()) continue;
    const AttemptId last = *std::max_element(attempts.begin(), attempts.end());
    out.push_back({last, read_origin(spool_.directory(last))});
  }
  std::sort(out.begin(), out.end(), [](const Left& a, const Left& b) { return a.id < b.id; });
  return out;
}

void ProcessRunner::forget(std::uint64_t job) {
  for (const AttemptId id : spool_.attempts(job)) {
    {
      const std::lock_guard lock(mutex_);
      if (watched_.count(id) > 0 || beginning_.count(id) > 0) continue;
    }
    forget_memory(id);
    spool_.remove(id);
  }
}

// The limits of its slice first, then the grant in the spool, by which every daemon knows that it has its slice, last
// the copy for the job: from then on it may be on the device. Memory limits of a pair are raised in one order and lowered
// in the other, so what is refused is written again.
Result<Ok> ProcessRunner::grant(const Launch& launch) {
  {
    const std::lock_guard lock(mutex_);
    if (watched_.count(launch.id) == 0) return not_found("{} does not run", attempt_title(launch.id));
  }
  const std::string own = spool_.directory(launch.id), kept = own + "/" SMARTMIG_GRANT;
  if (!granted(launch.id)) {
    SMARTMIG_TRY(const AttemptRecord record, spool_.read_record(launch.id));
    const CgroupPlan plan = cgroups_.plan(record.token, limits_of(launch));
    for (int round = 0; round < 2; ++round)
      for (const auto& [file, text] : plan.settings)
        if (!file.ends_with("/devices.deny")) write_cgroup_file(file, text);
    SMARTMIG_RETURN_IF_ERROR(cgroups_.fence(plan, limits_of(launch)));
    Launch noted = launch;
    noted.hold = true;  // as it began
    SMARTMIG_RETURN_IF_ERROR(note_origin(own, noted));
    SMARTMIG_RETURN_IF_ERROR(note_grant_time(own));
    SMARTMIG_RETURN_IF_ERROR(write_grant(own, grant_text(launch.slice)));
  }
  SMARTMIG_TRY(const std::string text, read_file(kept));
  if (const auto told = write_grant(memory_directory(launch.id), text); !told) {
    ::unlink(kept.c_str());  // it has no slice
    return told.error();
  }
  note_place(launch.device, launch.id);
  return stop(launch.id, SIGCONT, launch.spec.time_limit.value_or(Time{0}));
}

std::optional<UnixTime> ProcessRunner::granted(AttemptId id) const { return grant_time(spool_.directory(id)); }

}  // namespace smartmig
