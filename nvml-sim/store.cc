#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "board.h"
#include "machine_init.h"

namespace smartmig::nvsim {
namespace {

constexpr char kMagic[16] = "smartmig-nvml-4";

std::string boot_id() {
  const auto text = read_file("/proc/sys/kernel/random/boot_id");
  return text ? std::string(trim(*text)) : std::string();
}

void init_mutex(Header& header) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&header.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

Result<Ok> fill(Shared& shared, const MachineSpec& spec) {
  Header& header = *new (&shared.header) Header();
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = sizeof(Shared);
  SMARTMIG_TRY(header.clock_mode, clock_mode_named(spec.clock));
  header.require_root = spec.require_root;
  boot_id().copy(header.boot_id, sizeof header.boot_id - 1);
  header.epoch_us = host_now_us();
  init_mutex(header);
  for (State& copy : shared.copies) new (&copy) State();
  return fill_state(shared.copies[0], spec);
}

// Other users' jobs register on a machine of root's; nobody else has any business with a user's own.
mode_t state_mode() { return ::geteuid() == 0 ? 0666 : 0600; }

template <std::size_t N>
bool ends_within(const char (&text)[N]) {
  return ::strnlen(text, N) < N;
}

// Whether what the others rely on holds: somebody may have written into the file.
bool makes_sense(const Shared& shared) {
  const std::uint32_t active = shared.header.active.load(std::memory_order_acquire);
  if (active > 1 || shared.header.clock_mode > 2 || !ends_within(shared.header.boot_id)) return false;
  const State& state = shared.copies[active];
  if (state.gpu_count < 0 || state.gpu_count > kMaxGpus) return false;
  for (int g = 0; g < state.gpu_count; ++g) {
    const Gpu& gpu = state.gpus[g];
    if (!ends_within(gpu.model) || !ends_within(gpu.power)) return false;
    const auto board = Board::named(gpu.model, gpu.power);
    if (!board) return false;
    const int profiles = int((*board)->model().profiles().size()), slices = (*board)->model().memory_slices();
    for (const GpuInstance& one : gpu.gpu_instances)
      if (one.generation != 0 && (one.profile < 0 || one.profile >= profiles || one.start < 0 || one.start >= slices))
        return false;
  }
  for (const Process& process : state.processes)
    if (process.owner.pid != 0 && (process.gpu < 0 || process.gpu >= state.gpu_count || !ends_within(process.kind)))
      return false;
  for (const Holder& holder : state.holders)
    if (holder.owner.pid != 0 && (holder.gpu < 0 || holder.gpu >= state.gpu_count)) return false;
  return true;
}

std::string path_of(const std::string& directory) { return directory + "/state"; }

}  // namespace

Result<Ok> Store::create(const std::string& directory, const MachineSpec& spec, bool replace) {
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    return io_error("{}: cannot make the directory: {}", directory, std::strerror(errno));
  const std::string path = path_of(directory), temporary = fmt::format("{}.{}.{}", path, ::getpid(), thread_id());
  if (!replace && ::access(path.c_str(), F_OK) == 0) return Ok{};
  const int fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, state_mode());
  if (fd < 0) return io_error("{}: cannot be made: {}", temporary, std::strerror(errno));
  const auto finish = [&]() -> Result<Ok> {
    if (::fchmod(fd, state_mode()) != 0 || ::ftruncate(fd, sizeof(Shared)) != 0)
      return io_error("{}: cannot be made {} bytes long: {}", temporary, sizeof(Shared), std::strerror(errno));
    void* map = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return io_error("{}: cannot be mapped: {}", temporary, std::strerror(errno));
    auto filled = fill(*static_cast<Shared*>(map), spec);
    ::munmap(map, sizeof(Shared));
    if (!filled) return filled;
    const bool placed = replace ? ::rename(temporary.c_str(), path.c_str()) == 0
                                : ::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST;
    if (!placed) return io_error("{}: cannot be made: {}", path, std::strerror(errno));
    return Ok{};
  };
  auto result = finish();
  ::close(fd);
  ::unlink(temporary.c_str());
  if (result) make_device_files(directory);
  return result;
}

Result<std::shared_ptr<Store>> Store::open(const std::string& directory) {
  const std::string path = path_of(directory);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return not_found("{}: cannot be opened: {}; make it with nvml-sim-ctl init {} --gpus 8xa100-40gb", path,
                     std::strerror(errno), directory);
  struct stat about {};
  ::fstat(fd, &about);
  void* map = about.st_size == off_t(sizeof(Shared))
                  ? ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
  ::close(fd);
  if (map == MAP_FAILED)
    return invalid("{} is not a machine of this version ({} bytes, {} expected): remove {} and make it again", path,
                   about.st_size, sizeof(Shared), directory);
  auto* shared = static_cast<Shared*>(map);
  if (std::memcmp(shared->header.magic, kMagic, sizeof kMagic) != 0 || shared->header.bytes != sizeof(Shared)) {
    ::munmap(map, sizeof(Shared));
    return invalid("{} is not a machine of this version: remove {} and make it again", path, directory);
  }
  if (boot_id() != shared->header.boot_id) {
    ::munmap(map, sizeof(Shared));
    return invalid("{} is from before the last start of this host, and instances do not survive that: remove {}", path,
                   directory);
  }
  if (!makes_sense(*shared)) {
    ::munmap(map, sizeof(Shared));
    return invalid("{} is damaged: remove {} and make it again", path, directory);
  }
  return std::shared_ptr<Store>(new Store(directory, shared));
}

Result<Ok> Store::remove_of_earlier_boot(const std::string& directory) {
  const std::string path = path_of(directory);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Ok{};
  Header header;
  const bool whole = ::pread(fd, static_cast<void*>(&header), sizeof header, 0) == ssize_t(sizeof header);
  ::close(fd);
  const std::string_view magic(kMagic);
  const bool ours = whole && std::memcmp(header.magic, kMagic, magic.find_last_of('-')) == 0;  // of any version
  if (!ours || boot_id() == std::string_view(header.boot_id, ::strnlen(header.boot_id, sizeof header.boot_id)))
    return Ok{};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return io_error("{} is from before the last start of this host and cannot be removed: {}", path,
                    std::strerror(errno));
  return Ok{};
}

Result<std::shared_ptr<Store>> Store::make_private(const MachineSpec& spec) {
  void* map = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return io_error("no memory for an emulated machine: {}", std::strerror(errno));
  std::shared_ptr<Store> store(new Store("", static_cast<Shared*>(map)));
  SMARTMIG_RETURN_IF_ERROR(fill(*store->shared_, spec));
  return store;
}

Store::~Store() { ::munmap(shared_, sizeof(Shared)); }

Store::Lock::Lock(Store& store) : store_(store) {
  const int status = ::pthread_mutex_lock(&store.header().mutex);
  // The owner died: whatever it was doing was on the spare copy, so the present one is whole.
  if (status == EOWNERDEAD) ::pthread_mutex_consistent(&store.header().mutex);
  SMARTMIG_CHECK(status == 0 || status == EOWNERDEAD, "the machine's lock fails: {}", std::strerror(status));
}
Store::Lock::~Lock() { ::pthread_mutex_unlock(&store_.header().mutex); }

std::uint64_t Store::now() const {
  const Header& header = shared_->header;
  if (header.clock_mode == 2) return header.virtual_now.load(std::memory_order_acquire);
  return host_now_us() - header.epoch_us;
}

void Store::read(const std::function<void(const State&)>& look) {
  const Lock lock(*this);
  look(shared_->copies[shared_->header.active.load(std::memory_order_acquire)]);
}

bool Store::change(const std::function<bool(State&)>& edit) {
  {
    const Lock lock(*this);
    const std::uint32_t active = shared_->header.active.load(std::memory_order_acquire);
    State& spare = shared_->copies[1 - active];
    std::memcpy(static_cast<void*>(&spare), &shared_->copies[active], sizeof(State));
    crash_point();
    if (!edit(spare)) return false;
    crash_point();
    shared_->header.active.store(1 - active, std::memory_order_release);
    crash_point();
  }
  ring();
  return true;
}

void Store::ring() {
  shared_->header.bell.fetch_add(1, std::memory_order_acq_rel);
  futex_wake(&shared_->header.bell);
}

void Store::wait(std::uint32_t bell, std::uint64_t timeout_us) { futex_wait(&shared_->header.bell, bell, timeout_us); }

void futex_wait(const void* word, std::uint32_t value, std::uint64_t timeout_us) {
  const timespec timeout{time_t(timeout_us / 1000000), long(timeout_us % 1000000 * 1000)};
  ::syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}
void futex_wake(const void* word) { ::syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0); }

namespace {

struct Stat {
  char state = 0;
  int parent = 0;
  std::uint64_t started = 0;
};

bool read_stat(int pid, Stat& stat) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024];
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  const char* after_name = std::strrchr(text, ')');  // the name may contain spaces and brackets
  if (!after_name) return false;
  unsigned long long started = 0;
  if (std::sscanf(after_name + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &stat.state, &stat.parent, &started) != 3)
    return false;
  stat.started = started;
  return true;
}

}  // namespace

Owner owner_of(int pid) {
  Stat stat;
  if (pid <= 0 || !read_stat(pid, stat)) return {};
  Owner owner;
  owner.pid = pid;
  owner.started = stat.started;
  return owner;
}

Owner self() {
  static thread_local Owner cached;
  if (cached.pid != ::getpid()) cached = owner_of(::getpid());
  return cached;
}

bool alive(const Owner& owner) {
  Stat stat;
  return owner.pid > 0 && read_stat(owner.pid, stat) && stat.started == owner.started && stat.state != 'Z' &&
         stat.state != 'X';
}

int parent_of(int pid) {
  Stat stat;
  return read_stat(pid, stat) ? stat.parent : 0;
}

std::uint64_t host_now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::uint64_t(now.tv_sec) * 1000000 + std::uint64_t(now.tv_nsec) / 1000;
}

int thread_id() { return int(::syscall(SYS_gettid)); }

void crash_point() {
  static std::atomic<int> read_by{0};
  static std::atomic<long> left{-1};
  if (read_by.load() != ::getpid()) {  // a forked child counts its own
    const char* at = std::getenv("NVML_SIM_CRASH_AT");
    left = at ? std::atol(at) : -1;
    read_by = ::getpid();
  }
  if (left.load() >= 0 && left.fetch_sub(1) == 1) ::raise(SIGKILL);
}

}  // namespace smartmig::nvsim
