#include "queue/belief/live_fork.h"

#include <algorithm>
#include <set>

#include "model/speed.h"
#include "queue/jobs/admission.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostInvisible = 2000, kMostAfter = 500;

ForkFacts facts_of(const JobRecord& job, const Belief& belief) {
  return {job.spec.deadline ? belief.inside(*job.spec.deadline) : kNever, job.owner.uid, job.spec.cpus,
          job.spec.host_mem_mib, asked_slices(job, belief.platform())};
}

bool runs_on(const LiveJobs& book, QueueId id) {
  const JobRecord* job = book.find(id);
  return job && !job->suspended;
}

// What a dead process or a suspended job holds is not to set the end of a future: it lasts as long as the longest of the others.
void shorten_phantoms(LiveFork& live, const LiveJobs& book) {
  Time longest{0};
  for (std::size_t i = 0; i < live.ids.size(); ++i) {
    const ForkJob& job = live.fork.jobs[i];
    if (!runs_on(book, live.ids[i])) continue;
    const Time whole = *std::max_element(job.job.work.begin(), job.job.work.end());
    // One that overruns: half of what it has run, as the belief has it.
    longest = std::max(longest, job.gpu == kNoGpu ? whole : job.left < Time{0} ? (whole - job.left) / 2 : job.left);
  }
  for (std::size_t i = 0; i < live.ids.size(); ++i)
    if (ForkJob& job = live.fork.jobs[i]; !runs_on(book, live.ids[i])) {
      job.left = std::clamp(job.left, Time{0}, longest);
      job.job.spread = 0;
    }
}

// Jobs without a deadline are presented with one that counts only where several users or priorities wait.
bool shared_by(const Fork& fork) {
  return std::any_of(fork.jobs.begin(), fork.jobs.end(), [](const ForkJob& one) {
    return one.gpu == kNoGpu && one.declared == kNever && one.job.has_deadline();
  });
}

ForkJob invisible_job(const JobRecord& job, const ForkFacts& facts, const Job& shown, Fork& fork) {
  ForkJob one;
  one.job = shown;
  one.name = label(job);
  one.declared = facts.declared;
  one.user = facts.user;
  one.cpus = facts.cpus;
  one.host_mem_mib = facts.host_mem_mib;
  one.asked_slices = facts.asked_slices;
  one.job.kind = -1;
  if (SpeedTable::builtin().has(job.spec.kind)) {
    const auto at = std::find(fork.kinds.begin(), fork.kinds.end(), job.spec.kind);
    one.job.kind = int(at - fork.kinds.begin());
    if (at == fork.kinds.end()) fork.kinds.push_back(job.spec.kind);
  }
  return one;
}

// Of its namesakes all that are not known to wait for the others.
void put_namesakes(ForkJob& one, const JobRecord& job, const LiveJobs& book) {
  for (const JobRecord* at = &job; at;) {
    at = book.find(book.namesake_before(*at));
    if (!at) return;
    one.after.push_back({number(at->id), ForkAfter::kEnds});
    if (at->spec.singleton && at->spec.dependencies.empty()) return;
  }
}

ForkAfter::When when_of(Dependency::When when) {
  switch (when) {
    case Dependency::kAfterOk:
      return ForkAfter::kEndsWell;
    case Dependency::kAfterAny:
      return ForkAfter::kEnds;
    case Dependency::kAfterNotOk:
      return ForkAfter::kEndsBadly;
    case Dependency::kAfter:
      return ForkAfter::kStarts;
  }
  return ForkAfter::kEnds;
}

// What waits for a live job that is not in the fork has no start there.
void hold_what_waits_for_others(LiveFork& live, const LiveJobs& book) {
  const std::set<QueueId> there(live.ids.begin(), live.ids.end());
  for (ForkJob& one : live.fork.jobs)
    for (const ForkAfter& after : one.after)
      one.held |= book.find(QueueId(after.job)) && !there.contains(QueueId(after.job));
}

// Waiting jobs for which the week's GPU-hours do not last begin next week, as if the policy did not see them yet. Joules
// are not foreseen. True: there are some.
bool keep_the_week(LiveFork& live, const LiveJobs& book, const Quotas& quotas, const Platform& platform) {
  if (!quotas.any()) return false;
  const int gpu_slices = platform.models()[0].gpu->compute_slices();
  bool later = false;
  std::map<QuotaName, double> more;
  for (const bool runs : {true, false})
    for (std::size_t i = 0; i < live.ids.size(); ++i) {
      ForkJob& one = live.fork.jobs[i];
      const JobRecord* const job = book.find(live.ids[i]);
      if (!job || one.held || (one.gpu != kNoGpu) != runs) continue;
      const int slices =
          runs ? platform.model(one.gpu).slices_of_placement[index(one.where)] : std::max(1, one.asked_slices);
      const double left =
          runs ? seconds(std::max(Time{0}, one.left)) : one.remaining * seconds(one.job.work[std::size_t(slices - 1)]);
      if (quotas.take_ahead(*job, left * slices / gpu_slices, more) || runs) continue;
      one.begin = std::max(one.begin, quotas.next_week() - live.origin);
      one.live = kNoJob;
      later = true;
    }
  return later;
}

void sort_by_submit(LiveFork& live) {
  std::vector<std::size_t> order(live.ids.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return live.fork.jobs[a].job.submit < live.fork.jobs[b].job.submit;
  });
  std::vector<ForkJob> jobs;
  std::vector<QueueId> ids;
  for (const std::size_t i : order) {
    jobs.push_back(std::move(live.fork.jobs[i]));
    ids.push_back(live.ids[i]);
  }
  live.fork.jobs = std::move(jobs);
  live.ids = std::move(ids);
}

// Admission in a future: its accounts go on from the live ones.
class AdmissionAhead : public DeadlinesAhead {
 public:
  struct Known {
    std::vector<AdmissionJob> jobs;                // by number in the fork
    std::map<std::uint64_t, std::size_t> numbers;  // in the fork, by id
    AdmissionLimits limits;
    int fleet_slices = 1, gpu_slices = 1;
    UnixTime origin{};
  };
  AdmissionAhead(const Admission& admission, std::shared_ptr<const Known> known)
      : admission_(admission), known_(std::move(known)) {}

  void started(std::size_t job, Time) override {
    if (job < known_->jobs.size())
      admission_.charge(known_->jobs[job], active_users_, known_->fleet_slices, known_->gpu_slices);
  }
  void present(const Cluster& cluster, Time now, std::vector<Job>& jobs) override {
    std::vector<AdmissionJob> waiting;
    std::vector<UserLoad> users;
    for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
      const JobPhase phase = cluster.state(id).phase;
      if (index(id) >= known_->jobs.size()) continue;  // of a what-if
      const AdmissionJob& job = known_->jobs[index(id)];
      if (phase == JobPhase::kRunning) users.push_back({job.uid, job.slices});
      if (phase == JobPhase::kQueued) {
        waiting.push_back(job);
        waiting.back().held = false;
      }
    }
    const AdmissionAnswer answer = admission_.admit(waiting, users, known_->limits, known_->fleet_slices,
                                                    known_->gpu_slices, known_->origin + now);
    active_users_ = std::max<std::size_t>(1, answer.active_users);
    for (const AdmittedJob& one : answer.visible) {
      Job& job = jobs[known_->numbers.at(one.id)];
      const bool same = job.deadline_made_up == one.made_up && job.deadline != kNever;
      if (same && !moved_much(known_->origin + job.deadline, one.deadline, known_->origin + now)) continue;
      job.deadline = one.deadline - known_->origin;
      job.deadline_made_up = one.made_up;
    }
  }

 private:
  Admission admission_;
  std::shared_ptr<const Known> known_;
  std::size_t active_users_ = 1;
};

// Where one user's jobs of one priority wait, deadlines stay as they are.
void let_deadlines_move(LiveFork& live, const LiveJobs& book, const Settings& settings, const ForkRules& rules,
                        const Platform& platform) {
  constexpr std::size_t kMost = 500;  // jobs: beyond that futures would take too long
  if (!rules.admission || live.ids.size() > kMost) return;
  const auto known = std::make_shared<AdmissionAhead::Known>();
  std::set<std::pair<std::uint32_t, int>> users;
  for (std::size_t i = 0; i < live.ids.size(); ++i) {
    const JobRecord* const job = book.find(live.ids[i]);
    AdmissionJob one;
    if (job) one = asked_by(*job);
    one.id = number(live.ids[i]);
    if (job) one.slices = asked_slices(*job, platform);
    if (job) users.emplace(job->owner.uid, job->spec.priority);
    known->numbers[one.id] = i;
    known->jobs.push_back(one);
  }
  if (users.size() < 2) return;
  known->limits = admission_limits(settings);
  known->fleet_slices = std::max(1, rules.slices_in_service);
  known->gpu_slices = platform.models()[0].gpu->compute_slices();
  known->origin = live.origin;
  live.fork.deadlines = [admission = *rules.admission, known] {
    return std::make_unique<AdmissionAhead>(admission, known);
  };
}

}  // namespace

Job job_in_fork(const JobRecord& job, const Belief& belief, double slack, bool shared) {
  const UnixTime wanted = soon(job.times.submitted, job.work.estimate, slack);
  if (shared) return belief.job_of(job, std::min(job.spec.deadline.value_or(kNeverUnix), wanted));
  return belief.job_of(job, job.spec.deadline.value_or(wanted), !job.spec.deadline);
}

void put_rules(Fork& fork, ForkJob& one, const JobRecord& job, const LiveJobs& book, const ForkRules& rules,
               UnixTime origin) {
  const auto limit = [&](std::pair<std::uint64_t, std::string> name, int most) {
    if (most <= 0) return -1;
    const auto [at, is_new] = fork.limit_of.emplace(std::move(name), int(fork.limits.size()));
    if (is_new) fork.limits.push_back(most);
    return at->second;
  };
  if (rules.quotas) {
    one.caps = rules.quotas->caps_of(job);
    fork.host.caps = rules.quotas->caps();
  }
  one.key = number(job.id);
  one.priority = job.spec.priority;
  if (in_array(job)) one.array = limit({number(job.array.id), ""}, job.spec.array_limit);
  one.group = rules.groups ? limit({0, job.spec.group}, rules.groups->limit(job.spec.group)) : -1;
  if (!is_waiting(job.status) || one.live != kNoJob) return;
  one.held = job.held_by != HeldBy::kNobody ||
             (rules.quotas && !rules.quotas->never_fits(job, std::max(1, one.asked_slices)).empty());
  if (job.spec.begin) one.begin = *job.spec.begin - origin;
  if (rules.quotas && is_quota_words(job.reason)) one.begin = std::max(one.begin, rules.quotas->next_week() - origin);
  if (rules.reservations && !job.spec.reservation.empty()) {
    const GpuReservation* reservation = rules.reservations->find(job.spec.reservation);
    if (reservation)
      one.begin = std::max(one.begin, reservation->begin - origin);
    else
      one.held = true;
  }
  for (const Dependency& d : job.spec.dependencies) {
    const JobRecord* other = book.find(QueueId(d.job));
    if (!other || (d.when == Dependency::kAfter && other->times.first_started != kNotYet)) continue;
    one.after.push_back({d.job, when_of(d.when)});
  }
  if (job.spec.singleton) put_namesakes(one, job, book);
}

LiveFork fork_of(const LiveSession& session, const LiveJobs& book, const Settings& settings, const ForkRules& rules,
                 const ForkScope& scope) {
  const Belief& belief = session.belief();
  LiveFork live;
  live.origin = belief.origin();
  live.prices = settings.priced();
  Cluster present = session.cluster();  // as of the last event
  if (session.inside_now() > present.now()) present.pass(session.inside_now());
  live.fork = fork(present, [&](JobId row) {
    const JobRecord* job = book.find(belief.record(row));
    return job ? facts_of(*job, belief) : ForkFacts();
  });
  live.fork.host = {settings.host.cpus, double(settings.host.mem_mib), settings.limits.user_slices};
  for (const ForkJob& job : live.fork.jobs) live.ids.push_back(belief.record(job.live));
  live.shared = shared_by(live.fork);
  shorten_phantoms(live, book);
  const std::size_t visible = live.ids.size();
  for (std::size_t i = 0; i < visible; ++i)
    if (const JobRecord* job = book.find(live.ids[i]))
      put_rules(live.fork, live.fork.jobs[i], *job, book, rules, live.origin);
  std::size_t held = 0, free = 0;
  for (const auto& [id, job] : book.live()) {
    if (free == kMostInvisible || (id > scope.up_to && (scope.up_to == kNoId || free >= kMostAfter))) break;
    if (!is_waiting(job.status) || belief.row(id) != kNoJob) continue;
    const bool is_held = job.held_by != HeldBy::kNobody && id != scope.released;
    if (is_held && id != scope.up_to && held == kMostInvisible) continue;
    ++(is_held ? held : free);
    live.fork.jobs.push_back(invisible_job(job, facts_of(job, belief),
                                           job_in_fork(job, belief, settings.defaults.slack, live.shared), live.fork));
    if (id == scope.released) {
      JobRecord released = job;
      released.held_by = HeldBy::kNobody;
      put_rules(live.fork, live.fork.jobs.back(), released, book, rules, live.origin);
    } else {
      put_rules(live.fork, live.fork.jobs.back(), job, book, rules, live.origin);
    }
    live.ids.push_back(id);
  }
  if (live.ids.size() > visible) hold_what_waits_for_others(live, book);
  const bool later = rules.quotas && keep_the_week(live, book, *rules.quotas, belief.platform());
  if (later || live.ids.size() > visible) sort_by_submit(live);
  let_deadlines_move(live, book, settings, rules, belief.platform());
  live.fork.decided = !session.fleet().has_news();
  live.fork.look_again = session.asked_at();
  return live;
}

}  // namespace smartmig
