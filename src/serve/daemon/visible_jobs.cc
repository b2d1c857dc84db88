#include "serve/daemon/visible_jobs.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr Time kDeadlineMatters{60'000'000};
constexpr int kMostOfUsers = 64;  // jobs looked at again at once for what their users told; the first come first

}  // namespace

AdmissionLimits VisibleJobs::limits() const {
  AdmissionLimits limits;
  limits.user_slices = settings_.limits.user_slices;
  limits.window = std::size_t(settings_.limits.window);
  limits.slack = settings_.defaults.slack;
  return limits;
}

// No more of each user than can be in the window; under a cap on slices some are passed over.
std::vector<AdmissionJob> VisibleJobs::waiting() const {
  const std::size_t fill = 2 * std::size_t(std::max(1, boards_.slices_in_service()));
  std::size_t most = std::size_t(settings_.limits.window);
  if (book_.waiting().users() > 1) most = std::min(most, fill);
  if (settings_.limits.user_slices > 0) most *= 4;
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
  const std::vector<AdmissionJob> waiting_jobs = waiting();
  std::vector<UserLoad> users;
  for (const auto& [uid, slices] : shares_.user_slices()) users.push_back({uid, slices});
  const int of_gpu = session_.platform().models()[0].gpu->compute_slices();
  AdmissionAnswer answer =
      admission_.admit(waiting_jobs, users, limits(), std::max(1, boards_.slices_in_service()), of_gpu, session_.now());
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
    const Time moved = had > admitted.deadline ? had - admitted.deadline : admitted.deadline - had;
    const bool same = belief.table()->job(row).deadline_made_up == admitted.made_up;
    if (same && moved <= std::max(kDeadlineMatters, (admitted.deadline - session_.now()) / 10)) return;
    if (belief.free_rows() < 2 * shown) return;  // after the next compaction
    session_.withdraw(job->id);
  } else if (estimates_.refresh(*job)) {
    book_.changed(*job);
  }
  const auto row =
      session_.show(*job, admitted.deadline, std::max(job->times.submitted, daemon_started), admitted.made_up);
  if (!row) lifecycle_.finish(*job, JobStatus::kFailed, row.error().what, false);
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
