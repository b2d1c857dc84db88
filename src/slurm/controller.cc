#include "slurm/controller.h"

#include <algorithm>
#include <chrono>

namespace smartmig {
namespace {

constexpr Time kTick{10'000'000};
constexpr std::uint64_t kTasks = std::uint64_t(1) << 61;

}  // namespace

// A plain job keeps its number; tasks of arrays lie above all of them.
QueueId queue_id(const SlurmJobName& name) {
  if (name.task < 0) return QueueId(name.id);
  return QueueId(kTasks | (std::uint64_t(name.id) << 29) | (std::uint64_t(name.task) & ((1u << 29) - 1)));
}

SlurmController::SlurmController(Slurm& slurm, Agents& agents, LiveClock& clock, Options options)
    : slurm_(slurm),
      agents_(agents),
      clock_(clock),
      options_(std::move(options)),
      drained_(options_.state_dir + "/resumed.json", options_.resumes) {}

SlurmController::~SlurmController() = default;

void SlurmController::say(const std::string& words) const {
  if (options_.say) options_.say(words);
}

SlurmController::Tracked* SlurmController::find(const SlurmJobName& name) {
  const auto at = jobs_.find(name);
  return at == jobs_.end() ? nullptr : &at->second;
}

SlurmController::Tracked* SlurmController::find(QueueId id) {
  const auto at = names_.find(id);
  return at == names_.end() ? nullptr : find(at->second);
}

std::string SlurmController::place(GpuId gpu, PlacementId where) const {
  const Gpu& one = gpus_[index(gpu)];
  return fmt::format("{} GPU {} {}", one.node, one.index, slice_name(model(gpu), where));
}

SlurmController::Outcome SlurmController::run(const std::atomic<bool>& stop) {
  while (!stop && !rebuild_ && !replaced_) {
    step();
    const UnixTime due = std::min({next_poll_, next_heartbeat_, next_nodes_, next_tick_, session_->next_due()});
    clock_.wait_until(std::max(due, now() + Time(10'000)));
  }
  return replaced_ ? Outcome::kReplaced : rebuild_ ? Outcome::kRebuild : Outcome::kStopped;
}

void SlurmController::step() {
  std::vector<std::function<void()>> results;
  {
    const std::lock_guard lock(inbox_->mutex);
    results.swap(inbox_->results);
  }
  session_->begin_step();
  for (const auto& result : results) result();
  if (replaced_) return;
  if (now() >= next_poll_) {
    next_poll_ = now() + options_.poll;
    ++counts_.queries;
    const auto jobs = slurm_.jobs();
    if (bool(jobs) != slurm_answers_) say(jobs ? "Slurm answers again" : "Slurm does not answer: " + jobs.error().what);
    slurm_answers_ = bool(jobs);
    if (jobs) {
      see_jobs(*jobs);
      show_waiting();
    }
  }
  if (now() >= next_nodes_ || now() >= next_heartbeat_) ask_nodes();
  for (const QueueId id : session_->overdue()) session_->tell_overrun(id);
  decide();
  try_postponed();
  flush();
  write_metrics();
}

void SlurmController::decide() {
  Session& session = session_->session();
  LiveFleet& fleet = session_->fleet();
  const auto once = [&] {
    plan_.clear();
    const auto began = std::chrono::steady_clock::now();
    policies_->decide(session_->cluster(), plan_);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    ++counts_.decisions;
    counts_.decide_s += took;
    counts_.longest_decision_s = std::max(counts_.longest_decision_s, took);
    next_tick_ = std::min(now() + kTick, session_->belief().outside(plan_.look_again));
    session.act(plan_);
    for (const LiveFleet::Effect& effect : fleet.take_effects()) carry_out(effect);
  };
  while (session.advance()) {
    while ((fleet.withdrawals() || fleet.arrival_next()) && session.advance()) {
    }
    if (worth_deciding(session_->cluster())) once();
  }
  if (now() >= next_tick_) {
    next_tick_ = now() + kTick;
    if (session_->cluster().unfinished() > 0) {
      session.look_again(session_->inside_now());
      once();
      while (session.advance())
        if (worth_deciding(session_->cluster())) once();
    }
  }
  for (const LiveFleet::Effect& effect : fleet.take_effects()) carry_out(effect);
}

void SlurmController::flush() {
  for (EventRow& row : session_->journal().take()) journal_ << row.line << '\n';
  journal_.flush();
  if (actions_.empty()) return;
  ++counts_.batches;
  counts_.actions += actions_.size();
  if (const auto done = slurm_.act(std::exchange(actions_, {})); !done) say(done.error().what);
}

std::string SlurmController::in_one_line() const {
  std::size_t with_slice = 0;
  for (const auto& [name, job] : jobs_) with_slice += job.way != Way::kWaiting;
  return fmt::format("{} GPUs on {} nodes: {} jobs have a slice, {} wait", gpus_.size(), nodes_.size(), with_slice,
                     jobs_.size() - with_slice);
}

}  // namespace smartmig
