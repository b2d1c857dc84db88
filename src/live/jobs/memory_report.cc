#include "live/jobs/memory_report.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

#include "live/gpu/memory_size.h"
#include "live/jobs/attempt_record.h"
#include "live/jobs/memory_record.h"

namespace smartmig {
namespace {

using Record = SmartmigMemoryRecord;
static_assert(sizeof(Record) == 256);

constexpr std::uint64_t kMostBytes = std::uint64_t(kMaxMemoryMib) << 20;
constexpr std::uint64_t kMostCalls = std::uint64_t(1) << 53;

std::int64_t bytes_of(std::uint64_t value) { return std::int64_t(std::min(value, kMostBytes)); }
std::int64_t calls_of(std::uint64_t value) { return std::int64_t(std::min(value, kMostCalls)); }

class ReportDescriptor {
 public:
  explicit ReportDescriptor(int file) : file_(file) {}
  ReportDescriptor(const ReportDescriptor&) = delete;
  ReportDescriptor& operator=(const ReportDescriptor&) = delete;
  ~ReportDescriptor() {
    if (file_ >= 0) ::close(file_);
  }
  int get() const { return file_; }

 private:
  int file_;
};

// A writer that was killed half-way leaves an odd sequence for ever, so the patience has an end.
std::optional<ProcessMemory> read_record(int directory, const char* name, std::optional<std::uint32_t> owner) {
  // Without blocking: the job may have put a pipe there.
  const ReportDescriptor file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  if (about.st_size != off_t(sizeof(Record)) || (owner && about.st_uid != *owner)) return std::nullopt;
  char bytes[sizeof(Record)];
  constexpr off_t kSequence = offsetof(Record, sequence);
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::uint64_t before = 0, after = 0;
    if (::pread(file.get(), &before, sizeof(before), kSequence) != ssize_t(sizeof(before)) ||
        ::pread(file.get(), bytes, sizeof(bytes), 0) != ssize_t(sizeof(bytes)) ||
        ::pread(file.get(), &after, sizeof(after), kSequence) != ssize_t(sizeof(after)))
      return std::nullopt;
    if (before == after && before % 2 == 0) break;
  }
  return parse_memory_record({bytes, sizeof(bytes)});
}

bool is_report_name(std::string_view name, std::string_view kind) {
  if (!name.ends_with(kind)) return false;
  name.remove_suffix(kind.size());
  const auto dash = name.find('-');
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == text.npos;
  };
  return dash != name.npos && digits(name.substr(0, dash)) && digits(name.substr(dash + 1));
}

std::uint64_t own_pid_namespace() {
  struct stat about {};
  return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

std::optional<ProcessMemory> parse_memory_record(std::string_view bytes) {
  Record record;
  if (bytes.size() != sizeof(record)) return std::nullopt;
  std::memcpy(&record, bytes.data(), sizeof(record));
  const bool tensors = record.magic == SMARTMIG_HELD_MAGIC;
  if (!tensors && record.magic != SMARTMIG_MEMORY_MAGIC) return std::nullopt;
  if (record.version != SMARTMIG_MEMORY_VERSION) return std::nullopt;
  if (record.pid == 0 || record.pid > (1U << 30)) return std::nullopt;
  ProcessMemory out;
  out.tensors = tensors;
  out.pid = int(record.pid);
  out.exited = record.ended != 0;
  out.running = !out.exited;
  out.now_bytes = bytes_of(record.now);
  out.peak_bytes = std::max(bytes_of(record.peak), out.now_bytes);
  out.pid_namespace = record.pid_namespace;
  out.begun_ns = record.begun_ns;
  out.start_ticks = record.start_ticks;
  if (tensors) return out;
  out.managed_bytes = std::min(bytes_of(record.managed), out.now_bytes);
  out.allocations = calls_of(record.allocations);
  out.frees = calls_of(record.frees);
  out.failures = calls_of(record.failures);
  out.untracked = calls_of(record.untracked);
  if (out.failures > 0) {
    out.failed_bytes = bytes_of(record.failed_request);
    out.held_at_failure = bytes_of(record.held_at_failure);
    out.went_on = record.allocations > record.allocations_at_failure;
  }
  return out;
}

std::vector<ProcessMemory> read_memory_reports(const std::string& directory, std::optional<std::uint32_t> owner) {
  std::vector<ProcessMemory> out;
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> open_directory(::fdopendir(file), ::closedir);
  if (!open_directory) {
    ::close(file);
    return out;
  }
  int looked_at = 0;
  while (const dirent* entry = ::readdir(open_directory.get())) {
    if (++looked_at > 2 * kMemoryReportsAtMost || int(out.size()) == kMemoryReportsAtMost) break;
    const bool tensors = is_report_name(entry->d_name, ".held");
    if (!tensors && !is_report_name(entry->d_name, ".mem")) continue;
    if (const auto process = read_record(file, entry->d_name, owner); process && process->tensors == tensors)
      out.push_back(*process);
  }
  const auto key = [](const ProcessMemory& p) { return std::tuple(p.tensors, p.pid, p.pid_namespace, p.begun_ns); };
  const auto same_process = [](const ProcessMemory& a, const ProcessMemory& b) {
    return a.tensors == b.tensors && a.pid == b.pid && a.pid_namespace == b.pid_namespace;
  };
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const std::uint64_t here = own_pid_namespace();
  for (std::size_t i = 0; i < out.size(); ++i) {
    ProcessMemory& process = out[i];
    if (!process.running) continue;
    // The same process after an exec, or a later one of that pid: what this record holds is gone.
    if (i + 1 < out.size() && same_process(out[i + 1], process)) {
      process.running = false;
      process.exited = true;
    } else if (here != 0 && process.pid_namespace == here) {
      const auto started = start_ticks_of(process.pid);
      process.running = started && (process.start_ticks == 0 || *started == process.start_ticks);
    }
  }
  return out;
}

JobMemory sum_memory(const std::vector<ProcessMemory>& processes) {
  JobMemory out;
  // What each held at the end: nothing once it left in order.
  const auto held = [](const ProcessMemory& p) { return p.exited ? 0 : p.now_bytes; };
  std::int64_t all = 0;
  for (const ProcessMemory& process : processes)
    if (!process.tensors) all += held(process);
  for (const ProcessMemory& process : processes) {
    if (process.tensors) {
      out.tensors_bytes = std::max(out.tensors_bytes, std::int64_t(0)) + (process.running ? process.now_bytes : 0);
      out.tensors_peak_bytes = std::max(out.tensors_peak_bytes, process.peak_bytes);
      continue;
    }
    ++out.processes;
    out.failures = std::min(out.failures + process.failures, std::int64_t(kMostCalls));
    if (process.running) out.now_bytes += process.now_bytes;
    out.peak_bytes = std::max(out.peak_bytes, process.peak_bytes);
    if (process.failures > 0 && !process.went_on)
      out.needed_bytes =
          std::max(out.needed_bytes, process.held_at_failure + process.failed_bytes + (all - held(process)));
  }
  out.peak_bytes = std::max(out.peak_bytes, out.now_bytes);
  out.tensors_peak_bytes = std::max(out.tensors_peak_bytes, out.tensors_bytes);
  return out;
}

}  // namespace smartmig
