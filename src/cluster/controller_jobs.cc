// What the engine shows of its jobs, once a second, and what follows for the belief.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "cluster/controller.h"

namespace smartmig {
namespace {

constexpr Time kRepeat{3'000'000};          // an action whose effect does not show is asked for again
constexpr Time kDeadlineMoves{60'000'000};  // a presented deadline that moves by less stays as it was
constexpr Time kStopRepeat{30'000'000};
constexpr Time kDependencyPause{20'000'000};
constexpr Time kMissing{30'000'000};  // so long a job is waited for that replies lack
constexpr Time kAskOverAgain{10'000'000};
constexpr int kStopSignal = SIGTERM;  // what a requeue sends: a job that says `restart=` saves at it

constexpr double kUsedOfLimit =
    1.0 / 3;  // of the time limit, by jobs of which nothing else is told, until they teach more

}  // namespace

bool ClusterController::track(const ClusterJob& seen) {
  if (strangers_.contains(seen.name)) return false;
  const auto refuse = [&](const std::string& words) {
    say(fmt::format("job {}: {}; smartmig ignores it", to_string(seen.name), words));
    strangers_.insert(seen.name);
    return false;
  };
  if (!seen.request) return refuse(seen.unreadable);
  const JobRequest& asked = *seen.request;
  Tracked job;
  JobRecord& record = job.record;
  record.id = queue_id(seen.name);
  if (seen.name.task >= 0) {
    record.array.id = QueueId(seen.name.id);
    record.array.index = seen.name.task;
  }
  record.owner.uid = seen.uid;
  record.spec.name = seen.title;
  record.spec.kind = asked.kind;
  record.spec.min_slices = asked.min_slices;
  if (asked.deadline) record.spec.deadline = seen.submitted + *asked.deadline;
  record.spec.patient = options_.settings.defaults.patient;
  if (asked.restart && seen.requeue) {
    record.spec.checkpoint_signal = kStopSignal;
    record.spec.restart = *asked.restart;
  }
  record.times.submitted = seen.submitted;
  record.work.told = asked.estimate.value_or(rounded(double(seen.time_limit.count()) * kUsedOfLimit));
  record.work.source = asked.estimate ? EstimateSource::kGiven : EstimateSource::kGuess;
  times_.believe(record, options_.settings.defaults.estimate);
  record.memory.mib = asked.mem_mib > 0 ? asked.mem_mib : -1;
  if (const auto fits = session_->belief().fits(record); !fits) return refuse(fits.error().what);
  job.seen = seen;
  job.since = now();
  names_[record.id] = seen.name;
  jobs_[seen.name] = std::move(job);
  return true;
}

void ClusterController::see_jobs(const std::vector<ClusterJob>& jobs) {
  ++look_;
  for (const ClusterJob& job : jobs) see(job);
  for (const auto& [number, slice] : std::exchange(left_, {}))
    give_back(gpus_[slice.first].node, number, GpuId(slice.first));
  see_missing();
  // Of an array no more tasks than its owner lets run at once.
  std::map<std::uint32_t, int> busy;
  for (const auto& [name, job] : jobs_)
    if (name.task >= 0 && job.way != Way::kWaiting && job.way != Way::kLeft) ++busy[name.id];
  for (auto& [name, job] : jobs_) {
    const int limit = job.seen.array_limit;
    if (job.way == Way::kWaiting && job.ready && limit > 0 && ++busy[name.id] > limit) job.ready = false;
  }
}

// An engine forgets a job some minutes after its end, and its end was seen before that; so a reply that lacks one is odd.
// One that waits is dropped after a while. One with a slice is over when its agent says so.
void ClusterController::see_missing() {
  std::size_t with_slice = 0, lost = 0;
  std::vector<ClusterJobName> gone;
  for (auto& [name, job] : jobs_) {
    with_slice += job.gpu != kNoGpu;
    if (job.look == look_) {
      job.missing = {};
      continue;
    }
    if (job.missing == UnixTime{}) job.missing = now();
    job.ready = false;
    lost += job.gpu != kNoGpu;
    if (now() - job.missing < kMissing) continue;
    if (job.gpu == kNoGpu || job.seen.number == 0)
      gone.push_back(name);
    else
      ask_whether_over(job);
  }
  if ((lost > 0) != doubts_) {
    doubts_ = lost > 0;
    counts_.doubts += doubts_;
    say(doubts_
            ? fmt::format(
                  "{}'s reply lacks {} of {} jobs that have slices; they keep their slices until their agents report that they have ended",
                  words().name, lost, with_slice)
            : fmt::format("{}'s reply has all jobs again", words().name));
  }
  for (const ClusterJobName& name : gone) ended(jobs_[name]);
}

// The agent frees the slice of a job that is over and refuses for one that lives.
void ClusterController::ask_whether_over(Tracked& job) {
  if (job.asked_over || now() - job.since < kAskOverAgain) return;
  job.asked_over = true;
  job.since = now();
  const std::string node = gpus_[index(job.gpu)].node;
  post("node " + node, node, {{"op", "free"}, {"job", job.seen.number}}, options_.agent_limit,
       [this, name = job.seen.name, number = job.seen.number](const Result<Json>& answer) {
         Tracked* asked = find(name);
         if (!asked || asked->seen.number != number) return;
         asked->asked_over = false;
         if (answer && asked->missing != UnixTime{}) ended(*asked);
       });
}

// It is over on this node: its slice is free.
void ClusterController::left(const std::string& node, std::uint32_t number) {
  Tracked* job = find_number(number);
  if (!job || (job->way != Way::kRunning && job->way != Way::kStopping) || gpus_[index(job->gpu)].node != node) return;
  const Slice slice{index(job->gpu), index(job->where)};
  if (const auto at = occupied_.find(slice); at != occupied_.end() && at->second == job->seen.name) occupied_.erase(at);
  uncharge(*job);
  if (job->way == Way::kStopping) return;  // the belief has it waiting
  session_->leave(job->record.id, now(), true);
  job->way = Way::kLeft;
  job->since = now();
}

void ClusterController::see(const ClusterJob& seen) {
  Tracked* job = find(seen.name);
  if (!job) {
    if (seen.phase == ClusterJob::kEnded) return ended_unseen(seen);
    if (!track(seen)) return;
    job = find(seen.name);
  }
  job->seen = seen;
  job->look = look_;
  look_at_needs(*job);
  if (seen.number != 0) numbers_[seen.number] = seen.name;
  switch (seen.phase) {
    case ClusterJob::kPending:
      return see_pending(*job);
    case ClusterJob::kRunning:
      return see_running(*job);
    case ClusterJob::kEnding:
      if (job->way == Way::kReleased || job->way == Way::kTakingBack) see_running(*job);
      return;
    case ClusterJob::kEnded:
      return ended(*job);
  }
}

void ClusterController::see_pending(Tracked& job) {
  const ClusterJob& seen = job.seen;
  const auto hold_again = [&] {
    if (now() - job.since < kRepeat) return;
    job.since = now();
    act(action(ClusterAction::kTakeBack, job));
  };
  switch (job.way) {
    case Way::kWaiting:
      if (!seen.held && !job.left_alone) hold_again();  // somebody released or requeued it
      job.ready = seen.held && seen.obstacle.empty() && job.not_before <= now() && nowhere(job).empty();
      return;
    case Way::kPinning:
      if (seen.number != 0) return reserve(job);
      if (now() - job.since > options_.start_patience) take_back(job, "it has no number", options_.start_patience);
      return;
    case Way::kReserving:
      return;
    case Way::kReleased:
      if (seen.owner_holds) return take_back(job, "its owner holds it", Time{0});
      // The snapshot must be of a time after the grant.
      if (seen.held && seen.refusal == ClusterJob::kHere && look_ > job.given_look + 1) {
        ++counts_.taken_back;
        bar(job, seen.reason, true);
        return went_back(job);
      }
      if (now() - job.given > options_.start_patience && seen.refusal != ClusterJob::kImpossible) {
        bar(job, seen.reason, false);
        return take_back(
            job, fmt::format("it has not started within {:.0f} s ({})", seconds(options_.start_patience), seen.reason),
            options_.start_patience);
      }
      if (seen.held) {  // what was asked for got lost
        if (now() - job.since >= kRepeat) release(job);
        return;
      }
      if (const auto node = nodes_.find(gpus_[index(job.gpu)].node); node != nodes_.end() && !node->second.up)
        return take_back(job, "its node accepts no jobs", Time{0});
      if (seen.refusal == ClusterJob::kImpossible) {
        job.left_alone = true;
        return went_back(job);
      }
      if (seen.refusal == ClusterJob::kTooEarly) return take_back(job, seen.reason, kDependencyPause);
      return;
    case Way::kRunning:
    case Way::kLeft:
      say(fmt::format("job {} was requeued", to_string(seen.name)));
      went_back(job);
      if (!seen.held) act(action(ClusterAction::kTakeBack, job));
      return;
    case Way::kStopping:  // as it was asked: the belief has it waiting, with its progress
      free_slice(job);
      job.way = Way::kWaiting;
      job.ready = true;
      return;
    case Way::kTakingBack:
      if (seen.held) return went_back(job);
      return hold_again();
  }
}

void ClusterController::see_running(Tracked& job) {
  switch (job.way) {
    case Way::kWaiting: {
      // Released by an agent while no controller was there, or found at a start.
      const auto found = found_.find(job.seen.number);
      if (found == found_.end()) return;  // without a slice: its Prolog sends it back
      const Json& entry = found->second;
      const GpuId gpu{entry["gpu_id"].get<std::uint32_t>()};
      const PlacementId where{entry["where"].get<std::uint8_t>()};
      if (occupied_.contains(Slice{index(gpu), index(where)})) return;
      if (built_) {
        rebuild_ = true;
        return;
      }
      hold(job, gpu, where);
      job.record.times.started = job.seen.started;
      job.way = Way::kRunning;
      job.since = now();
      (void)session_->found_running(job.record, gpu, where, now());
      found_.erase(found);
      return;
    }
    case Way::kPinning:
    case Way::kReserving:
    case Way::kReleased:
    case Way::kTakingBack:
      if (session_->waits(job.record.id)) rebuild_ = true;  // it was stopped in the belief, too late
      job.way = Way::kRunning;
      job.since = now();
      job.pause = Time{0};
      job.record.times.started = job.seen.started;
      return;
    case Way::kStopping:
      if (now() - job.since < kStopRepeat) return;
      job.since = now();
      act(action(ClusterAction::kRequeue, job));
      return;
    case Way::kRunning:
    case Way::kLeft:
      return;
  }
}

// A job that came to its end while no controller looked: its joules are booked, and it gets a larger slice where it ran out
// of memory, as if one had.
void ClusterController::ended_unseen(const ClusterJob& seen) {
  const auto left = left_.find(seen.number);
  if (seen.number == 0 || left == left_.end()) return;
  Tracked job;
  job.seen = seen;
  job.gpu = GpuId(left->second.first);
  job.where = PlacementId(std::uint8_t(left->second.second));
  left_.erase(left);
  free_slice(job);
}

// Its time, where it came to its end or to its limit.
void ClusterController::learn_from(const Tracked& job) {
  const bool cut = job.seen.outcome == ClusterJob::kTimedOut;
  if ((job.seen.outcome != ClusterJob::kCompleted && !cut) || job.seen.ended <= job.seen.started) return;
  times_.learn(job.record, session_->belief(), session_->cluster(), seconds(job.seen.ended - job.seen.started), 0, cut);
  times_changed_ = true;
}

void ClusterController::ended(Tracked& job) {
  const ClusterJobName name = job.seen.name;
  const bool has_slice = job.way != Way::kWaiting;
  if (has_slice) learn_from(job);
  session_->leave(job.record.id, now(), has_slice && job.seen.outcome == ClusterJob::kCompleted);
  remember(job);
  if (has_slice) {
    ++counts_.ended;
    free_slice(job);
  }
  names_.erase(job.record.id);
  numbers_.erase(job.seen.number);
  jobs_.erase(name);
}

// It waits again, and nothing of its work is left.
void ClusterController::went_back(Tracked& job) {
  free_slice(job);
  session_->withdraw(job.record.id);
  job.way = Way::kWaiting;
  job.ready = false;
  job.since = now();
}

void ClusterController::show_waiting() {
  const std::size_t window = std::size_t(options_.settings.limits.window);
  if (session_->compact_if_needed(window)) {
    policies_->rows_renumbered();
    plans_->forget();
  }
  std::vector<AdmissionJob> waiting;
  std::map<std::uint32_t, int> load;
  for (const auto& [name, job] : jobs_) {
    if (job.way == Way::kLeft) continue;
    if (job.way != Way::kWaiting) {
      const int has = session_->platform().model(job.gpu).slices_of_placement[index(job.where)];
      load[job.record.owner.uid] += std::min(has, asked_slices(job.record, session_->platform()));
      continue;
    }
    if (!job.ready) continue;
    const JobRecord& record = job.record;
    waiting.push_back({number(record.id), record.owner.uid, 0, record.spec.deadline, record.times.submitted,
                       record.work.estimate, asked_slices(record, session_->platform()), false,
                       record.spec.patient.value_or(false)});
  }
  std::vector<UserLoad> users;
  for (const auto& [uid, slices] : load) users.push_back({uid, slices});
  AdmissionLimits limits;
  limits.user_slices = options_.settings.limits.user_slices;
  limits.window = window;
  limits.slack = options_.settings.defaults.slack;
  const Platform& platform = session_->platform();
  const auto answer = admission_.admit(waiting, users, limits, std::max(1, platform.total_compute_slices()),
                                       platform.models()[0].gpu->compute_slices(), now());
  active_users_ = std::max<std::size_t>(1, answer.active_users);
  std::set<QueueId> shown;
  for (const AdmittedJob& one : answer.visible) shown.insert(QueueId(one.id));
  std::vector<QueueId> hidden;
  for (const auto& [id, row] : session_->belief().rows())
    if (const Tracked* job = find(id); job && job->way == Way::kWaiting && !shown.contains(id)) hidden.push_back(id);
  for (const QueueId id : hidden) session_->withdraw(id);
  std::vector<std::pair<UnixTime, AdmittedJob>> order;
  for (const AdmittedJob& one : answer.visible) order.emplace_back(find(QueueId(one.id))->record.times.submitted, one);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.id) < std::pair(b.first, b.second.id);
  });
  for (const auto& [submitted, one] : order) {
    const Belief& belief = session_->belief();
    if (const JobId row = belief.row(QueueId(one.id)); row != kNoJob) {
      const UnixTime had = belief.outside(belief.table()->job(row).deadline);
      const Time moved = had > one.deadline ? had - one.deadline : one.deadline - had;
      const bool same = belief.table()->job(row).deadline_made_up == one.made_up;
      if (same && moved <= std::max(kDeadlineMoves, (one.deadline - now()) / 10)) continue;
      if (belief.free_rows() < 2 * order.size()) continue;  // after the next compaction
      session_->withdraw(QueueId(one.id));
    }
    Tracked& job = *find(QueueId(one.id));
    times_.believe(job.record, options_.settings.defaults.estimate);
    if (const auto row = session_->show(job.record, one.deadline, std::max(submitted, belief.origin()), one.made_up);
        !row)
      job.ready = false;
  }
}

}  // namespace smartmig
