// GPU memory of what runs: seen, projected, acted upon. A job whose memory will not fit its slice is restarted early on
// a larger one when that costs less than failing later (model/memory_projection.h); one that has failed restarts on a
// larger one; memory that a dead process holds takes its slice out of service by name until it is gone.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "model/speed.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/oom_words.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

constexpr int kContextMib = 512;  // of a process that was never sampled
constexpr std::size_t kLogTail = 64 * 1024;
constexpr double kFull = 0.98;                               // of a slice's memory
constexpr int kDeadTwice = 2;                                // samples in a row: an exit is not always seen at once
constexpr std::uint64_t kPhantoms = std::uint64_t(1) << 62;  // record numbers that stand for no job

int to_mib(std::int64_t bytes) { return int((bytes + (1 << 20) - 1) >> 20); }

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

bool exists(std::uint32_t pid) { return ::kill(pid_t(pid), 0) == 0 || errno != ESRCH; }

}  // namespace

// The memory of each job's slice on this board, from its last sample.
void Daemon::see_memory(int gpu) {
  const GpuFacts& facts = gpus_[std::size_t(gpu)];
  for (const auto& [slice, id] : occupied_) {
    if (int(slice.first) != gpu) continue;
    JobRecord* job = find(id);
    const Instance* instance = find_instance(facts.board, PlacementId(slice.second));
    if (!job || !instance || job->status != JobStatus::kRunning || job->started > facts.sampled) continue;
    int used = 0;
    for (const DeviceProcess& process : facts.processes)
      if (process.gpu_instance == instance->gpu_instance) used += process.memory_mib;
    int highest = used;
    if (const auto requests = requests_of(*job); requests && used > 0) {
      contexts_mib_[id] = std::max(0, used - to_mib(requests->now_bytes));
      highest += to_mib(requests->peak_bytes - requests->now_bytes);  // between two samples
    }
    if (highest > job->peak_mib) {
      job->peak_mib = highest;
      changed(*job);
    }
    project(*job, used);
  }
}

void Daemon::project(JobRecord& job, int used_mib) {
  const int limit = slice_memory_mib(job.gpu, job.slice), largest = belief_->largest_memory_mib();
  MemoryProjection& projection = projections_[job.id];
  const double elapsed = seconds(gpus_[std::size_t(job.gpu)].sampled - job.started);
  projection.add(elapsed, used_mib);
  if (limit <= 0 || limit >= largest || used_mib <= 0 || job.wish != JobRecord::kNothing) return;
  // Who declared a size and may not be stopped is left alone: it ends as it ends.
  if (job.spec.mem_mib && !job.spec.preemptible()) return;
  // A kind whose memory is on record and fits is believed until it takes more.
  if (const auto known = SpeedTable::builtin().mem_mib(job.spec.kind); known && *known <= limit && used_mib <= *known)
    return;
  const auto finish = expected_finish(job);
  const double total = finish ? seconds(*finish - job.started) : 0;
  const Time known = restart_of(job.spec.kind);
  RestartCosts costs;
  costs.restart_s = seconds(known >= Time{0} ? known : kUnknownRestart);
  costs.lost_if_restarted = job.spec.checkpoint_signal ? 0 : elapsed;
  costs.lost_if_failed = elapsed;
  const RestartVerdict verdict = projection.verdict(limit, total, costs);
  if (!verdict.restart) return;
  const int needs = std::clamp(int(verdict.needs_mib), limit + 1, largest);
  job.reason = fmt::format(
      "early restart: {} MiB of {} MiB after {:.0f} s, about {:.0f} MiB projected ({:.0f} % sure to "
      "pass the slice's memory in about {:.0f} s)",
      used_mib, limit, elapsed, verdict.needs_mib, 100 * verdict.passing.probability, verdict.passing.after_s);
  journal_->note(belief_->inside(now()), "early_restart",
                 fmt::format("\"job\":{},\"slice\":\"{}\",\"words\":{}", job.id, job.slice, Json(job.reason).dump()));
  job.mem_mib = needs;
  ++job.oom_restarts;
  ++counts_.early_restarts;
  stop_job(job, JobRecord::kLarger);
}

std::optional<JobMemory> Daemon::requests_of(const JobRecord& job) const {
  return job.spec.exact_memory ? world_.runner.memory_of({job.id, job.attempt}) : std::nullopt;
}

// An attempt ran out of its slice's memory if the runner knows it, if its last CUDA request was refused, if the end of
// its log says so, or if a signal ended it while its slice was full.
std::optional<Daemon::Shortage> Daemon::shortage(const JobRecord& job, const AttemptExit& exit) const {
  if (exit.code == 0 || exit.never_started) return std::nullopt;
  if (const auto requests = requests_of(job); requests && requests->needed_bytes > 0) {
    const auto beside = contexts_mib_.find(job.id);
    const int context = beside == contexts_mib_.end() ? kContextMib : beside->second;
    const int needed = to_mib(requests->needed_bytes) + context;
    return Shortage{needed, true,
                    fmt::format("its requests came to {} MiB, {} MiB of it for the CUDA context", needed, context)};
  }
  const std::string tail = tail_of(world_.runner.log_path(exit.id));
  if (!exit.gpu_oom && std::none_of(settings_.oom.patterns.begin(), settings_.oom.patterns.end(),
                                    [&](const std::string& pattern) { return tail.find(pattern) != tail.npos; })) {
    const int limit = slice_memory_mib(job.gpu, job.slice);
    const int signal = exit.signal != 0 ? exit.signal : std::max(0, exit.code - 128);  // as shells tell it
    const bool abrupt = signal == SIGKILL || signal == SIGABRT;  // other signals tell of other faults
    if (limit <= 0 || !abrupt || job.peak_mib < kFull * limit) return std::nullopt;
    return Shortage{
        0, false,
        fmt::format("it held {} MiB of {} MiB when last seen and died of signal {}", job.peak_mib, limit, signal)};
  }
  const int asked = refused_request_mib(tail);
  if (asked == 0 && job.peak_mib <= 0) return Shortage{};
  if (asked == 0) return Shortage{0, false, fmt::format("it held {} MiB when last seen", job.peak_mib)};
  return Shortage{job.peak_mib + asked, false,
                  fmt::format("it held {} MiB when last seen and asked for {} MiB more", job.peak_mib, asked)};
}

// What a job should have after it ran out with `had`: at least one size up, what it asked for, and where nothing tells
// that, what its growth pointed to.
int Daemon::memory_after_failure(const JobRecord& job, int had, const Shortage& shortage) const {
  double wants = std::max(had + 1, shortage.needed_mib);
  if (shortage.certain) return std::clamp(int(wants), had + 1, std::max(had + 1, belief_->largest_memory_mib()));
  if (const auto at = projections_.find(job.id); at != projections_.end())
    wants = std::max(wants, at->second.forecast(0).quantile(0.5));
  return std::clamp(int(wants), had + 1, std::max(had + 1, belief_->largest_memory_mib()));
}

// A slice on which only dead processes hold memory is of no use to anyone: in the belief it is busy with a phantom, so
// that no policy counts on it, and the operator is told its name. It returns when the memory is free.
void Daemon::watch_dead(int gpu) {
  GpuFacts& facts = gpus_[std::size_t(gpu)];
  std::map<int, std::pair<int, std::uint32_t>> held;  // by GPU instance: MiB, a pid
  std::set<int> alive;
  facts.dead_mib = 0;
  for (const DeviceProcess& process : facts.processes) {
    if (exists(process.pid)) {
      alive.insert(process.gpu_instance);
    } else if (process.memory_mib > 0) {
      held[process.gpu_instance].first += process.memory_mib;
      held[process.gpu_instance].second = process.pid;
      facts.dead_mib += process.memory_mib;
    }
  }
  for (const Instance& instance : facts.board.instances) {
    const SliceKey key{std::uint32_t(gpu), index(instance.placement)};
    const auto dead = held.find(instance.gpu_instance);
    const auto phantom = phantoms_.find(key);
    if (dead == held.end() || alive.count(instance.gpu_instance)) {
      dead_seen_.erase(key);
      if (phantom != phantoms_.end()) back_in_service(key);
      continue;
    }
    if (phantom != phantoms_.end() || occupied_.count(key) || ++dead_seen_[key] < kDeadTwice) continue;
    const GpuState& state = cluster().gpu(GpuId(std::uint32_t(gpu)));
    if (!state.layout.contains(instance.placement) || state.busy.contains(instance.placement)) continue;
    JobRecord nobody;
    nobody.id = kPhantoms + ++last_phantom_;
    nobody.spec.command = {fmt::format("dead process {}", dead->second.second)};
    nobody.estimate = std::chrono::hours(24 * 365);
    nobody.submitted = now();
    const auto row = belief_->put(nobody, kNever);
    if (!row) continue;
    session_->apply(Event::submitted(cluster().now(), *row));
    session_->apply(
        Event::found_running(cluster().now(), *row, GpuId(std::uint32_t(gpu)), instance.placement, nobody.estimate));
    phantoms_[key] = nobody.id;
    std::string& words = facts.quarantined[key.second];
    words = fmt::format(
        "process {} is dead and holds {} MiB there; the slice is out of service until that is free (a reset of the "
        "GPU frees it)",
        dead->second.second, dead->second.first);
    journal_->note(belief_->inside(now()), "slice_quarantined",
                   fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", gpu,
                               slice_name(*facts.board.model, instance.placement), Json(words).dump()));
  }
  // A slice that was destroyed by hand, or by a reset, holds nothing.
  std::vector<SliceKey> gone;
  for (const auto& [key, id] : phantoms_)
    if (int(key.first) == gpu && !find_instance(facts.board, PlacementId(key.second))) gone.push_back(key);
  for (const SliceKey& key : gone) back_in_service(key);
}

void Daemon::back_in_service(SliceKey key) {
  const auto phantom = phantoms_.find(key);
  if (const JobId row = belief_->row(phantom->second); row != kNoJob) {
    fleet_->tell(Event::withdrawn(belief_->inside(now()), row));
    belief_->drop(phantom->second);
  }
  phantoms_.erase(phantom);
  GpuFacts& facts = gpus_[key.first];
  facts.quarantined.erase(key.second);
  journal_->note(
      belief_->inside(now()), "slice_free",
      fmt::format("\"gpu\":{},\"slice\":\"{}\"", key.first, slice_name(*facts.board.model, PlacementId(key.second))));
}

}  // namespace smartmig
