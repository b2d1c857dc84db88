#include "cluster/controller.h"

#include <algorithm>
#include <chrono>

namespace smartmig {
namespace {

constexpr Time kTick{10'000'000}, kTickAfterDrop{1'000'000};
constexpr Time kBetweenTurns{20'000};  // answers that come together are taken together
constexpr int kPollShare = 4;          // at most this part of the time the engine is asked for its jobs

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}
constexpr std::uint64_t kTasks = std::uint64_t(1) << 61, kPageTasks = std::uint64_t(1) << 52;
constexpr int kTaskBits = 29, kPageTaskBits = 20;

}  // namespace

// A plain job keeps its number; tasks of arrays lie above all of them.
QueueId queue_id(const ClusterJobName& name) {
  if (name.task < 0) return QueueId(name.id);
  return QueueId(kTasks | (std::uint64_t(name.id) << kTaskBits) | (std::uint64_t(name.task) & ((1u << kTaskBits) - 1)));
}

QueueId page_id(QueueId id) {
  const std::uint64_t n = number(id);
  if (n < kTasks) return id;
  return QueueId(kPageTasks | ((n >> kTaskBits & 0xFFFFFFFF) << kPageTaskBits) | (n & ((1u << kPageTaskBits) - 1)));
}

QueueId from_page_id(QueueId id) {
  const std::uint64_t n = number(id);
  if (n < kPageTasks) return id;
  return queue_id({std::uint32_t(n >> kPageTaskBits), int(n & ((1u << kPageTaskBits) - 1))});
}

ClusterController::ClusterController(ClusterWorkload& workload, Agents& agents, LiveClock& clock, Options options)
    : workload_(workload), agents_(agents), clock_(clock), options_(std::move(options)) {}

ClusterController::~ClusterController() = default;

void ClusterController::say(const std::string& words) const {
  if (options_.say) options_.say(words);
}

ClusterController::Tracked* ClusterController::find(const ClusterJobName& name) {
  const auto at = jobs_.find(name);
  return at == jobs_.end() ? nullptr : &at->second;
}

ClusterController::Tracked* ClusterController::find(QueueId id) {
  const auto at = names_.find(id);
  return at == names_.end() ? nullptr : find(at->second);
}

ClusterController::Tracked* ClusterController::find_number(std::uint32_t number) {
  const auto at = numbers_.find(number);
  return at == numbers_.end() ? nullptr : find(at->second);
}

std::string ClusterController::place(GpuId gpu, PlacementId where) const {
  const Gpu& one = gpus_[index(gpu)];
  return fmt::format("{} GPU {} {}", one.node, one.index, slice_name(model(gpu), where));
}

ClusterController::Outcome ClusterController::run(const std::atomic<bool>& stop) {
  while (!stop && !rebuild_ && !replaced_) {
    step();
    const UnixTime due = std::min({next_poll_, next_heartbeat_, next_nodes_, next_tick_, session_->next_due()});
    if (!clock_.wait_until(std::max(due, now() + Time(10'000)))) clock_.sleep(kBetweenTurns);
  }
  return replaced_ ? Outcome::kReplaced : rebuild_ ? Outcome::kRebuild : Outcome::kStopped;
}

void ClusterController::step() {
  const auto turn_began = std::chrono::steady_clock::now();
  std::vector<std::function<void()>> results;
  {
    const std::lock_guard lock(inbox_->mutex);
    results.swap(inbox_->results);
  }
  session_->begin_step();
  for (const auto& result : results) result();
  if (options_.ended)
    for (const auto& [node, job] : options_.ended->take()) left(node, job);
  if (replaced_) return;
  if (now() >= next_poll_) {
    ++counts_.queries;
    const UnixTime asked = now();
    const auto jobs = workload_.jobs();
    next_poll_ = std::max(asked + options_.poll, now() + (kPollShare - 1) * (now() - asked));
    if (bool(jobs) != answers_)
      say(fmt::format("{} {}", words().name, jobs ? "answers again" : "does not answer: " + jobs.error().what));
    answers_ = bool(jobs);
    if (jobs) {
      see_jobs(*jobs);
      show_waiting();
    }
  }
  if (now() >= next_nodes_ || now() >= next_heartbeat_) ask_nodes();
  for (const QueueId id : session_->overdue()) session_->tell_overrun(id);
  decide();
  try_postponed();
  tell_owners();
  flush();
  turns_.add(seconds_since(turn_began));
  write_metrics();
  write_times();
  if (options_.attend) options_.attend(*this);
}

// One decision about all that has happened since the last: a large cluster has hundreds of events a second, and a decision
// looks at the whole fleet.
void ClusterController::decide() {
  LiveFleet& fleet = session_->fleet();
  const auto carry_out_all = [&] {
    for (const LiveFleet::Effect& effect : fleet.take_effects()) carry_out(effect);
  };
  const auto decide_once = [&](const Cluster& cluster, Plan& plan) {
    where_now_.clear();
    const auto began = std::chrono::steady_clock::now();
    plans_->decide(
        *policies_, session_->shared_platform(), cluster, [this](JobId row) { return where(row); }, plan);
    const bool dropped = drop_impossible(plan);
    const double took = seconds_since(began);
    decisions_.add(took);
    if (options_.past) options_.past->figures.decided(took);
    ++counts_.decisions;
    counts_.decide_s += took;
    counts_.longest_decision_s = std::max(counts_.longest_decision_s, took);
    session_->asked_at(plan.look_again);
    next_tick_ = std::min(now() + (dropped ? kTickAfterDrop : kTick), session_->belief().outside(plan.look_again));
  };
  DecisionLoop loop(session_->session(), decide_once, carry_out_all);
  const auto all = [] { return true; };
  loop.decide_about_news(all, worth_deciding);
  if (now() >= next_tick_) {
    next_tick_ = now() + kTick;
    if (session_->cluster().unfinished() > 0) {
      session_->session().look_again(session_->inside_now());
      loop.decide();
      loop.decide_about_news(all, worth_deciding);
    }
  }
  carry_out_all();
}

void ClusterController::flush() {
  const std::vector<EventRow> rows = session_->journal().take();
  for (const EventRow& row : rows) journal_ << row.line << '\n';
  journal_.flush();
  if (options_.past) options_.past->write(rows);
  if (actions_.empty()) return;
  ++counts_.batches;
  counts_.actions += actions_.size();
  if (const auto done = workload_.act(std::exchange(actions_, {})); !done) say(done.error().what);
}

std::string ClusterController::in_one_line() const {
  std::size_t with_slice = 0;
  for (const auto& [name, job] : jobs_) with_slice += job.way != Way::kWaiting;
  return fmt::format("{} GPUs on {} nodes: {} jobs have a slice, {} wait", gpus_.size(), nodes_.size(), with_slice,
                     jobs_.size() - with_slice);
}

}  // namespace smartmig
