#include "serve/attempts/visible_jobs.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr int kMostOfUsers = 64;  // jobs looked at again at once for what their users told; the first come first

}  // namespace

// No more of each user than can be in the window; under a cap on slices some are passed over.
std::vector<AdmissionJob> VisibleJobs::waiting() const {
  const std::size_t fill = 2 * std::size_t(std::max(1, boards_.slices_in_service()));
  std::size_t most = std::size_t(settings_.limits.window);
  if (book_.waiting().users() > 1) most = std::min(most, fill);
  if (settings_.limits.user_slices > 0 || quotas_.any()) most *= 4;
  std::map<std::string, int> left;
  if (!groups_.limits().empty()) {
    const auto busy = attempts_.running_of_groups(book_);
    for (const auto& [group, limit] : groups_.limits()) {
      const auto at = busy.find(group);
      left[group] = limit - (at == busy.end() ? 0 : at->second);
    }
  }
  std::vector<AdmissionJob> out =
      book_.waiting().first(most + attempts_.postponed_count(), attempts_.running_of_arrays(book_), left);
  std::erase_if(out, [&](const AdmissionJob& job) { return attempts_.postponed(QueueId(job.id)); });
  for (AdmissionJob& job : out) job.slices = asked_slices(book_.live().at(QueueId(job.id)), session_.platform());
  keep_group_limits(out);
  return out;
}

// Those that go beyond their group's limit wait: of all users, the first submitted ones of the highest priority go.
void VisibleJobs::keep_group_limits(std::vector<AdmissionJob>& jobs) const {
  if (groups_.limits().empty()) return;
  std::map<std::string, int> busy = attempts_.running_of_groups(book_);
  std::sort(jobs.begin(), jobs.end(), [](const AdmissionJob& a, const AdmissionJob& b) {
    return std::tuple(-std::int64_t(a.priority), a.submitted, a.id) <
           std::tuple(-std::int64_t(b.priority), b.submitted, b.id);
  });
  std::erase_if(jobs, [&](const AdmissionJob& job) {
    const std::string& group = book_.live().at(QueueId(job.id)).spec.group;
    const int most = groups_.limit(group);
    return most > 0 && ++busy[group] > most;
  });
}

// True: some of these do not wait for slices any more, but for the next week.
bool VisibleJobs::hold_beyond_quotas(const std::vector<AdmissionJob>& jobs) {
  bool held = false;
  for (const AdmissionJob& job : jobs)
    if (JobRecord* const record = book_.find(QueueId(job.id)); record && !quotas_.used_up(*record).empty())
      held |= !transitions_.check_dependencies(*record);
  return held;
}

// Of those that wait, in the order of keep_group_limits, as many as their quotas' slices leave.
void VisibleJobs::keep_quotas(std::vector<AdmissionJob>& jobs) {
  const auto by_submit = [](const AdmissionJob& a, const AdmissionJob& b) {
    return std::tuple(-std::int64_t(a.priority), a.submitted, a.id) <
           std::tuple(-std::int64_t(b.priority), b.submitted, b.id);
  };
  std::sort(jobs.begin(), jobs.end(), by_submit);
  std::vector<int> taken;
  const auto take = [&](const Quotas::Caps& caps, int slices, bool must) {
    taken.resize(quotas_.caps().size());
    bool fits = true;
    for (const int cap : caps)
      fits = fits && (cap < 0 || taken[std::size_t(cap)] + slices <= quotas_.caps()[std::size_t(cap)]);
    if (!fits && !must) return false;
    for (const int cap : caps)
      if (cap >= 0) taken[std::size_t(cap)] += slices;
    return true;
  };
  for (const AttemptTable::Running& one : attempts_.running(book_, session_.platform()))
    take(quotas_.caps_of(*one.job), one.slices, true);
  std::erase_if(jobs, [&](const AdmissionJob& job) {
    return !take(quotas_.caps_of(book_.live().at(QueueId(job.id))), job.slices, false);
  });
}

void VisibleJobs::count_quotas() {
  if (!quotas_.any()) {
    knows_begun_ = false;
    return quotas_.count({}, session_.now());
  }
  std::set<QueueId>& begun = quotas_.begun();
  if (!std::exchange(knows_begun_, true))
    for (const auto& [id, job] : book_.live())
      if (job.attempt > 0) begun.insert(id);
  std::vector<Quotas::Running> running;
  std::set<QueueId> on_slices;
  for (const AttemptTable::Running& one : attempts_.running(book_, session_.platform())) {
    running.push_back({one.job, one.slices});
    on_slices.insert(one.job->id);
  }
  begun.insert(on_slices.begin(), on_slices.end());
  for (auto at = begun.begin(); at != begun.end();) {
    const JobRecord* const job = book_.find(*at);
    if (job && !on_slices.contains(*at)) running.push_back({job, 0});
    at = job ? std::next(at) : begun.erase(at);
  }
  quotas_.count(running, session_.now());
}

std::vector<AdmissionJob> VisibleJobs::within_quotas() {
  count_quotas();
  std::vector<AdmissionJob> jobs = waiting();
  if (!quotas_.any()) return jobs;
  constexpr int kMostPasses = 8;  // the others wait for a later step
  for (int pass = 0; pass < kMostPasses && hold_beyond_quotas(jobs); ++pass) jobs = waiting();
  std::erase_if(jobs,
                [&](const AdmissionJob& job) { return !quotas_.used_up(book_.live().at(QueueId(job.id))).empty(); });
  keep_quotas(jobs);
  return jobs;
}

// Runs that ended tell of those that wait.
void VisibleJobs::use_what_was_learned() {
  std::vector<QueueId> shown;
  for (const auto& [id, row] : session_.belief().rows()) shown.push_back(id);
  if (session_.belief().free_rows() <= 2 * shown.size()) return;  // after the next compaction
  const Estimates::Learned learned = estimates_.take_learned();
  if (learned.programs.empty() && learned.users.empty()) return;
  int of_users = 0;
  for (const QueueId id : shown) {
    JobRecord* job = book_.find(id);
    if (!job || !is_waiting(job->status) || attempts_.postponed(id) || !session_.waits(id)) continue;
    if (job->work.source == EstimateSource::kGiven && settings_.defaults.exact_estimates) continue;
    const bool by_program = learned.programs.contains(program_of_job(*job)),
               by_user = job->work.source != EstimateSource::kHistory && learned.users.contains(job->owner.uid);
    if (!by_program && (!by_user || ++of_users > kMostOfUsers)) continue;
    if (!estimates_.refresh(*job)) continue;
    book_.changed(*job);
    session_.withdraw(id);
  }
}

void VisibleJobs::update(UnixTime daemon_started) {
  use_what_was_learned();
  shares_.count(attempts_.running(book_, session_.platform()));
  const std::vector<AdmissionJob> waiting_jobs = within_quotas();
  std::vector<UserLoad> users;
  for (const auto& [uid, slices] : shares_.user_slices()) users.push_back({uid, slices});
  const int of_gpu = session_.platform().models()[0].gpu->compute_slices();
  AdmissionAnswer answer = admission_.admit(waiting_jobs, users, admission_limits(settings_),
                                            std::max(1, boards_.slices_in_service()), of_gpu, session_.now());
  active_users_ = std::max<std::size_t>(1, answer.active_users);
  std::set<QueueId> shown;
  for (const AdmittedJob& one : answer.visible) shown.insert(QueueId(one.id));
  std::vector<QueueId> hidden;
  for (const auto& [id, row] : session_.belief().rows())
    if (const JobRecord* job = book_.find(id);
        job && is_waiting(job->status) && !attempts_.postponed(id) && !shown.count(id))
      hidden.push_back(id);
  for (const QueueId id : hidden) session_.withdraw(id);
  std::sort(answer.visible.begin(), answer.visible.end(), [&](const AdmittedJob& a, const AdmittedJob& b) {
    return std::pair(book_.live().at(QueueId(a.id)).times.submitted, a.id) <
           std::pair(book_.live().at(QueueId(b.id)).times.submitted, b.id);
  });
  for (const AdmittedJob& one : answer.visible) show(one, answer.visible.size(), daemon_started);
}

void VisibleJobs::show(const AdmittedJob& admitted, std::size_t shown, UnixTime daemon_started) {
  JobRecord* job = book_.find(QueueId(admitted.id));
  if (!job) return;
  const Belief& belief = session_.belief();
  if (const JobId row = belief.row(job->id); row != kNoJob) {
    const UnixTime had = belief.outside(belief.table()->job(row).deadline);
    const bool same = belief.table()->job(row).deadline_made_up == admitted.made_up;
    if (same && !moved_much(had, admitted.deadline, session_.now())) return;
    if (belief.free_rows() < 2 * shown) return;  // after the next compaction
    session_.withdraw(job->id);
  } else if (estimates_.refresh(*job)) {
    book_.changed(*job);
  }
  const auto row =
      session_.show(*job, admitted.deadline, std::max(job->times.submitted, daemon_started), admitted.made_up);
  if (!row) transitions_.finish(*job, JobStatus::kFailed, row.error().what, false);
}

void VisibleJobs::charge(const JobRecord& job) {
  AdmissionJob started = asked_by(job);
  started.held = false;
  admission_.charge(started, active_users_, session_.platform().total_compute_slices(),
                    session_.platform().models()[0].gpu->compute_slices());
  if (book_.live().size() > session_.belief().visible()) book_.queue_changed();
}

std::string VisibleJobs::accounts() const {
  std::string text;
  for (const auto& [uid, account] : admission_.accounts())
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", uid, unix_us(account));
  return text;
}

void VisibleJobs::set_accounts(const std::string& text) {
  if (text.empty()) return;
  for (const std::string_view item : split(text, ',')) {
    const auto colon = item.find(':');
    const auto uid = parse_int(item.substr(0, colon));
    const auto us = colon == item.npos ? std::nullopt : parse_int(item.substr(colon + 1));
    if (uid && us) admission_.set_account(std::uint32_t(*uid), from_unix_us(*us));
  }
}

}  // namespace smartmig
