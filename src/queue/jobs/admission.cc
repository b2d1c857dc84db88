#include "queue/jobs/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace smartmig {
namespace {

// Saturates far beyond any clock instead of overflowing.
UnixTime after(UnixTime from, double microseconds) {
  const double most = 1e17 - double(unix_us(from));
  return from + Time(std::int64_t(std::clamp(microseconds, 0.0, std::max(0.0, most))));
}

constexpr Time kDeadlineMatters{60'000'000};

double charge_us(const AdmissionJob& job) { return double(std::max(job.estimate, kLeastCharge).count()); }

struct Entry {
  const AdmissionJob* job = nullptr;
  UnixTime declared{}, wanted{}, presented{};  // declared: kNeverUnix where none was; wanted: soon
  std::uint32_t turn = 0;                      // within its user and priority
};

}  // namespace

AdmissionLimits admission_limits(const Settings& settings) {
  AdmissionLimits limits;
  limits.user_slices = settings.limits.user_slices;
  limits.window = std::size_t(settings.limits.window);
  limits.slack = settings.defaults.slack;
  return limits;
}

bool moved_much(UnixTime had, UnixTime wanted, UnixTime now) {
  const Time moved = had > wanted ? had - wanted : wanted - had;
  return moved > std::max(kDeadlineMatters, (wanted - now) / 10);
}

UnixTime soon(UnixTime submitted, Time estimate, double slack) {
  return after(submitted, slack * double(estimate.count()));
}

UnixTime Admission::account(std::uint32_t uid) const {
  const auto found = accounts_.find(uid);
  return found == accounts_.end() ? UnixTime{} : found->second;
}

void Admission::charge(const AdmissionJob& job, std::size_t active_users, int fleet_slices, int gpu_slices) {
  const double share = double(gpu_slices) * double(std::max<std::size_t>(1, active_users)) / std::max(1, fleet_slices);
  accounts_[job.uid] = after(std::max(job.submitted, account(job.uid)), charge_us(job) * share);
}

AdmissionAnswer Admission::admit(std::span<const AdmissionJob> jobs, std::span<const UserLoad> users,
                                 const AdmissionLimits& limits, int fleet_slices, int gpu_slices, UnixTime now) {
  AdmissionAnswer answer;
  std::unordered_map<std::uint32_t, int> running;  // of every active user
  for (const UserLoad& user : users)
    if (user.running_slices > 0) running[user.uid] += user.running_slices;
  std::vector<Entry> entries;
  entries.reserve(jobs.size());
  for (const AdmissionJob& job : jobs) {
    if (job.held) continue;
    running.try_emplace(job.uid, 0);
    const UnixTime wanted = soon(job.submitted, job.estimate, limits.slack);
    entries.push_back({&job, job.deadline.value_or(kNeverUnix), wanted, job.deadline.value_or(wanted), 0});
  }
  const bool alone = std::all_of(entries.begin(), entries.end(), [&](const Entry& e) {
    return e.job->uid == entries[0].job->uid && e.job->priority == entries[0].job->priority;
  });
  answer.active_users = running.size();
  for (auto account = accounts_.begin(); account != accounts_.end();) {
    account->second = std::min(account->second, now + limits.debt);
    account = account->second < now && !running.contains(account->first) ? accounts_.erase(account) : ++account;
  }

  // Each user's own order, then virtual finishes, turns and the user's cap.
  const auto own_order = [](const Entry& e) {
    return std::tuple(e.job->uid, -std::int64_t(e.job->priority), e.job->deadline.value_or(kNeverUnix),
                      e.job->submitted, e.job->id);
  };
  std::sort(entries.begin(), entries.end(),
            [&](const Entry& a, const Entry& b) { return own_order(a) < own_order(b); });
  const double share = double(gpu_slices) * double(answer.active_users) / std::max(1, fleet_slices);
  std::vector<Entry> shown;
  shown.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size();) {
    const std::uint32_t uid = entries[i].job->uid;
    UnixTime virtual_finish = account(uid);
    std::int64_t slices = running[uid];
    for (std::uint32_t turn = 0; i < entries.size() && entries[i].job->uid == uid; ++i, ++turn) {
      Entry& entry = entries[i];
      if (i > 0 && entries[i - 1].job->uid == uid && entries[i - 1].job->priority != entry.job->priority) turn = 0;
      virtual_finish = after(std::max(entry.job->submitted, virtual_finish), charge_us(*entry.job) * share);
      if (!alone) {
        const bool waits = entry.job->patient && entry.job->deadline;
        const UnixTime earlier = waits ? entry.declared : std::min(entry.declared, entry.wanted);
        entry.presented = answer.active_users > 1 ? std::max(earlier, virtual_finish) : earlier;
      }
      entry.turn = turn;
      slices += entry.job->slices;
      if (limits.user_slices > 0 && slices > limits.user_slices) {
        slices -= entry.job->slices;
        answer.user_full.push_back(entry.job->id);
        continue;
      }
      shown.push_back(entry);
    }
  }

  // Who is in the window: priorities first, then turn by turn.
  const auto window_order = [](const Entry& e) {
    return std::tuple(-std::int64_t(e.job->priority), e.turn, e.presented, e.job->submitted, e.job->id);
  };
  std::sort(shown.begin(), shown.end(),
            [&](const Entry& a, const Entry& b) { return window_order(a) < window_order(b); });
  std::size_t size = 0;
  std::int64_t wanted = 0;
  const std::int64_t enough = answer.active_users > 1 ? 2 * std::int64_t(fleet_slices) : INT64_MAX;
  while (size < shown.size() && size < limits.window && wanted < enough) {
    if (size > 0 && shown[size].job->priority != shown[size - 1].job->priority && wanted >= fleet_slices) break;
    wanted += shown[size++].job->slices;
  }
  shown.resize(size);
  const auto made_up = [&](const Entry& e) { return alone && !e.job->deadline; };
  const auto order = [&](const Entry& e) {
    return std::tuple(-std::int64_t(e.job->priority), made_up(e), e.presented, e.turn, e.job->submitted, e.job->id);
  };
  std::sort(shown.begin(), shown.end(), [&](const Entry& a, const Entry& b) { return order(a) < order(b); });

  UnixTime earliest_of_lower = kNeverUnix, earliest = kNeverUnix;
  for (std::size_t i = shown.size(); i-- > 0;) {
    if (i + 1 < shown.size() && shown[i].job->priority != shown[i + 1].job->priority) earliest_of_lower = earliest;
    shown[i].presented = std::min(shown[i].presented, earliest_of_lower);
    earliest = std::min(earliest, shown[i].presented);
  }
  answer.visible.reserve(shown.size());
  for (const Entry& e : shown) answer.visible.push_back({e.job->id, e.presented, made_up(e)});
  return answer;
}

}  // namespace smartmig
