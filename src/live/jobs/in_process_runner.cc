#include "live/jobs/in_process_runner.h"

#include <signal.h>

#include <algorithm>
#include <cmath>

namespace smartmig {

InProcessRunner::InProcessRunner(LiveClock& clock, std::shared_ptr<SimLibrary> sim)
    : clock_(clock), sim_(std::move(sim)) {}

UnixTime InProcessRunner::steady() const { return UnixTime(clock_.steady()); }

InProcessRunner::~InProcessRunner() {
  for (const auto& [id, job] : running_)
    if (job.token != 0) sim_->nvmlSimStandDown(job.token);
}

Result<Ok> InProcessRunner::start(const Launch& launch) {
  const auto name = [&] { return fmt::format("job {} attempt {}", launch.id.job, launch.id.attempt); };
  if (running_.contains(launch.id)) return busy_error("{} runs already", name());
  if (launch.predicted < Time{0}) return invalid("{} has no predicted run time", name());
  Running job;
  job.device = launch.device;
  job.started = steady();
  job.due = launch.predicted > kNeverUnix - job.started ? kNeverUnix : job.started + launch.predicted;
  SMARTMIG_TRY(job.script, EmulatedScript::of(launch.spec.environment));
  if (job.script) SMARTMIG_RETURN_IF_ERROR(follow_script(launch, job));
  if (sim_ && !launch.emulated_kind.empty()) {
    job.token = ++last_token_;
    const std::string& kind = job.script && !job.script->kind.empty() ? job.script->kind : launch.emulated_kind;
    if (const auto code = sim_->nvmlSimStandIn(launch.device.c_str(), kind.c_str(), job.token); code != NVML_SUCCESS)
      return sim_->error(code, fmt::format("{} cannot stand on {}", name(), launch.device));
    const bool scripted = job.script && !job.script->memory.empty();
    if (!scripted && launch.spec.mem_mib &&
        sim_->nvmlSimStandInMemory(job.token, static_cast<unsigned long long>(*launch.spec.mem_mib) << 20) ==
            NVML_ERROR_MEMORY) {
      job.lacks_mib = *launch.spec.mem_mib;
      job.due = job.started;
    }
    if (scripted && job.due > job.started) show_memory(job, job.started);
  }
  running_.emplace(launch.id, job);
  due_.insert({job.due, launch.id});
  return Ok{};
}

// When it ends, and whether its slice has memory enough until then.
Result<Ok> InProcessRunner::follow_script(const Launch& launch, Running& job) const {
  if (!sim_ || launch.emulated_kind.empty()) return Ok{};
  nvmlSimSlice_t slice;
  if (const auto code = sim_->nvmlSimGetSlice(launch.device.c_str(), &slice); code != NVML_SUCCESS)
    return sim_->error(code, fmt::format("job {} cannot stand on {}", launch.id.job, launch.device));
  const double left = std::clamp(launch.remaining, 0.0, 1.0);
  job.done = 1 - left;
  if (slice.computeSlices >= 1 && slice.computeSlices <= unsigned(kMaxComputeSlices))
    job.whole_s = job.script->seconds[slice.computeSlices - 1];
  if (job.whole_s > 0)
    job.due = job.started + from_seconds(job.whole_s * left);
  else
    job.whole_s = left > 0 ? seconds(launch.predicted) / left : 0;
  const double limit = double(slice.memoryBytes >> 20);
  if (const auto fails = job.script->first_above(limit, job.done)) {
    job.lacks_mib = std::max(limit, job.script->mib_at(*fails)) + 1;
    job.due = job.started + from_seconds((*fails - job.done) * job.whole_s);
  }
  return Ok{};
}

void InProcessRunner::show_memory(Running& job, UnixTime now) {
  if (job.token == 0 || !job.script || job.script->memory.empty() || job.whole_s <= 0) return;
  const double share = std::min(1.0, job.done + seconds(std::min(now, job.due) - job.started) / job.whole_s);
  const double mib = std::floor(job.script->mib_at(share));
  if (mib == job.shown_mib) return;
  job.shown_mib = mib;
  sim_->nvmlSimStandInMemory(job.token, static_cast<unsigned long long>(mib) << 20);
}

void InProcessRunner::end(std::map<AttemptId, Running>::iterator at, UnixTime when, int code, int signal,
                          std::string words) {
  if (at->second.token != 0) sim_->nvmlSimStandDown(at->second.token);
  AttemptExit exit;
  exit.id = at->first;
  exit.code = code;
  exit.signal = signal;
  exit.started = at->second.started;
  exit.ended = when;
  exit.words = std::move(words);
  exit.gpu_oom = code > 0 && at->second.lacks_mib > 0;
  ended_.push_back(std::move(exit));
  due_.erase({at->second.due, at->first});
  running_.erase(at);
}

void InProcessRunner::end_as_due(std::map<AttemptId, Running>::iterator at) {
  const double lacks = at->second.lacks_mib;
  if (lacks > 0)
    end(at, at->second.due, 1, 0, fmt::format("CUDA out of memory: it needs {:.0f} MiB", lacks));
  else
    end(at, at->second.due, 0, 0, "");
}

Result<Ok> InProcessRunner::stop(AttemptId id, int, Time, StopReason) {
  const auto at = running_.find(id);
  if (at == running_.end()) {
    if (std::any_of(ended_.begin(), ended_.end(), [&](const AttemptExit& e) { return e.id == id; })) return Ok{};
    return not_found("job {} attempt {} does not run", id.job, id.attempt);
  }
  const UnixTime now = steady();
  if (at->second.due <= now)
    end_as_due(at);
  else
    end(at, now, -1, SIGTERM, "stopped");
  return Ok{};
}

Result<Ok> InProcessRunner::suspend(AttemptId id, bool on) {
  const auto at = running_.find(id);
  if (at == running_.end()) return not_found("job {} attempt {} does not run", id.job, id.attempt);
  Running& job = at->second;
  if (on == (job.due == kNeverUnix)) return Ok{};
  due_.erase({job.due, id});
  if (on) {
    job.left = std::max(Time{0}, job.due - steady());
    job.due = kNeverUnix;
  } else {
    job.due = steady() + job.left;
    due_.insert({job.due, id});
  }
  return Ok{};
}

Result<JobRunner::Found> InProcessRunner::recover(const std::vector<AttemptId>& expected) {
  Found found;
  for (const AttemptId& id : expected) {
    if (running_.contains(id)) {
      found.running.push_back(id);
      continue;
    }
    AttemptExit exit;
    exit.id = id;
    exit.signal = SIGKILL;
    exit.started = exit.ended = clock_.now();
    exit.words = "the daemon that emulated it ended";
    found.ended.push_back(std::move(exit));
  }
  return found;
}

std::vector<AttemptId> InProcessRunner::others_on(const std::string& device, AttemptId mine) {
  std::vector<AttemptId> out;
  for (const auto& [id, job] : running_)
    if (id != mine && job.device == device) out.push_back(id);
  return out;
}

std::vector<AttemptExit> InProcessRunner::poll() {
  for (const UnixTime now = steady(); !due_.empty() && due_.begin()->at <= now;) {
    const auto at = running_.find(due_.begin()->id);
    end_as_due(at);
  }
  for (auto& [id, job] : running_) show_memory(job, steady());
  std::sort(ended_.begin(), ended_.end(), [](const AttemptExit& a, const AttemptExit& b) {
    return a.ended != b.ended ? a.ended < b.ended : a.id < b.id;
  });
  const Time day = clock_.now() - steady();
  for (AttemptExit& exit : ended_) {
    exit.started += day;
    exit.ended += day;
  }
  return std::exchange(ended_, {});
}

UnixTime InProcessRunner::next_due() const {
  UnixTime earliest = due_.empty() ? kNeverUnix : due_.begin()->at;
  for (const AttemptExit& exit : ended_) earliest = std::min(earliest, exit.ended);
  return earliest == kNeverUnix ? earliest : earliest + (clock_.now() - steady());
}

}  // namespace smartmig
