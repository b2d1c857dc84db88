#include "eval/future_arrivals.h"

#include <algorithm>
#include <unordered_map>

namespace smartmig {

// Counts a waiting job's progress in time on the slice type where it is slowest: that is the finest resolution.
Event found_with_progress(const FoundFleet& fleet, JobId job, Time at) {
  const Platform& platform = *fleet.platform;
  GpuId slowest_gpu = kNoGpu;
  PlacementId slowest = kNoPlacement;
  Time longest{-1};
  for (std::size_t m = 0, gpu = 0; m < platform.models().size(); ++m) {
    while (platform.model_index(GpuId(gpu)) != int(m)) ++gpu;  // models are numbered by their first GPU
    const auto& types = platform.models()[m].type_of_placement;
    for (std::size_t p = 0; p < types.size(); ++p)
      if (const Time work = fleet.jobs->work(job, types[p]); work > longest) {
        longest = work;
        slowest_gpu = GpuId(gpu);
        slowest = PlacementId(p);
      }
  }
  const double remaining = fleet.found[index(job)].remaining;
  return Event::found_waiting(at, job, slowest_gpu, slowest, rounded(remaining * double(longest.count())));
}

Cluster cluster_of(const FoundFleet& fleet) {
  Cluster cluster(fleet.platform, fleet.jobs, fleet.cost, fleet.layouts, fleet.now);
  for (std::size_t j = 0; j < fleet.found.size(); ++j)
    if (!fleet.found[j].comes_later) cluster.apply(Event::submitted(fleet.now, JobId(j)));
  for (std::size_t j = 0; j < fleet.found.size(); ++j) {
    const FoundJob& job = fleet.found[j];
    if (job.comes_later) continue;
    if (job.gpu != kNoGpu)
      cluster.apply(Event::found_running(fleet.now, JobId(j), job.gpu, job.where, job.left));
    else if (job.remaining < 1)
      cluster.apply(found_with_progress(fleet, JobId(j), fleet.now));
  }
  for (std::size_t g = 0; g < fleet.targets.size(); ++g)
    if (fleet.targets[g] != fleet.layouts[g])
      cluster.apply(Event::reshape_asked(fleet.now, GpuId(g), fleet.targets[g]));
  cluster.end_decision(false);
  cluster.begin_decision();
  return cluster;
}

FutureArrivals::FutureArrivals(const Fork& fork)
    : fork_(fork), jobs_(fork.jobs.size()), dependents_(fork.jobs.size()), busy_(fork.limits.size(), 0) {
  std::unordered_map<std::uint64_t, std::size_t> by_key;
  for (std::size_t j = 0; j < jobs_.size(); ++j) by_key.emplace(fork.jobs[j].key, j);
  std::map<std::tuple<int, bool, std::uint32_t>, int> lists;
  std::vector<std::size_t> without;  // jobs that wait for a job that is not in the fork
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const ForkJob& job = fork.jobs[j];
    put_in_list(j, lists);
    if (job.gpu != kNoGpu) change(j, Phase::kRuns);
    if (job.gpu != kNoGpu || job.live != kNoJob) continue;
    for (const ForkAfter& after : job.after) {
      const auto at = by_key.find(after.job);
      if (at != by_key.end() && after.when == ForkAfter::kStarts && fork.jobs[at->second].gpu != kNoGpu) continue;
      if (at != by_key.end()) {
        dependents_[at->second].push_back({j, after.when});
        ++jobs_[j].open;
      } else if (after.when == ForkAfter::kEndsWell) {
        without.push_back(j);
      }
    }
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const ForkJob& job = fork.jobs[j];
    if (job.gpu != kNoGpu) continue;
    if (job.live != kNoJob)
      change(j, Phase::kShown);  // it may run: its rules hold
    else if (jobs_[j].open == 0)
      may_come(j, fork.now);
  }
  for (const std::size_t j : without)
    if (jobs_[j].phase == Phase::kWaits || jobs_[j].phase == Phase::kDue) {
      std::erase(due_, std::pair(j, true));
      begins_.erase({fork.jobs[j].begin, j});
      change(j, Phase::kCancelled);
      over(j, false, fork.now);
    }
  choose_ = !lists_.empty();
  choose();
  for (const auto& [j, in] : due_)
    if (in) {
      change(j, Phase::kShown);
      news_ = true;
    }
  due_.clear();
  choose_ = false;
}

FutureArrivals::Key FutureArrivals::key_of(std::size_t j) const {
  const ForkJob& job = fork_.jobs[j];
  return {-std::int64_t(job.priority), job.declared, job.job.submit, job.key, j};
}

void FutureArrivals::put_in_list(std::size_t j, std::map<std::tuple<int, bool, std::uint32_t>, int>& lists) {
  const ForkJob& job = fork_.jobs[j];
  const bool array = job.array >= 0;
  if (!array && job.group < 0) return;
  const auto [at, is_new] =
      lists.emplace(std::tuple(array ? job.array : job.group, array, array ? 0 : job.user), int(lists_.size()));
  if (is_new) lists_.push_back({array ? job.array : job.group, {}});
  jobs_[j].list = at->second;
}

void FutureArrivals::change(std::size_t j, Phase to) {
  State& state = jobs_[j];
  const auto listed = [](Phase phase) { return phase == Phase::kDue || phase == Phase::kShown; };
  const Phase from = std::exchange(state.phase, to);
  if (state.list < 0) return;
  const ForkJob& job = fork_.jobs[j];
  for (const int limit : {job.array, job.group})
    if (limit >= 0) busy_[std::size_t(limit)] += int(to == Phase::kRuns) - int(from == Phase::kRuns);
  if (listed(from) && !listed(to)) lists_[std::size_t(state.list)].jobs.erase(key_of(j));
  if (!listed(from) && listed(to)) lists_[std::size_t(state.list)].jobs.insert(key_of(j));
  choose_ = true;
}

// All its dependencies hold.
void FutureArrivals::may_come(std::size_t j, Time now) {
  const ForkJob& job = fork_.jobs[j];
  if (job.held) return;
  if (job.begin > now)
    begins_.insert({job.begin, j});
  else
    comes(j);
}

void FutureArrivals::comes(std::size_t j) {
  change(j, Phase::kDue);
  if (jobs_[j].list < 0) due_.emplace_back(j, true);
}

void FutureArrivals::holds(std::size_t j, Time now) {
  if (--jobs_[j].open == 0 && jobs_[j].phase == Phase::kWaits) may_come(j, now);
}

void FutureArrivals::started(JobId id, Time now) {
  change(index(id), Phase::kRuns);
  std::vector<Dependent> all = std::move(dependents_[index(id)]), left;
  for (const Dependent& one : all)
    if (one.when == ForkAfter::kStarts)
      holds(one.job, now);
    else
      left.push_back(one);
  dependents_[index(id)] = std::move(left);
}

void FutureArrivals::ended(JobId id, Time now) {
  change(index(id), Phase::kOver);
  over(index(id), true, now);
}

void FutureArrivals::over(std::size_t j, bool well, Time now) {
  std::deque<std::pair<std::size_t, bool>> ends = {{j, well}};
  for (; !ends.empty(); ends.pop_front()) {
    const auto [of, ended_well] = ends.front();
    for (const Dependent& one : std::exchange(dependents_[of], {})) {
      const bool never =
          one.when == ForkAfter::kEndsWell ? !ended_well : one.when == ForkAfter::kEndsBadly && ended_well;
      if (!never) {
        holds(one.job, now);
      } else if (jobs_[one.job].phase == Phase::kWaits) {
        change(one.job, Phase::kCancelled);
        ends.emplace_back(one.job, false);
      }
    }
  }
}

// First each list is cut to its limit, then each group to its limit.
std::vector<std::size_t> FutureArrivals::chosen() const {
  std::vector<std::size_t> out;
  for (const List& list : lists_) {
    int left = fork_.limits[std::size_t(list.limit)] - busy_[std::size_t(list.limit)];
    for (auto key = list.jobs.begin(); key != list.jobs.end() && left > 0; ++key, --left)
      out.push_back(std::get<4>(*key));
  }
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    const ForkJob &x = fork_.jobs[a], &y = fork_.jobs[b];
    return std::tuple(-std::int64_t(x.priority), x.job.submit, x.key, a) <
           std::tuple(-std::int64_t(y.priority), y.job.submit, y.key, b);
  });
  std::vector<int> busy = busy_;
  std::erase_if(out, [&](std::size_t j) {
    const int group = fork_.jobs[j].group;
    return group >= 0 && ++busy[std::size_t(group)] > fork_.limits[std::size_t(group)];
  });
  return out;
}

void FutureArrivals::choose() {
  if (!choose_) return;
  choose_ = false;
  const std::vector<std::size_t> now = chosen();
  const std::set<std::size_t> wanted(now.begin(), now.end());
  for (const List& list : lists_)
    for (const Key& key : list.jobs)
      if (const std::size_t j = std::get<4>(key); jobs_[j].phase == Phase::kShown && !wanted.contains(j))
        due_.emplace_back(j, false);
  for (const std::size_t j : now)
    if (jobs_[j].phase == Phase::kDue) due_.emplace_back(j, true);
}

bool FutureArrivals::next(Time now, const Cluster& cluster, Event& event) {
  while (!begins_.empty() && begins_.begin()->first <= now) {
    const std::size_t j = begins_.begin()->second;
    begins_.erase(begins_.begin());
    if (jobs_[j].phase == Phase::kWaits) comes(j);
  }
  if (due_.empty()) choose();
  while (!due_.empty()) {
    const auto [j, in] = due_.front();
    due_.pop_front();
    const JobState& state = cluster.state(JobId(j));
    if (!in && (state.phase != JobPhase::kQueued || state.type != kNoType)) continue;  // what has run keeps its place
    const bool again = choose_;  // applying the choice must not trigger another one
    change(j, in ? Phase::kShown : Phase::kDue);
    choose_ = again;
    event = in ? Event::submitted(now, JobId(j)) : Event::withdrawn(now, JobId(j));
    return true;
  }
  return false;
}

NoStart FutureArrivals::no_start(std::size_t j) const {
  if (jobs_[j].phase == Phase::kCancelled) return NoStart::kDependencyFails;
  if (jobs_[j].phase != Phase::kWaits) return NoStart::kStarts;
  return fork_.jobs[j].held ? NoStart::kHeld : NoStart::kWaitsForHeld;
}

FutureFleet::FutureFleet(const FoundFleet& found, const Cluster& cluster, FutureArrivals& arrivals)
    : found_(found), arrivals_(arrivals), fleet_(cluster), starts_(found.found.size(), Time{-1}) {
  fleet_.tell_no_arrivals(cluster);
}

bool FutureFleet::arrival(Time now, const Cluster& cluster, Event& event) {
  if (const JobId job = std::exchange(with_progress_, kNoJob); job != kNoJob) {
    event = found_with_progress(found_, job, now);
    return true;
  }
  if (!arrivals_.next(now, cluster, event)) return false;
  if (event.kind == EventKind::kSubmitted && found_.found[index(event.job)].remaining < 1) with_progress_ = event.job;
  return true;
}

void FutureFleet::see(const Event& event) {
  if (event.kind == EventKind::kFinished) arrivals_.ended(event.job, event.at);
}

bool FutureFleet::next(const Cluster& cluster, Event& event) {
  for (;;) {
    if (arrival(cluster.now(), cluster, event)) return true;
    const Time begin = arrivals_.next_begin();
    if (cluster.unfinished() == 0 && begin == kNever) return false;
    fleet_.stop_before(std::min(horizon_, begin));
    if (fleet_.next(cluster, event)) {
      see(event);
      return true;
    }
    if (begin == kNever || begin > horizon_) return false;
    if (arrival(begin, cluster, event)) return true;
  }
}

bool FutureFleet::also_happens(const Cluster& cluster, Event& event) {
  if (fleet_.also_happens(cluster, event)) {
    see(event);
    return true;
  }
  return arrival(cluster.now(), cluster, event);
}

void FutureFleet::begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) {
  if (action.kind == EventKind::kStarted) {
    arrivals_.started(action.job, action.at);
    if (Time& first = starts_[index(action.job)]; first < Time{0}) first = action.at;
  }
  if (action.kind == EventKind::kStopped) arrivals_.stopped(action.job);
  fleet_.begin(cluster, action, at_once);
}

}  // namespace smartmig
