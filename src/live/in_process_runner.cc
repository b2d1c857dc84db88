#include "live/in_process_runner.h"

#include <signal.h>

#include <algorithm>

namespace smartmig {

InProcessRunner::InProcessRunner(LiveClock& clock, std::shared_ptr<SimLibrary> sim)
    : clock_(clock), sim_(std::move(sim)) {}

InProcessRunner::~InProcessRunner() {
  for (const auto& [id, job] : running_)
    if (job.token != 0) sim_->nvmlSimStandDown(job.token);
}

Result<Ok> InProcessRunner::start(const Launch& launch) {
  const auto name = [&] { return fmt::format("job {} attempt {}", launch.id.job, launch.id.attempt); };
  if (running_.contains(launch.id)) return busy_error("{} runs already", name());
  if (launch.predicted < Time{0}) return invalid("{} has no predicted run time", name());
  Running job;
  job.started = clock_.now();
  job.due = launch.predicted > kNever - job.started ? kNever : job.started + launch.predicted;
  bool out_of_memory = false;
  if (sim_ && !launch.emulated_kind.empty()) {
    job.token = ++last_token_;
    if (const auto code = sim_->nvmlSimStandIn(launch.device.c_str(), launch.emulated_kind.c_str(), job.token);
        code != NVML_SUCCESS)
      return sim_->error(code, fmt::format("{} cannot stand on {}", name(), launch.device));
    if (launch.spec.mem_mib)
      out_of_memory = sim_->nvmlSimStandInMemory(job.token, static_cast<unsigned long long>(*launch.spec.mem_mib)
                                                                << 20) == NVML_ERROR_MEMORY;
  }
  const auto at = running_.emplace(launch.id, job).first;
  due_.insert({job.due, launch.id});
  if (out_of_memory)
    end(at, job.started, 1, 0, fmt::format("CUDA out of memory: it needs {} MiB", *launch.spec.mem_mib));
  return Ok{};
}

void InProcessRunner::end(std::map<AttemptId, Running>::iterator at, Time when, int code, int signal,
                          std::string words) {
  if (at->second.token != 0) sim_->nvmlSimStandDown(at->second.token);
  AttemptExit exit;
  exit.id = at->first;
  exit.code = code;
  exit.signal = signal;
  exit.started = at->second.started;
  exit.ended = when;
  exit.words = std::move(words);
  ended_.push_back(std::move(exit));
  due_.erase({at->second.due, at->first});
  running_.erase(at);
}

Result<Ok> InProcessRunner::stop(AttemptId id, int, Time) {
  const auto at = running_.find(id);
  if (at == running_.end()) {
    if (std::any_of(ended_.begin(), ended_.end(), [&](const AttemptExit& e) { return e.id == id; })) return Ok{};
    return not_found("job {} attempt {} does not run", id.job, id.attempt);
  }
  const Time now = clock_.now();
  if (at->second.due <= now)
    end(at, at->second.due, 0, 0, "");
  else
    end(at, now, -1, SIGTERM, "stopped");
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

std::vector<AttemptExit> InProcessRunner::poll() {
  for (const Time now = clock_.now(); !due_.empty() && due_.begin()->at <= now;) {
    const auto at = running_.find(due_.begin()->id);
    end(at, at->second.due, 0, 0, "");
  }
  std::sort(ended_.begin(), ended_.end(), [](const AttemptExit& a, const AttemptExit& b) {
    return a.ended != b.ended ? a.ended < b.ended : a.id < b.id;
  });
  return std::exchange(ended_, {});
}

Time InProcessRunner::next_due() const {
  Time earliest = due_.empty() ? kNever : due_.begin()->at;
  for (const AttemptExit& exit : ended_) earliest = std::min(earliest, exit.ended);
  return earliest;
}

}  // namespace smartmig
