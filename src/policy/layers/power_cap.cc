#include "policy/layers/power_cap.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/rng.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr double kRounding = 1 + 1e-12;  // allows for sums in another order than the cluster's
constexpr std::size_t kManyNames = 4096;

// Jobs may be renumbered between decisions, and rows reused.
std::uint64_t name_hash(const Workload& workload, JobId job) {
  const std::uint64_t name = workload.names.empty() ? index(job) : hash_text(workload.names[index(job)]);
  return mix64(name, std::uint64_t(workload.jobs[index(job)].submit.count()));
}

}  // namespace

std::uint32_t PowerCap::times(const Cluster& cluster, JobId job) const {
  const auto at = memory_.find(name_hash(cluster.jobs().workload(), job));
  return at == memory_.end() ? 0 : at->second;
}

void PowerCap::forget_ended(const Cluster& cluster) {
  if (memory_.size() < kManyNames || memory_.size() < 2 * cluster.unfinished()) return;
  Memory kept;
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
    if (const std::uint32_t held = times(cluster, job)) kept[name_hash(cluster.jobs().workload(), job)] = held;
  memory_ = std::move(kept);
}

bool PowerCap::held_back(JobId job) const { return std::find(held_.begin(), held_.end(), job) != held_.end(); }

void PowerCap::look(const Cluster& cluster, const Plan& plan) {
  const std::size_t gpus = cluster.gpus().size();
  boards_.assign(gpus, {});
  std::vector<std::uint32_t> stopped(gpus, 0);
  for (const JobId job : plan.stops)
    if (cluster.refusal_of_stop(job) == Refusal::kNone)
      stopped[index(cluster.state(job).gpu)] |= 1u << index(cluster.state(job).where);
  fleet_w_ = 0;
  for (std::size_t g = 0; g < gpus; ++g) {
    const GpuState& gpu = cluster.gpus()[g];
    const Platform::Model& model = cluster.platform().model(GpuId(g));
    Watts& board = boards_[g];
    for (const PlacementId p : gpu.busy) {
      if ((stopped[g] >> index(p) & 1) || cluster.jobs().job(gpu.job_at[index(p)]).idle) continue;
      board.busy_slices += model.slices_of_placement[index(p)];
      board.added += cluster.jobs().added_watts(gpu.job_at[index(p)], model.type_of_placement[index(p)]);
    }
    board.watts = model.power.watts(board.busy_slices, board.added);
    fleet_w_ += board.watts;
  }
}

PowerCap::Obstacle PowerCap::admit(const Cluster& cluster, const Start& start) {
  const Platform::Model& model = cluster.platform().model(start.gpu);
  Watts board = boards_[index(start.gpu)];
  board.busy_slices += model.slices_of_placement[index(start.where)];
  board.added += cluster.jobs().added_watts(start.job, model.type_of_placement[index(start.where)]);
  board.watts = model.power.watts(board.busy_slices, board.added);
  const double fleet = fleet_w_ - boards_[index(start.gpu)].watts + board.watts;
  if (fleet > caps_.fleet_w * kRounding) return kFleet;
  if (board.watts > caps_.board_w * kRounding) return kBoard;
  boards_[index(start.gpu)] = board;
  fleet_w_ = fleet;
  return kNothing;
}

bool limit_sizes(Job& job, const std::string& kind, const Platform& platform, const PowerCaps& caps) {
  double idle = 0;
  for (std::size_t g = 0; g < platform.gpus(); ++g) idle += platform.model(GpuId(g)).power.idle();
  std::array<bool, kMaxComputeSlices> known{}, fits{};
  for (const SliceType& type : platform.types()) {
    const Platform::Model& model = platform.models()[std::size_t(type.model)];
    const Profile& profile = model.gpu->profiles()[std::size_t(type.profile)];
    const double added = model.power.is_table() ? 0 : model.power.added(kind, profile);
    const double board = model.power.watts(type.compute_slices, added);
    const std::size_t size = std::size_t(type.compute_slices - 1);
    known[size] = true;
    fits[size] |= board <= caps.board_w * kRounding && idle - model.power.idle() + board <= caps.fleet_w * kRounding;
  }
  Job limited = job;
  bool runs = false;
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (known[k] && !fits[k]) limited.work[k] = kCannotRun;
    runs |= known[k] && limited.work[k] >= Time{0};
  }
  if (runs) job = limited;
  return runs;
}

bool PowerCap::never_fits(const Cluster& cluster, JobId job) const {
  const Platform& platform = cluster.platform();
  double idle = 0;
  for (std::size_t g = 0; g < platform.gpus(); ++g) idle += platform.model(GpuId(g)).power.idle();
  for (std::size_t t = 0; t < platform.types().size(); ++t) {
    if (cluster.jobs().work(job, TypeId(t)) < Time{0}) continue;
    const SliceType& type = platform.types()[t];
    const PowerModel& power = platform.models()[std::size_t(type.model)].power;
    const double board = power.watts(type.compute_slices, cluster.jobs().added_watts(job, TypeId(t)));
    if (board <= caps_.board_w * kRounding && idle - power.idle() + board <= caps_.fleet_w * kRounding) return false;
  }
  return true;
}

void PowerCap::calm_reshapes(const Cluster& cluster, Plan& plan) {
  reshaped_at_.resize(cluster.gpus().size());
  const std::uint64_t progress = 2 * cluster.counters().completions + cluster.running() + 1;
  std::erase_if(plan.reshapes, [&](const Reshape& reshape) {
    if (index(reshape.gpu) >= reshaped_at_.size()) return false;
    std::uint64_t& at = reshaped_at_[index(reshape.gpu)];
    if (!held_.empty() && at == progress) return true;
    at = progress;
    return false;
  });
}

void PowerCap::decide(const Cluster& cluster, Plan& plan) {
  inner_->decide(cluster, plan);
  held_.clear();
  if (caps_.none()) return;
  look(cluster, plan);
  const auto known = [&](const Start& s) {
    return index(s.job) < cluster.states().size() && index(s.gpu) < boards_.size() &&
           index(s.where) < cluster.platform().model(s.gpu).gpu->placements().size();
  };
  const auto arrival = [&](JobId job) { return std::pair(cluster.jobs().job(job).submit, index(job)); };
  const auto waited_enough = [&](const Start& s) {
    return known(s) && times(cluster, s.job) >= caps_.bound && !never_fits(cluster, s.job);
  };
  std::vector<std::size_t> judged(plan.starts.size());
  std::iota(judged.begin(), judged.end(), 0);
  std::stable_partition(judged.begin(), judged.end(), [&](std::size_t i) { return waited_enough(plan.starts[i]); });

  std::vector<const Start*> blockers_on(boards_.size(), nullptr);
  const Start* blocker = nullptr;  // for the fleet's cap
  std::vector<bool> drop(plan.starts.size(), false);
  for (const std::size_t i : judged) {
    const Start& start = plan.starts[i];
    if (!known(start)) continue;
    const auto waits_for = [&](const Start* other) { return other && arrival(start.job) > arrival(other->job); };
    if (!waits_for(blocker) && !waits_for(blockers_on[index(start.gpu)])) {
      const bool first = waited_enough(start);
      const Obstacle obstacle = admit(cluster, start);
      if (obstacle == kNothing) continue;
      const Start*& mine = obstacle == kFleet ? blocker : blockers_on[index(start.gpu)];
      if (first && !mine) mine = &start;
    }
    drop[i] = true;
    ++memory_[name_hash(cluster.jobs().workload(), start.job)];
    ++held_starts_;
    held_.push_back(start.job);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < plan.starts.size(); ++i)
    if (!drop[i]) plan.starts[kept++] = plan.starts[i];
  plan.starts.resize(kept);
  calm_reshapes(cluster, plan);
  forget_ended(cluster);
}

}  // namespace smartmig
