#include "queue/jobs/live_jobs.h"

#include <algorithm>
#include <array>

#include "base/moved.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostGone = 20'000;

std::array<UnixTime*, 5> happened(JobRecord& job) {
  return {&job.times.submitted, &job.times.first_started, &job.times.started, &job.times.ended, &job.prelaunch.began};
}

void move_all(JobRecord& job, Time by) {
  for (UnixTime* t : happened(job)) *t = moved(*t, by);
}

}  // namespace

std::uint64_t bytes_of(const JobSpec& spec) {
  std::uint64_t sum = 1024 + spec.directory.size() + spec.submit_directory.size() + spec.output.size() +
                      spec.error.size() + spec.mem_basis.size() + sizeof(Dependency) * spec.dependencies.size();
  for (const std::string& argument : shown_command(spec.command)) sum += argument.size() + sizeof(std::string);
  return sum;
}

std::vector<LiveJobs::Damaged> LiveJobs::load(const StoreStart& start, std::uint64_t last_id) {
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

JobRecord& LiveJobs::enter(JobRecord job) {
  const QueueId id = job.id;
  by_title_[{job.owner.uid, title(job)}].insert(id);
  job.launch.counted = bytes_of(job.spec);
  count_bytes(job, true);
  job.version = ++version_;
  return jobs_.emplace(id, std::move(job)).first->second;
}

std::optional<std::vector<QueueId>> LiveJobs::gone_since(std::uint64_t version) const {
  if (version < forgotten_) return std::nullopt;
  std::vector<QueueId> out;
  for (auto at = gone_.rbegin(); at != gone_.rend() && at->first > version; ++at) out.push_back(at->second);
  return out;
}

void LiveJobs::leave(const JobRecord& job) {
  count_bytes(job, false);
  const auto same = by_title_.find({job.owner.uid, title(job)});
  if (same != by_title_.end() && same->second.erase(job.id) > 0 && same->second.empty()) by_title_.erase(same);
}

std::vector<QueueId> LiveJobs::dependents(QueueId id) const {
  const auto at = dependents_.find(id);
  return at == dependents_.end() ? std::vector<QueueId>() : at->second;
}

// An environment counts once, with the first and the last of its jobs.
void LiveJobs::count_bytes(const JobRecord& job, bool enters) {
  std::uint64_t bytes = job.launch.counted;
  if (job.launch.id != 0) {
    std::size_t& jobs = launches_[job.launch.id];
    if (!enters) --jobs;
    if (jobs == 0) bytes += job.launch.bytes;
    if (enters) ++jobs;
    if (jobs == 0) launches_.erase(job.launch.id);
  }
  std::uint64_t& sum = bytes_[job.owner.uid];
  sum = enters ? sum + bytes : sum - std::min(sum, bytes);
  if (sum == 0) bytes_.erase(job.owner.uid);
}

std::uint64_t LiveJobs::bytes_of_user(std::uint32_t uid) const {
  const auto at = bytes_.find(uid);
  return at == bytes_.end() ? 0 : at->second;
}

void LiveJobs::store_launch(JobRecord& job) {
  std::string text = launch_json(job.spec);
  if (text.empty()) return;
  job.launch.id = number(job.id);
  job.launch.bytes = text.size();
  pending_.launch({number(job.id), job.owner.uid, std::move(text)});
  job.launch.command = bytes_of_command(job.spec) > kLongCommand;
  if (job.launch.command) job.spec.command = shown_command(job.spec.command);
  job.spec.environment = {};
  job.spec.script = {};
}

Result<std::string> LiveJobs::launch(const JobRecord& job) const {
  if (job.launch.id == 0) return std::string();
  SMARTMIG_TRY(auto text, pending_.launch(job.launch.id));
  if (!text)
    return not_found("the environment of job {} has been removed (limits.user_store); submit it again", job.id);
  return std::move(*text);
}

Result<Ok> LiveJobs::add_launch(const JobRecord& job, JobSpec& spec) {
  if (job.launch.id == 0) return Ok{};
  if (parsed_.id != job.launch.id) {
    SMARTMIG_TRY(const std::string text, launch(job));
    JobSpec read;
    SMARTMIG_RETURN_IF_ERROR(take_launch(read, text));
    parsed_.id = job.launch.id;
    parsed_.spec = std::move(read);
  }
  spec.environment = parsed_.spec.environment;
  spec.script = parsed_.spec.script;
  if (!parsed_.spec.command.empty()) spec.command = parsed_.spec.command;
  return Ok{};
}

QueueId LiveJobs::reserve(std::size_t count) {
  const QueueId first = next_id();
  last_id_ = QueueId(number(last_id_) + count);
  return first;
}

QueueId LiveJobs::namesake_before(const JobRecord& job) const {
  const auto same = by_title_.find({job.owner.uid, title(job)});
  if (same == by_title_.end()) return kNoId;
  const auto at = same->second.lower_bound(job.id);
  return at == same->second.begin() ? kNoId : *std::prev(at);
}

QueueId LiveJobs::namesake_after(std::uint32_t uid, const std::string& title, QueueId id) const {
  const auto same = by_title_.find({uid, title});
  if (same == by_title_.end()) return kNoId;
  const auto at = same->second.upper_bound(id);
  return at == same->second.end() ? kNoId : *at;
}

JobRecord* LiveJobs::find(QueueId id) {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : &at->second;
}

void LiveJobs::changed(const JobRecord& job) {
  if (JobRecord* mine = find(job.id)) mine->version = ++version_;
  pending_.changed(job.id);
  waiting_.put(job);
}

void LiveJobs::respecified(const JobRecord& job) {
  if (JobRecord* mine = find(job.id)) mine->version = ++version_;
  pending_.respecified(job.id);
  waiting_.put(job);
}

JobRecord& LiveJobs::accept(JobRecord record) {
  last_id_ = record.id = next_id();
  store_launch(record);
  pending_.accepted(record.id);
  return unfold(std::move(record));
}

JobRecord& LiveJobs::unfold(JobRecord record) {
  JobRecord& job = enter(std::move(record));
  for (const Dependency& d : job.spec.dependencies)
    if (jobs_.count(QueueId(d.job))) dependents_[QueueId(d.job)].push_back(job.id);
  pending_.respecified(job.id);
  waiting_.put(job);
  queue_changed_ = true;
  return job;
}

JobRecord& LiveJobs::take_over(JobRecord record) {
  last_id_ = std::max(last_id_, record.id);
  store_launch(record);
  pending_.accepted(record.id);
  queue_changed_ = true;
  return enter(std::move(record));
}

JobRecord& LiveJobs::bring_back(JobRecord record, UnixTime now) {
  settling_.erase(record.id);
  UnixTime last = now;
  for (const UnixTime* t : happened(record))
    if (*t != kNotYet && *t != kNeverUnix) last = std::max(last, *t);
  move_all(record, now - last);
  return enter(std::move(record));
}

void LiveJobs::end(JobRecord& job) {
  SMARTMIG_CHECK(is_final(job.status), "job {} is {} and cannot be ended", job.id, name_of(job.status));
  pending_.ended(job);
  const QueueId id = job.id;
  waiting_.erase(id);
  if (job.attempt > 0) settling_[id] = job;
  leave(job);
  ended_.push_back(std::move(job));
  jobs_.erase(id);
  gone_.emplace_back(++version_, id);
  if (gone_.size() > kMostGone) {
    forgotten_ = gone_.front().first;
    gone_.pop_front();
  }
  queue_changed_ = true;
}

std::vector<QueueId> LiveJobs::take_dependents(QueueId id) {
  const auto at = dependents_.find(id);
  if (at == dependents_.end()) return {};
  std::vector<QueueId> out = std::move(at->second);
  dependents_.erase(at);
  queue_changed_ = true;
  return out;
}

JobStatus LiveJobs::status_of(QueueId id) const {
  if (const JobRecord* job = find(id)) return job->status;
  const auto row = pending_.row(id);
  return row && *row ? JobStatus((*row)->status) : JobStatus::kFailed;
}

bool LiveJobs::credit(QueueId id, double joules, EnergySource source) {
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
  late_.push_back({at->second, joules});
  return true;
}

void LiveJobs::clock_stepped(Time by) {
  for (auto& [id, job] : jobs_) {
    move_all(job, by);
    changed(job);
  }
  for (auto& [id, job] : settling_) move_all(job, by);
  pending_.clock_stepped(by);
  queue_changed_ = true;
}

void LiveJobs::settled(int gpu, UnixTime until) {
  std::erase_if(settling_, [&](const auto& entry) {
    const JobRecord& job = entry.second;
    const bool all_known = job.place.gpu < 0 || (job.place.gpu == gpu && job.times.ended <= until);
    if (all_known) settled_.push_back(job);
    return all_known;
  });
}

Result<Ok> LiveJobs::room_for(std::uint64_t more_bytes) const {
  if (!disk_trouble().empty()) return io_error("nothing was changed: {}", disk_trouble());
  const auto room = pending_.room_for(more_bytes);
  if (!room) return io_error("nothing was changed: {}", room.error().what);
  return Ok{};
}

bool LiveJobs::commit(std::vector<EventRow> events, const std::function<std::string()>& meters, UnixTime now,
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
    leave(*job);
    jobs_.erase(id);
    gone_.emplace_back(++version_, id);
  }
  return outcome.stored;
}

}  // namespace smartmig
