#include "serve/gpus/memory_watch.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "live/gpu/memory_size.h"
#include "live/jobs/oom_words.h"
#include "live/kernel_text.h"
#include "model/speed.h"
#include "queue/belief/belief.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostProcesses = 4;

std::string_view value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& one : environment)
    if (one.size() > name.size() && one.compare(0, name.size(), name) == 0 && one[name.size()] == '=')
      return std::string_view(one).substr(name.size() + 1);
  return {};
}

}  // namespace

AllocatorFamily allocator_of(std::string_view libraries, const std::vector<std::string>& environment) {
  const auto loaded = [&](std::string_view name) { return libraries.find(name) != libraries.npos; };
  const auto says = [&](std::string_view name, std::string_view what) {
    return value_in(environment, name).find(what) != std::string_view::npos;
  };
  if (loaded("libc10_cuda") || loaded("libtorch_cuda")) {
    bool plain = !value_in(environment, "PYTORCH_NO_CUDA_MEMORY_CACHING").empty();
    for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
      plain |= says(name, "expandable_segments:True") || says(name, "cudaMallocAsync");
    return plain ? AllocatorFamily::kPlain : AllocatorFamily::kCaching;
  }
  if (loaded("xla_extension") || loaded("jax_cuda") || loaded("xla_cuda_plugin"))
    return says("XLA_PYTHON_CLIENT_PREALLOCATE", "false") ? AllocatorFamily::kDoubling : AllocatorFamily::kReserved;
  if (loaded("libtensorflow"))
    return says("TF_FORCE_GPU_ALLOW_GROWTH", "true") ? AllocatorFamily::kDoubling : AllocatorFamily::kReserved;
  return loaded("libcuda.so") || loaded("libcudart") ? AllocatorFamily::kPlain : AllocatorFamily::kUnknown;
}

AllocatorFamily allocator_of_processes(const std::vector<std::uint32_t>& pids) {
  std::string all;
  std::vector<std::string> environment;
  for (std::size_t i = 0; i < pids.size() && i < kMostProcesses; ++i) {
    all += text_of_kernel(fmt::format("/proc/{}/maps", pids[i]));
    std::ifstream variables(fmt::format("/proc/{}/environ", pids[i]));
    for (std::string one; std::getline(variables, one, '\0');) environment.push_back(std::move(one));
  }
  return allocator_of(all, environment);
}

namespace {

constexpr int kContextMib = 512;  // of a process that was never sampled
constexpr std::size_t kLogTail = 64 * 1024;
constexpr int kFewestForPast = 3;  // samples
constexpr double kFull = 0.98;     // of a slice's memory

int to_mib(std::int64_t bytes) {
  return int(std::clamp<std::int64_t>((bytes + (1 << 20) - 1) >> 20, 0, kMaxMemoryMib));
}

bool raise_to(int& value, int at_least) {
  if (at_least <= value) return false;
  value = at_least;
  return true;
}

// The most that its tensors held by what it has said so far; -1: no framework has told.
int tensors_of(const std::optional<JobMemory>& told) {
  return told && told->tensors_peak_bytes > 0 ? to_mib(told->tensors_peak_bytes) : -1;
}
bool asked_cuda(const std::optional<JobMemory>& told) { return told && told->processes > 0; }

std::string end_of(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = std::size_t(file.tellg());
  std::string text(std::min(size, most), '\0');
  file.seekg(std::streamoff(size - text.size()));
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(std::size_t(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// Where a part of the log has just begun, the words may lie in the one before, or across the seam.
std::string tail_of(const std::string& path) {
  if (path.empty()) return {};
  const std::string last = end_of(path, kLogTail);
  return last.size() < kLogTail ? end_of(path + ".1", kLogTail - last.size()) + last : last;
}

}  // namespace

EarlyRestart early_restart_named(std::string_view name) {
  if (name == "line") return EarlyRestart::kLine;
  if (name == "off") return EarlyRestart::kOff;
  SMARTMIG_CHECK(name == "projection", "early restart '{}'", name);
  return EarlyRestart::kProjection;
}

std::optional<JobMemory> MemoryWatch::reports_of(const JobRecord& job) const {
  return job.spec.exact_memory.value_or(false) ? runner_.memory_of(attempt_of(job)) : std::nullopt;
}

bool MemoryWatch::saw(JobRecord& job, int used_mib) {
  int highest = used_mib;
  const auto told = reports_of(job);
  if (asked_cuda(told) && used_mib > 0) {
    contexts_mib_[job.id] = std::max(0, used_mib - to_mib(told->now_bytes));
    highest += to_mib(told->peak_bytes - told->now_bytes);  // between two samples
  }
  const bool held_more = raise_to(job.memory.tensors_mib, tensors_of(told));
  return raise_to(job.memory.peak_mib, std::max(highest, tensors_of(told))) || held_more;
}

MemoryWatch::Watched& MemoryWatch::watched(const JobRecord& job) {
  const auto [at, fresh] = watched_.try_emplace(job.id);
  if (fresh) {
    at->second.log.set_command(job.spec.command);
    if (earlier_)
      for (const PastWork& run : earlier_(job)) at->second.work.remember(run);
  }
  return at->second;
}

WorkSample MemoryWatch::sample(const JobRecord& job, int used_mib, double elapsed_s) {
  Watched& one = watched(job);
  WorkSample out;
  out.at_s = elapsed_s;
  out.device_mib = used_mib;
  const auto told = reports_of(job);
  if (asked_cuda(told) && told->peak_bytes > one.peak_bytes) {
    one.peak_bytes = told->peak_bytes;  // a new peak, perhaps between two samples
    out.device_mib += to_mib(told->peak_bytes - told->now_bytes);
  }
  raise_to(one.tensors_mib, tensors_of(told));
  out.held_peak_mib = one.tensors_mib;
  out.take(one.log.read(runner_.log_path(attempt_of(job))));
  return out;
}

std::optional<MemoryWatch::Early> MemoryWatch::project(const JobRecord& job, int used_mib, double elapsed_s,
                                                       double total_s, int limit_mib, int largest_mib, EarlyRestart how,
                                                       const std::vector<std::uint32_t>& pids) {
  Watched& one = watched(job);
  if (!one.allocator_known && !pids.empty()) {
    one.allocator_known = true;
    one.work.set_allocator(allocator_of_processes(pids));
  }
  one.line.add(elapsed_s, used_mib);
  if (used_mib > 0) one.work.add(sample(job, used_mib, elapsed_s));
  if (how == EarlyRestart::kOff || !job.spec.may_grow()) return std::nullopt;
  if (limit_mib <= 0 || limit_mib >= largest_mib || used_mib <= 0 || job.stop_reason != StopReason::kNone)
    return std::nullopt;
  // Who declared a size and may not be stopped is left alone: it ends as it ends.
  if (job.spec.mem_mib && !job.spec.preemptible()) return std::nullopt;
  // A kind whose memory is on record and fits is believed until it takes more.
  if (const auto known = SpeedTable::builtin().mem_mib(job.spec.kind);
      known && *known <= limit_mib && used_mib <= *known)
    return std::nullopt;
  RestartCosts costs;
  costs.restart_s = seconds(restart_time(job.spec));
  costs.lost_if_restarted = job.spec.checkpoint_signal ? 0 : elapsed_s;
  costs.lost_if_failed = elapsed_s;
  const RestartVerdict verdict = how == EarlyRestart::kLine ? one.line.line_verdict(limit_mib, total_s)
                                                            : one.work.verdict(limit_mib, total_s, costs);
  if (!verdict.restart) return std::nullopt;
  return Early{std::clamp(int(verdict.needs_mib), limit_mib + 1, largest_mib),
               fmt::format("early restart: {} MiB of {} MiB after {:.0f} s, about {:.0f} MiB projected ({:.0f} % sure "
                           "to pass the slice's memory in about {:.0f} s)",
                           used_mib, limit_mib, elapsed_s, verdict.needs_mib, 100 * verdict.passing.probability,
                           verdict.passing.after_s)};
}

std::optional<MemoryWatch::Shortage> MemoryWatch::shortage(const JobRecord& job, const AttemptExit& exit, int limit_mib,
                                                           const std::vector<std::string>& patterns) const {
  if (exit.code == 0 || exit.never_started) return std::nullopt;
  if (const auto told = reports_of(job); asked_cuda(told) && told->needed_bytes > 0) {
    const auto beside = contexts_mib_.find(job.id);
    const int context = beside == contexts_mib_.end() ? kContextMib : beside->second;
    const int needed = to_mib(told->needed_bytes) + context;
    return Shortage{needed, true,
                    fmt::format("its requests came to {} MiB, {} MiB of it for the CUDA context", needed, context)};
  }
  const std::string tail = tail_of(runner_.log_path(exit.id));
  const auto in_log = [&](const std::string& pattern) { return tail.find(pattern) != tail.npos; };
  if (!exit.gpu_oom && std::none_of(patterns.begin(), patterns.end(), in_log)) {
    const int signal = exit.signal != 0 ? exit.signal : std::max(0, exit.code - 128);  // as shells tell it
    // SIGKILL may as well be somebody's wish: only a job that may be run again is. Other signals tell of other faults.
    const bool abrupt = signal == SIGABRT || (signal == SIGKILL && job.spec.preemptible());
    if (limit_mib <= 0 || !abrupt || job.memory.peak_mib < kFull * limit_mib) return std::nullopt;
    return Shortage{0, false,
                    fmt::format("it held {} MiB of {} MiB when last seen and died of signal {}", job.memory.peak_mib,
                                limit_mib, signal)};
  }
  const int asked = refused_request_mib(tail);
  if (asked == 0 && job.memory.peak_mib <= 0) return Shortage{};
  if (asked == 0) return Shortage{0, false, fmt::format("it held {} MiB when last seen", job.memory.peak_mib)};
  if (job.memory.peak_mib <= 0) return Shortage{asked, false, fmt::format("it requested {} MiB", asked)};
  return Shortage{job.memory.peak_mib + asked, false,
                  fmt::format("it held {} MiB when last seen and requested {} MiB more", job.memory.peak_mib, asked)};
}

int MemoryWatch::after_failure(const JobRecord& job, int had_mib, const Shortage& shortage, int largest_mib) const {
  double wants = std::max(had_mib + 1, shortage.needed_mib);
  if (const auto at = watched_.find(job.id); !shortage.certain && at != watched_.end())
    wants = std::max(wants, at->second.work.needs(had_mib, 0));
  return std::clamp(int(wants), had_mib + 1, std::max(had_mib + 1, largest_mib));
}

std::optional<PastWork> MemoryWatch::past_of(const JobRecord& job, int limit_mib) const {
  const auto at = watched_.find(job.id);
  if (at == watched_.end() || at->second.work.samples() < kFewestForPast || limit_mib <= 0) return std::nullopt;
  return at->second.work.to_past(limit_mib);
}

void MemoryWatch::attempt_ended(JobRecord& job) const {
  const auto told = reports_of(job);
  raise_to(job.memory.tensors_mib, tensors_of(told));
  raise_to(job.memory.peak_mib, tensors_of(told));
  const auto beside = contexts_mib_.find(job.id);
  if (asked_cuda(told) && beside != contexts_mib_.end())
    raise_to(job.memory.peak_mib, to_mib(told->peak_bytes) + beside->second);
}

void MemoryWatch::forget(QueueId id) {
  watched_.erase(id);
  contexts_mib_.erase(id);
}

}  // namespace smartmig
