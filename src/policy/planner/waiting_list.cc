#include "policy/planner/waiting_list.h"

#include <algorithm>
#include <cmath>

#include "policy/planner/job_rest.h"

namespace smartmig {
namespace {

constexpr std::size_t kLookedThrough = 512;  // entries: a daemon shows its policy no more by default

Time latest_start(const Cluster& cluster, const WaitingList::Entry& entry) {
  return entry.due ? cluster.jobs().job(entry.job).deadline - entry.least : cluster.now() - Time(1);
}

}  // namespace

WaitingList::Entry WaitingList::entry_of(const Cluster& cluster, JobId job) const {
  const Job& row = cluster.jobs().job(job);
  Entry entry{kNever, job, {}, row.has_deadline(), row.submit};
  entry.fair = entry.due && row.undeclared;
  Time longest{};
  const JobRest rest(cluster, job);
  for (std::size_t t = 0; t < cluster.platform().types().size(); ++t) {
    const Time left = rest.on(cluster, job, TypeId(t));
    if (left < Time{0}) continue;
    const Time area(std::llround(double(left.count()) * cluster.platform().type(TypeId(t)).room));
    entry.area = entry.least == kNever ? area : std::min(entry.area, area);
    entry.least = std::min(entry.least, left);
    longest = std::max(longest, left);
  }
  entry.octave = ArrivalsByLength::octave_of(minutes(longest));
  give_turn(cluster, entry);
  return entry;
}

void WaitingList::give_turn(const Cluster& cluster, Entry& entry) const {
  entry.turn = by_turns_ && entry.due ? cluster.jobs().job(entry.job).deadline : Time{0};
}

void WaitingList::take_turns(const Cluster& cluster) {
  if (by_turns_ == (fair_ > 0)) return;
  by_turns_ = fair_ > 0;
  for (Entry& entry : entries_) {
    give_turn(cluster, entry);
    known_[index(entry.job)].turn = entry.turn;
  }
  std::sort(entries_.begin(), entries_.end());
}

void WaitingList::count(const Cluster& cluster, const Entry& entry) {
  known_[index(entry.job)] = entry;
  counted_[entry.due].area += entry.area.count();
  counted_[entry.due].by_length[entry.octave] += entry.area.count();
  const Time latest = latest_start(cluster, entry);
  const bool late = latest < cluster.now();
  marks_[index(entry.job)] = late ? Mark::kLate : Mark::kOnTime;
  counted_[entry.due].late += late;
  fair_ += entry.fair;
  if (!late) latest_starts_.emplace(latest, index(entry.job));
}

void WaitingList::add(const Cluster& cluster, JobId job) {
  if (index(job) >= marks_.size()) {
    marks_.resize(cluster.jobs().size(), Mark::kAway);
    known_.resize(cluster.jobs().size());
  }
  const Entry entry = entry_of(cluster, job);
  entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), entry);
  count(cluster, entry);
}

void WaitingList::remove(JobId job) {
  if (index(job) >= marks_.size() || marks_[index(job)] == Mark::kAway) return;
  const Entry& entry = known_[index(job)];
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), entry);
  if (at != entries_.end() && at->job == job) entries_.erase(at);
  counted_[entry.due].area -= entry.area.count();
  counted_[entry.due].by_length[entry.octave] -= entry.area.count();
  counted_[entry.due].late -= marks_[index(job)] == Mark::kLate;
  fair_ -= entry.fair;
  marks_[index(job)] = Mark::kAway;
}

WaitingList::Others WaitingList::without(bool due, const Entry* one) const {
  Others out;
  Area area = 0;
  std::array<Area, ArrivalsByLength::kOctaves> by_length{};
  for (const bool counts : {true, false}) {
    if (due && !counts) break;
    out.late += counted_[counts].late;
    area += counted_[counts].area;
    for (std::size_t i = 0; i < by_length.size(); ++i) by_length[i] += counted_[counts].by_length[i];
  }
  if (one) {
    out.late -= is_late(one->job);
    area -= one->area.count();
    by_length[one->octave] -= one->area.count();
  }
  out.slice_minutes = double(area) / 60e6;
  for (std::size_t i = 0; i < by_length.size(); ++i) out.ahead += longer_[i] * double(by_length[i]) / 60e6;
  return out;
}

void WaitingList::read_anew(const Cluster& cluster) {
  entries_.clear();
  marks_.assign(cluster.jobs().size(), Mark::kAway);
  known_.resize(cluster.jobs().size());
  latest_starts_ = {};
  counted_[0] = counted_[1] = {};
  fair_ = 0;
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    entries_.push_back(entry_of(cluster, job));
    count(cluster, entries_.back());
  }
  std::sort(entries_.begin(), entries_.end());
}

void WaitingList::update(const Cluster& cluster, const std::vector<JobId>& touched) {
  bool known = identity_ == cluster.identity() && expected_decision_ == cluster.decision();
  if (known) {
    for (const JobId job : touched) {
      const bool waits = cluster.state(job).phase == JobPhase::kQueued;
      if (!waits) remove(job);
      if (waits && !has(job)) add(cluster, job);
    }
    for (const Event& event : cluster.news())
      if (event.kind == EventKind::kSubmitted) add(cluster, event.job);
    known = entries_.size() == cluster.unfinished() - cluster.running();
  }
  if (!known) read_anew(cluster);
  take_turns(cluster);
  identity_ = cluster.identity();
  expected_decision_ = cluster.decision() + 1;
  while (!latest_starts_.empty() && latest_starts_.top().first < cluster.now()) {
    const std::uint32_t job = latest_starts_.top().second;
    latest_starts_.pop();
    // A job that was stopped may wait again with less to do.
    if (marks_[job] != Mark::kOnTime || latest_start(cluster, known_[job]) >= cluster.now()) continue;
    marks_[job] = Mark::kLate;
    ++counted_[known_[job].due].late;
  }
  // Deadlines of a future move without news (DeadlinesAhead in eval/futures.h).
  if (entries_.size() > kLookedThrough) return;
  const auto moved = [&](const Entry& entry) {
    const Job& job = cluster.jobs().job(entry.job);
    const bool late = latest_start(cluster, entry) < cluster.now();
    return entry.due != job.has_deadline() || late != is_late(entry.job) ||
           (by_turns_ && entry.due && entry.turn != job.deadline);
  };
  if (std::none_of(entries_.begin(), entries_.end(), moved)) return;
  read_anew(cluster);
  take_turns(cluster);
}

}  // namespace smartmig
