#include "serve/daemon/live_fork.h"

#include <algorithm>

#include "model/speed.h"
#include "serve/daemon/admission.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostInvisible = 2000;

ForkFacts facts_of(const JobRecord& job, const Belief& belief) {
  return {job.spec.deadline ? belief.inside(*job.spec.deadline) : kNever, job.owner.uid, job.spec.cpus,
          job.spec.host_mem_mib};
}

bool runs_on(const JobBook& book, QueueId id) {
  const JobRecord* job = book.find(id);
  return job && !job->suspended;
}

// What a dead process or a suspended job holds is not to set the end of a future: it lasts as long as the longest of the others.
void shorten_phantoms(LiveFork& live, const JobBook& book) {
  Time longest{0};
  for (std::size_t i = 0; i < live.ids.size(); ++i) {
    const ForkJob& job = live.fork.jobs[i];
    if (runs_on(book, live.ids[i]))
      longest =
          std::max(longest, job.gpu != kNoGpu ? job.left : *std::max_element(job.job.work.begin(), job.job.work.end()));
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
  one.job.kind = -1;
  if (SpeedTable::builtin().has(job.spec.kind)) {
    const auto at = std::find(fork.kinds.begin(), fork.kinds.end(), job.spec.kind);
    one.job.kind = int(at - fork.kinds.begin());
    if (at == fork.kinds.end()) fork.kinds.push_back(job.spec.kind);
  }
  return one;
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

}  // namespace

Job job_in_fork(const JobRecord& job, const Belief& belief, double slack, bool shared) {
  const UnixTime wanted = soon(job.times.submitted, job.work.estimate, slack);
  if (shared) return belief.job_of(job, std::min(job.spec.deadline.value_or(kNeverUnix), wanted));
  return belief.job_of(job, job.spec.deadline.value_or(wanted), !job.spec.deadline);
}

LiveFork fork_of(const LiveSession& session, const JobBook& book, const Settings& settings, QueueId up_to) {
  const Belief& belief = session.belief();
  LiveFork live;
  live.origin = belief.origin();
  live.prices = settings.priced();
  live.fork = fork(session.cluster(), [&](JobId row) {
    const JobRecord* job = book.find(belief.record(row));
    return job ? facts_of(*job, belief) : ForkFacts();
  });
  live.fork.host = {settings.host.cpus, double(settings.host.mem_mib), settings.limits.user_slices};
  for (const ForkJob& job : live.fork.jobs) live.ids.push_back(belief.record(job.live));
  live.shared = shared_by(live.fork);
  shorten_phantoms(live, book);
  const std::size_t visible = live.ids.size();
  for (const auto& [id, job] : book.live()) {
    if (id > up_to || live.ids.size() == visible + kMostInvisible) break;
    if (!is_waiting(job.status) || belief.row(id) != kNoJob) continue;
    if (job.status == JobStatus::kHeld && id != up_to) continue;
    live.fork.jobs.push_back(invisible_job(job, facts_of(job, belief),
                                           job_in_fork(job, belief, settings.defaults.slack, live.shared), live.fork));
    live.ids.push_back(id);
  }
  if (live.ids.size() > visible) sort_by_submit(live);
  live.fork.decided = live.ids.size() == visible && !session.fleet().has_news();
  return live;
}

}  // namespace smartmig
