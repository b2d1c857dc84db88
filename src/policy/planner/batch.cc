#include "policy/planner/batch.h"

#include <algorithm>

#include "base/check.h"

namespace smartmig {
namespace {

// Runs laid down by a search, and moves for each job: of a schedule made anew, and of one that is kept.
constexpr std::int64_t kWorkAnew = 1'200'000, kMovesAnew = 2000, kWorkKept = 60'000, kMovesKept = 100;
constexpr double kThresholdAnew = 0.006, kThresholdKept = 0.001;

// Among jobs that are alike the search shuffles freely: whoever came first gets the run that starts first.
void put_in_order(const ScheduleProblem& problem, std::vector<PlannedRuns>& lists) {
  struct Place {
    double start_s;
    std::size_t gpu, at;
  };
  std::vector<Place> places;
  for (std::size_t g = 0; g < lists.size(); ++g) {
    PaperBoard board = problem.board(g);
    for (std::size_t i = 0; i < lists[g].size(); ++i) {
      const PlannedRun run = lists[g][i];
      if (!problem.lay(g, run, board)) return;  // no schedule
      places.push_back(
          {board.free_s[problem.geometry(g).first[run.where]] - problem.run_s(run.job, g, run.where), g, i});
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.start_s < b.start_s; });
  std::vector<std::uint8_t> done(places.size(), 0);
  for (std::size_t first = 0; first < places.size(); ++first) {
    if (done[first]) continue;
    std::vector<std::size_t> group;
    std::vector<std::uint16_t> jobs;
    for (std::size_t i = first; i < places.size(); ++i) {
      const std::uint16_t job = lists[places[i].gpu][places[i].at].job;
      if (done[i] || !problem.alike(job, lists[places[first].gpu][places[first].at].job)) continue;
      done[i] = 1;
      group.push_back(i);
      jobs.push_back(job);
    }
    std::sort(jobs.begin(), jobs.end(), [&](auto a, auto b) { return index(problem.id(a)) < index(problem.id(b)); });
    for (std::size_t i = 0; i < group.size(); ++i) lists[places[group[i]].gpu][places[group[i]].at].job = jobs[i];
  }
}

}  // namespace

// The longest, at most kWindow.
std::vector<JobId> BatchPolicy::window(const Cluster& cluster) const {
  std::vector<std::pair<Time, JobId>> queue;
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    Time longest{};
    for (std::size_t t = 0; t < cluster.platform().types().size(); ++t)
      if (cluster.jobs().work(job, TypeId(t)) >= Time{0})
        longest = std::max(longest, cluster.remaining_on(job, TypeId(t)));
    queue.emplace_back(longest, job);
  }
  std::stable_sort(queue.begin(), queue.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (queue.size() > kWindow) queue.resize(kWindow);
  std::vector<JobId> jobs;
  for (const auto& [longest, job] : queue) jobs.push_back(job);
  return jobs;
}

std::vector<PlannedRuns> BatchPolicy::kept(const Cluster& cluster, const ScheduleProblem& problem) const {
  std::vector<PlannedRuns> lists(problem.gpus());
  if (kept_.size() != problem.gpus()) return lists;
  std::vector<std::uint16_t> row(cluster.jobs().size(), std::uint16_t(kWindow));
  for (std::size_t job = 0; job < problem.jobs(); ++job) row[index(problem.id(job))] = std::uint16_t(job);
  for (std::size_t g = 0; g < lists.size(); ++g)
    for (const auto& [job, where] : kept_[g]) {
      if (index(job) >= row.size() || row[index(job)] == kWindow || where >= problem.geometry(g).mask.size()) continue;
      lists[g].push_back({row[index(job)], where});
      row[index(job)] = std::uint16_t(kWindow);
    }
  return lists;
}

void BatchPolicy::decide(const Cluster& cluster, Plan& plan) {
  SMARTMIG_CHECK(!cluster.cost().free(), "batch needs hardware costs");
  const std::vector<JobId> jobs = window(cluster);
  if (jobs.empty()) return;
  const ScheduleProblem problem(cluster, jobs, weight_, order_);
  BatchSearch search(problem, ++decisions_);
  std::vector<PlannedRuns> lists = kept(cluster, problem);
  std::size_t known = 0;
  for (const PlannedRuns& runs : lists) known += runs.size();
  const bool anew = identity_ != cluster.identity() || (problem.jobs() - known) * 8 > known;
  identity_ = cluster.identity();
  search.begin_with(std::move(lists));
  search.complete(anew);
  search.refine(std::int64_t(problem.jobs()) * (anew ? kMovesAnew : kMovesKept), anew ? kThresholdAnew : kThresholdKept,
                std::int64_t(effort_ * double(anew ? kWorkAnew : kWorkKept)));
  lists = search.lists();
  put_in_order(problem, lists);
  kept_.assign(problem.gpus(), {});
  for (std::size_t g = 0; g < kept_.size(); ++g)
    for (const PlannedRun run : lists[g]) kept_[g].emplace_back(problem.id(run.job), run.where);
  carry_out(cluster, problem, lists, plan);
}

std::vector<PlannedStart> BatchPolicy::planned_starts(const Cluster& cluster) const {
  std::vector<PlannedStart> out;
  const std::vector<JobId> jobs = window(cluster);
  if (jobs.empty() || identity_ != cluster.identity()) return out;
  const ScheduleProblem problem(cluster, jobs, weight_, order_);
  const std::vector<PlannedRuns> lists = kept(cluster, problem);
  for (std::size_t g = 0; g < lists.size(); ++g) {
    PaperBoard board = problem.board(g);
    for (const PlannedRun run : lists[g]) {
      if (!problem.open(g) || !problem.lay(g, run, board)) continue;
      const double finish_s = board.free_s[problem.geometry(g).first[run.where]];
      const Time finish = cluster.now() + from_seconds(finish_s);
      const Time start = std::max(cluster.now(), finish - from_seconds(problem.run_s(run.job, g, run.where)));
      out.push_back({problem.id(run.job), GpuId(g), PlacementId{run.where}, start, start, finish, kNever});
    }
  }
  return out;
}

// The first run on its slots, of each GPU: it starts, or its slice is made.
void BatchPolicy::carry_out(const Cluster& cluster, const ScheduleProblem& problem,
                            const std::vector<PlannedRuns>& lists, Plan& plan) const {
  for (std::size_t g = 0; g < lists.size(); ++g) {
    const GpuState& state = cluster.gpus()[g];
    const GpuModel& geometry = *cluster.platform().model(GpuId(g)).gpu;
    const auto& mask = problem.geometry(g).mask;
    Layout target = state.target;
    unsigned claimed = 0, busy = 0;
    for (const PlacementId p : state.busy) busy |= mask[index(p)];
    for (const PlannedRun run : lists[g]) {
      const PlacementId where{run.where};
      const bool next = (mask[run.where] & claimed) == 0;
      claimed |= mask[run.where];
      if (!next || state.busy.contains(where)) continue;
      const bool waits = (mask[run.where] & busy) != 0;
      if (waits && cluster.cost().reshape) continue;  // one change for all, once they are idle
      if (!target.contains(where)) {
        Layout rest = target;
        for (const PlacementId p : target)
          if (mask[index(p)] & mask[run.where]) rest = rest.without(p);
        const auto with = geometry.with(rest, where);
        if (!with) continue;
        target = *with;
      }
      if (!waits && state.layout.contains(where)) plan.starts.push_back({problem.id(run.job), GpuId(g), where});
    }
    if (target != state.target) plan.reshapes.push_back({GpuId(g), target});
  }
}

}  // namespace smartmig
