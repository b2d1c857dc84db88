// Stopping jobs where that pays for the restart: a late job displaces a running one, which is planned anew around it, or
// a running job is moved to another slice or size.
//
// A move is judged by the plan's own cost, before and after, over the rest of both jobs, and must gain some restarts more
// than that: the estimate is of one moment, and the next decision would like to take close ones back. Everything is
// measured in restarts, so that the same rules serve jobs of seconds and of days.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "policy/planner/list_planner.h"

namespace smartmig {
namespace {

constexpr double kPaidByLate = 2, kPaidByItself = 6;  // restarts that a move must gain
constexpr int kRunBefore = 3;                         // restarts for which a job runs before it is stopped (again)
constexpr int kMostTries = 200;                       // moves looked at in one decision

}  // namespace

void ListPlanner::know_watts(const Platform& platform) {
  most_watts_.clear();
  watts_only_rise_ = !options_.plain && platform.power_by_slices_only();
  if (!watts_only_rise_) return;
  for (const Platform::Model& model : platform.models()) {
    const std::vector<double>& table = model.power.table();
    auto& most = most_watts_.emplace_back(table.size(), 0.0);
    for (std::size_t busy = 0; busy < table.size(); ++busy)
      for (std::size_t more = 0; more < table.size(); ++more) {
        const double watts = table[std::min(table.size() - 1, busy + more)] - table[busy];
        watts_only_rise_ = watts_only_rise_ && watts >= 0;
        most[more] = std::max(most[more], watts);
      }
  }
}

// Running jobs that may be stopped, by GPU and placement. A GPU is looked at again when it has changed (rebuild()), and
// when one of its jobs has run for long enough, or will be done too soon.
void ListPlanner::find_movable(const Cluster& cluster) {
  if (!options_.stops) return movable_.clear();
  const std::uint64_t stops = cluster.counters().preemptions + cluster.counters().moves;
  if (std::exchange(stops_seen_, stops) != stops_expected_ || options_.plain)  // others have stopped jobs
    std::fill(movable_until_.begin(), movable_until_.end(), Time::min());
  bool changed = false;
  for (std::uint32_t g = 0; g < boards_.size(); ++g) {
    if (movable_until_[g] > cluster.now()) continue;
    changed = true;
    const GpuState& gpu = cluster.gpus()[g];
    Time until = kNever;
    std::size_t count = 0;
    for (const PlacementId p : gpu.busy) {
      const JobId job = gpu.job_at[index(p)];
      const Time restart = cluster.jobs().job(job).restart;
      const JobState& state = cluster.state(job);
      if (gpu.blocked || restart < Time{0} || state.stops >= kMostStops) continue;
      const Time from = state.since + kRunBefore * restart, to = expected_finish(cluster, job) - restart;
      if (cluster.now() < from) until = std::min(until, from);
      if (cluster.now() < to) until = std::min(until, to);
      if (cluster.now() < from || to <= cluster.now()) continue;
      SMARTMIG_CHECK(count < movable_of_[g].size(), "GPU {} runs more jobs than a GPU can", g);
      movable_of_[g][count++] = job;
    }
    if (count < movable_of_[g].size()) movable_of_[g][count] = kNoJob;
    movable_until_[g] = until;
  }
  if (!changed) return;
  movable_.clear();
  for (const auto& jobs : movable_of_)
    for (std::size_t i = 0; i < jobs.size() && jobs[i] != kNoJob; ++i) movable_.push_back(jobs[i]);
}

// The timeline of the job's GPU without it, and without what `late` has reserved there.
void ListPlanner::make_room(const Cluster& cluster, JobId job, JobId late) {
  const std::uint32_t gpu = index(cluster.state(job).gpu);
  const GpuState& state = cluster.gpus()[gpu];
  GpuMemo& board = boards_[gpu];
  const PlacementTable& facts = table(cluster, gpu);
  board.timeline.clear(cluster.now());
  for (const PlacementId p : state.busy) {
    const JobId other = state.job_at[index(p)];
    if (other == job || (board.vacated >> index(p) & 1) != 0) continue;
    board.timeline.take(facts, p, cluster.now(), std::max(expected_finish(cluster, other), cluster.now() + Time(1)));
  }
  for (const Booking& one : planned_)
    if (one.option.valid() && one.option.gpu == gpu && one.job != late)
      board.timeline.take(facts, one.option.where, one.option.begin, one.option.finish);
  board.reserved = true;
  find_earliest(cluster, gpu);
}

// As other places are judged: by the job table. REQUIRES: it runs, and is the candidate.
Time ListPlanner::time_to_end(const Cluster& cluster, JobId job) const {
  if (candidate_.rest.known()) return cluster.time_to_finish(job);
  const JobState& state = cluster.state(job);
  return std::max(Time{0}, state.since - cluster.now()) + candidate_.rest.on(cluster, job, state.type);
}

// REQUIRES: its GPU's timeline has room for it, and it is the candidate.
double ListPlanner::cost_of_staying(const Cluster& cluster, JobId job) const {
  const JobState& state = cluster.state(job);
  const int slices = cluster.platform().type(state.type).compute_slices;
  const Time run = time_to_end(cluster, job), finish = cluster.now() + run;
  const double energy = boards_[index(state.gpu)].timeline.added_energy(
      cluster.platform().model(state.gpu).power, slices, cluster.jobs().added_watts(job, state.type), cluster.now(),
      finish);
  return lateness(cluster, finish, run) + rent_of_place(cluster, job) * minutes(run) + options_.w / 60e6 * energy;
}

// No less than cost_of_staying(), whatever else is on its GPU. REQUIRES: watts_only_rise_; it is the candidate.
double ListPlanner::most_cost_of_staying(const Cluster& cluster, JobId job) const {
  const JobState& state = cluster.state(job);
  const int slices = cluster.platform().type(state.type).compute_slices;
  const auto& most = most_watts_[std::size_t(cluster.platform().model_index(state.gpu))];
  const double watts = most[std::min(most.size() - 1, std::size_t(slices))];
  const Time to_finish = time_to_end(cluster, job);
  const double left = double(std::max(Time{0}, to_finish).count());
  const double cost = lateness(cluster, cluster.now() + to_finish, to_finish) +
                      rent_of_place(cluster, job) * minutes(to_finish) + options_.w / 60e6 * watts * left;
  return cost + 1e-9 * std::abs(cost);
}

// What is gained by stopping the job, giving `late` (null: nobody) a slice of its GPU now, and planning it anew; minutes,
// 0: no more than `at_least`. With a plan, a gain goes into it.
double ListPlanner::move(const Cluster& cluster, JobId job, Booking* late, double at_least, Plan* plan) {
  const JobState& state = cluster.state(job);
  const std::uint32_t gpu = index(state.gpu);
  const double price = price_for_[cluster.jobs().job(job).has_deadline()];
  price_now_ = price;
  types_of(cluster, job);
  const double paid = (late ? kPaidByLate : kPaidByItself) * minutes(cluster.jobs().job(job).restart);
  const double least = watts_only_rise_ ? least_cost(cluster) : 0;
  if (watts_only_rise_ && !late && most_cost_of_staying(cluster, job) - paid - least <= at_least) return 0;
  choose_gpus(cluster);
  GpuMemo& board = boards_[gpu];
  const GpuMemo before = board;
  const auto take_back = [&](double gain) {
    board = before;
    find_earliest(cluster, gpu);
    return gain;
  };
  make_room(cluster, job, late ? late->job : kNoJob);
  double gain = cost_of_staying(cluster, job) - paid;
  board.vacated |= 1u << index(state.where);
  Choice choice;
  const Option& now = choice.now;
  if (late) {
    price_now_ = late->price;
    types_of(cluster, late->job);
    find_room(cluster);
    for (const TypeId type : candidate_.types)
      if (cluster.platform().type(type).model == cluster.platform().model_index(state.gpu))
        consider(cluster, gpu, type, choice);
    if (!now.valid()) return take_back(0);
    gain += late->option.cost - now.cost;
    if (gain <= at_least || (watts_only_rise_ && gain - least <= at_least)) return take_back(0);
    board.timeline.take(table(cluster, gpu), now.where, now.begin, now.finish);
    find_earliest(cluster, gpu);
    price_now_ = price;
  }
  const Option again = best_for(cluster, job, gpu);
  gain -= again.cost;
  const bool stays = again.gpu == gpu && again.where == state.where;
  if (!again.valid() || gain <= at_least || (!late && (stays || again.begin != cluster.now()))) return take_back(0);
  if (!plan) return take_back(gain);
  if (late) late->option = now;
  GpuMemo& other = boards_[again.gpu];
  other.timeline.take(table(cluster, again.gpu), again.where, again.begin, again.finish);
  other.reserved = true;
  planned_.push_back({job, price_now_, again});
  plan->stops.push_back(job);
  return gain;
}

// The most that `late` can gain: it begins now, on the size that is best for it.
double ListPlanner::most_gain(const Cluster& cluster, const Booking& late) {
  if (!late.option.valid() || late.option.late <= 0) return 0;
  types_of(cluster, late.job);
  double least = late.option.cost;
  for (const TypeId type : candidate_.types) {
    const Time run = candidate_.rest.on(cluster, late.job, type) + candidate_.resume;
    const double paid = rent(cluster.platform(), type, late.price) * minutes(run);
    least = std::min(least, lateness(cluster, cluster.now() + run, run) + paid);
  }
  return late.option.cost - least;
}

void ListPlanner::move_jobs(const Cluster& cluster, Plan& plan) {
  for (const bool due : {false, true}) price_for_[due] = price_.price(cluster, waiting_.all(due));
  int tries = 0;
  const auto stopped = [&](JobId job) {
    return std::find(plan.stops.begin(), plan.stops.end(), job) != plan.stops.end();
  };
  const std::size_t waiting = planned_.size();
  planned_.reserve(waiting + movable_.size());  // pointers to bookings stay valid
  for (std::size_t i = 0; i < waiting && tries < kMostTries; ++i) {
    Booking& late = planned_[i];
    if (late.option.begin == cluster.now()) continue;
    const double most = most_gain(cluster, late);
    double best = 0;
    JobId chosen = kNoJob;
    for (const JobId job : movable_) {
      if (cluster.jobs().job(job).has_deadline() && !cluster.jobs().job(late.job).has_deadline()) continue;
      if (stopped(job) || most <= best + kPaidByLate * minutes(cluster.jobs().job(job).restart)) continue;
      if (++tries > kMostTries) break;
      if (const double gain = move(cluster, job, &late, best, nullptr); gain > best) best = gain, chosen = job;
    }
    if (chosen != kNoJob) move(cluster, chosen, &late, 0, &plan);
  }
  for (std::size_t i = 0; i < movable_.size() && ++tries <= kMostTries; ++i) {
    const JobId job = movable_[move_turn_++ % movable_.size()];
    if (!stopped(job)) move(cluster, job, nullptr, 0, &plan);
  }
}

}  // namespace smartmig
