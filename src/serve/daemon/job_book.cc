#include "serve/daemon/job_book.h"

#include "base/moved.h"
#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostGone = 20'000;

}  // namespace

std::vector<JobBook::Damaged> JobBook::load(const StoreStart& start, std::uint64_t last_id) {
  std::vector<Damaged> damaged;
  last_id_ = QueueId(std::max(start.last_job, last_id));
  for (const JobRow& row : start.live) {
    auto job = from_row(row);
    if (!job) {
      damaged.push_back({row, job.error().what});
      continue;
    }
    for (const Dependency& d : job->spec.dependencies) dependents_[QueueId(d.job)].push_back(job->id);
    waiting_.put(enter(std::move(*job)));
  }
  return damaged;
}

JobRecord& JobBook::enter(JobRecord job) {
  const QueueId id = job.id;
  by_title_[{job.owner.uid, title(job)}].insert(id);
  job.version = ++version_;
  return jobs_.emplace(id, std::move(job)).first->second;
}

std::optional<std::vector<QueueId>> JobBook::gone_since(std::uint64_t version) const {
  if (version < forgotten_) return std::nullopt;
  std::vector<QueueId> out;
  for (auto at = gone_.rbegin(); at != gone_.rend() && at->first > version; ++at) out.push_back(at->second);
  return out;
}

void JobBook::forget_title(const JobRecord& job) {
  const auto same = by_title_.find({job.owner.uid, title(job)});
  if (same != by_title_.end() && same->second.erase(job.id) > 0 && same->second.empty()) by_title_.erase(same);
}

std::vector<QueueId> JobBook::dependents(QueueId id) const {
  const auto at = dependents_.find(id);
  return at == dependents_.end() ? std::vector<QueueId>() : at->second;
}

std::vector<QueueId> JobBook::namesakes(std::uint32_t uid, const std::string& title) const {
  const auto at = by_title_.find({uid, title});
  return at == by_title_.end() ? std::vector<QueueId>() : std::vector<QueueId>(at->second.begin(), at->second.end());
}

QueueId JobBook::first_namesake(const JobRecord& job) const {
  const auto at = by_title_.find({job.owner.uid, title(job)});
  return at == by_title_.end() ? job.id : *at->second.begin();
}

JobRecord* JobBook::find(QueueId id) {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : &at->second;
}

void JobBook::changed(const JobRecord& job) {
  if (JobRecord* mine = find(job.id)) mine->version = ++version_;
  pending_.changed(job.id);
  waiting_.put(job);
}

void JobBook::respecified(const JobRecord& job) {
  if (JobRecord* mine = find(job.id)) mine->version = ++version_;
  pending_.respecified(job.id);
  waiting_.put(job);
}

JobRecord& JobBook::accept(JobRecord record) {
  last_id_ = record.id = next_id();
  JobRecord& job = enter(std::move(record));
  for (const Dependency& d : job.spec.dependencies)
    if (jobs_.count(QueueId(d.job))) dependents_[QueueId(d.job)].push_back(job.id);
  pending_.accepted(job.id);
  waiting_.put(job);
  queue_changed_ = true;
  return job;
}

JobRecord& JobBook::take_over(JobRecord record) {
  last_id_ = std::max(last_id_, record.id);
  pending_.accepted(record.id);
  queue_changed_ = true;
  return enter(std::move(record));
}

JobRecord& JobBook::bring_back(JobRecord record) {
  settling_.erase(record.id);
  return enter(std::move(record));
}

void JobBook::end(JobRecord& job) {
  SMARTMIG_CHECK(is_final(job.status), "job {} is {} and was to be ended", job.id, name_of(job.status));
  pending_.ended(job);
  const QueueId id = job.id;
  waiting_.erase(id);
  if (job.attempt > 0) settling_[id] = job;
  forget_title(job);
  ended_.push_back(std::move(job));
  jobs_.erase(id);
  gone_.emplace_back(++version_, id);
  if (gone_.size() > kMostGone) {
    forgotten_ = gone_.front().first;
    gone_.pop_front();
  }
  queue_changed_ = true;
}

std::vector<QueueId> JobBook::take_dependents(QueueId id) {
  const auto at = dependents_.find(id);
  if (at == dependents_.end()) return {};
  std::vector<QueueId> out = std::move(at->second);
  dependents_.erase(at);
  queue_changed_ = true;
  return out;
}

JobStatus JobBook::status_of(QueueId id) const {
  if (const JobRecord* job = find(id)) return job->status;
  const auto row = pending_.row(id);
  return row && *row ? JobStatus((*row)->status) : JobStatus::kFailed;
}

bool JobBook::credit(QueueId id, double joules, EnergySource source) {
  if (JobRecord* job = find(id)) {
    job->energy.joules += joules;
    job->energy.source = source;
    pending_.credited(id);
    return false;
  }
  auto at = settling_.find(id);
  if (at == settling_.end()) {  // ended under an earlier daemon, or settled on the last of its GPUs
    const auto row = pending_.row(id);
    if (!row || !*row) return true;
    auto job = from_row(**row);
    if (!job) return true;
    at = settling_.emplace(id, std::move(*job)).first;
  }
  at->second.energy.joules += joules;
  at->second.energy.source = source;
  pending_.credited_ended(at->second);
  return true;
}

void JobBook::clock_stepped(Time by) {
  const auto move = [by](JobRecord& job) {
    for (UnixTime* t :
         {&job.times.submitted, &job.times.first_started, &job.times.started, &job.times.ended, &job.ahead.began})
      *t = moved(*t, by);
  };
  for (auto& [id, job] : jobs_) {
    move(job);
    changed(job);
  }
  for (auto& [id, job] : settling_) move(job);
  pending_.clock_stepped(by);
  queue_changed_ = true;
}

void JobBook::settled(int gpu, UnixTime until) {
  std::erase_if(settling_, [&](const auto& entry) {
    const JobRecord& job = entry.second;
    const bool all_known = job.place.gpu < 0 || (job.place.gpu == gpu && job.times.ended <= until);
    if (all_known) settled_.push_back(job);
    return all_known;
  });
}

bool JobBook::commit(std::vector<EventRow> events, const std::function<std::string()>& meters, UnixTime now,
                     const std::function<void(QueueId)>& forget) {
  const bool had_trouble = !disk_trouble().empty();
  const PendingCommit::Outcome outcome =
      pending_.commit([this](QueueId id) { return find(id); }, std::move(events), meters, now);
  if (outcome.stored && had_trouble) queue_changed_ = true;
  for (const QueueId id : outcome.unaccepted) {
    const JobRecord* job = find(id);
    if (!job) continue;
    forget(id);
    for (const Dependency& d : job->spec.dependencies)
      if (const auto at = dependents_.find(QueueId(d.job)); at != dependents_.end()) std::erase(at->second, id);
    waiting_.erase(id);
    forget_title(*job);
    jobs_.erase(id);
    gone_.emplace_back(++version_, id);
  }
  return outcome.stored;
}

}  // namespace smartmig
