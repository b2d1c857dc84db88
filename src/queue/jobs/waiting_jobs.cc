#include "queue/jobs/waiting_jobs.h"

#include <algorithm>

#include "base/text.h"

namespace smartmig {

AdmissionJob asked_by(const JobRecord& job) {
  return {number(job.id),
          job.owner.uid,
          job.spec.priority,
          job.spec.deadline,
          job.times.submitted,
          job.work.estimate,
          job.spec.min_slices,
          job.status == JobStatus::kHeld,
          job.spec.patient.value_or(false)};
}

namespace {

// Beyond the numbers of arrays.
QueueId list_of_group(const std::string& group) { return QueueId(hash_text(group) | std::uint64_t(1) << 63); }

}  // namespace

WaitingJobs::Key WaitingJobs::key_of(const AdmissionJob& job) {
  return {-std::int64_t(job.priority), job.deadline.value_or(kNeverUnix), job.submitted, QueueId(job.id)};
}

void WaitingJobs::put(const JobRecord& job) {
  if (!is_waiting(job.status)) return erase(job.id);
  const bool limited = in_array(job) && job.spec.array_limit > 0;
  Entry entry{asked_by(job), limited ? job.array.id : kNoId, {}};
  if (!limited && !job.spec.group.empty()) {
    entry.array = list_of_group(job.spec.group);
    entry.group = job.spec.group;
  }
  const auto at = entries_.find(number(job.id));
  if (at != entries_.end()) {
    if (at->second.job == entry.job) return;
    remove(at->second);
    at->second = entry;
  } else {
    entries_.emplace(number(job.id), entry);
  }
  add(entry, job.spec.array_limit);
}

void WaitingJobs::erase(QueueId id) {
  const auto at = entries_.find(number(id));
  if (at == entries_.end()) return;
  remove(at->second);
  entries_.erase(at);
}

void WaitingJobs::add(const Entry& entry, int limit) {
  User& user = users_[entry.job.uid];
  ++user.waiting;
  ++priorities_[entry.job.priority];
  if (entry.job.held) return;
  if (entry.array == kNoId) {
    user.free.insert(key_of(entry.job));
    return;
  }
  Array& array = user.arrays[entry.array];
  if (!array.tasks.empty()) user.in_order.erase({*array.tasks.begin(), entry.array});
  array.limit = limit;
  array.group = entry.group;
  array.tasks.insert(key_of(entry.job));
  user.in_order.insert({*array.tasks.begin(), entry.array});
}

void WaitingJobs::remove(const Entry& entry) {
  const auto at = users_.find(entry.job.uid);
  User& user = at->second;
  if (const auto same = priorities_.find(entry.job.priority); --same->second == 0) priorities_.erase(same);
  if (!entry.job.held && entry.array == kNoId) user.free.erase(key_of(entry.job));
  if (!entry.job.held && entry.array != kNoId) {
    const auto array = user.arrays.find(entry.array);
    std::set<Key>& tasks = array->second.tasks;
    user.in_order.erase({*tasks.begin(), entry.array});
    tasks.erase(key_of(entry.job));
    if (tasks.empty())
      user.arrays.erase(array);
    else
      user.in_order.insert({*tasks.begin(), entry.array});
  }
  if (--user.waiting == 0) users_.erase(at);
}

std::size_t WaitingJobs::of_user(std::uint32_t uid) const {
  const auto at = users_.find(uid);
  return at == users_.end() ? 0 : at->second.waiting;
}

std::optional<int> WaitingJobs::highest_priority(QueueId but) const {
  const auto own = entries_.find(number(but));
  for (auto at = priorities_.rbegin(); at != priorities_.rend(); ++at)
    if (own == entries_.end() || own->second.job.priority != at->first || at->second > 1) return at->first;
  return std::nullopt;
}

std::size_t WaitingJobs::users() const {
  return std::size_t(std::count_if(users_.begin(), users_.end(), [](const auto& user) {
    return !user.second.free.empty() || !user.second.arrays.empty();
  }));
}

std::vector<AdmissionJob> WaitingJobs::first(std::size_t most, const std::map<QueueId, int>& running,
                                             const std::map<std::string, int>& left_of) const {
  std::vector<AdmissionJob> out;
  std::vector<Key> of_user;
  for (const auto& [uid, user] : users_) {
    of_user.clear();
    for (auto key = user.free.begin(); key != user.free.end() && of_user.size() < most; ++key) of_user.push_back(*key);
    const std::size_t free = of_user.size();
    for (const auto& [first_task, id] : user.in_order) {
      const Array& array = user.arrays.at(id);
      const auto busy = running.find(id);
      std::int64_t left = array.limit - (busy == running.end() ? 0 : busy->second);
      if (!array.group.empty()) {
        const auto limited = left_of.find(array.group);
        left = limited == left_of.end() ? std::int64_t(std::min<std::size_t>(most, INT32_MAX)) : limited->second;
      }
      for (auto key = array.tasks.begin(); key != array.tasks.end() && left > 0; ++key, --left) of_user.push_back(*key);
      if (of_user.size() - free >= most) break;
    }
    std::sort(of_user.begin(), of_user.end());
    of_user.resize(std::min(of_user.size(), most));
    for (const Key& key : of_user) out.push_back(entries_.at(number(key.id)).job);
  }
  return out;
}

}  // namespace smartmig
