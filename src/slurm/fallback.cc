#include "slurm/fallback.h"

#include <algorithm>

#include "base/text.h"
#include "mig/choose.h"
#include "mig/moves.h"
#include "queue/job_slice.h"
#include "slurm/dependency.h"
#include "slurm/node_choice.h"

namespace smartmig {
namespace {

Layout held_layout(const GpuBoard& board, int gpu, const std::map<std::uint32_t, SliceHolder>& jobs) {
  Layout held;
  for (const auto& [job, holder] : jobs) {
    if (holder.ended || holder.gpu != gpu) continue;
    const PlacementId where = placement_of(*board.model, parse_job_slice(holder.slice));
    if (where == kNoPlacement) continue;
    if (const auto more = board.model->with(held, where)) held = *more;
  }
  return held;
}

bool has_room(const SlurmNode& node, const SlurmJob& job) {
  return (node.cpus == 0 || cpus_on(node, job) <= node.cpus - node.cpus_taken) &&
         (node.mem_mib == 0 || mem_on(node, job) <= node.mem_mib - node.mem_taken_mib);
}

}  // namespace

bool Fallback::is_mine(const SlurmJob& job, const std::vector<SlurmNode>& nodes) const {
  const auto request = find_slurm_request(job.admin_comment);
  const std::string asked = request && *request ? (*request)->node : std::string();
  std::vector<std::string> names;
  for (const SlurmNode& node : nodes)
    if (node.up && node.units > 0 && objection_to(node, job, asked).empty() && has_room(node, job))
      names.push_back(node.name);
  std::sort(names.begin(), names.end());
  const auto me = std::find(names.begin(), names.end(), agent_.node());
  if (me == names.end()) return false;
  const std::uint64_t minute = std::uint64_t(unix_us(clock_.now()) / 60'000'000);
  return (hash_text(to_string(job.name)) + minute) % names.size() == std::uint64_t(me - names.begin());
}

// Slices of jobs that do not use them: ended, held again, or running elsewhere.
std::vector<SlurmAction> Fallback::give_back(const std::vector<SlurmJob>& jobs) {
  std::vector<SlurmAction> accounts;
  for (const auto& [number, holder] : agent_.jobs()) {
    const auto at =
        std::find_if(jobs.begin(), jobs.end(), [&, n = number](const SlurmJob& j) { return j.number == n; });
    bool uses = at != jobs.end() && at->phase != SlurmJob::kEnded;
    if (uses && at->phase == SlurmJob::kPending) uses = !at->held && at->required_nodes == agent_.node();
    if (uses && at->phase != SlurmJob::kPending) uses = at->nodes == agent_.node();
    if (uses) continue;
    const auto joules = agent_.free(number);
    if (!joules || !*joules || at == jobs.end() || at->phase != SlurmJob::kEnded) continue;
    const std::string text = with_place(at->admin_comment, agent_.node(), holder.gpu, holder.slice);
    accounts.push_back(
        {SlurmAction::kAccount, at->name, {}, fmt::format("{},joules={:.0f}", text, **joules), at->number});
  }
  return accounts;
}

// A free slice that is there, the smallest; else the smallest profile where it disturbs no job.
Result<std::pair<int, PlacementId>> Fallback::slice_for(const SlurmRequest& request) {
  const auto boards = agent_.boards();
  const auto jobs = agent_.jobs();
  std::optional<std::pair<int, PlacementId>> best;
  int least = 0;
  for (std::size_t g = 0; g < boards.size(); ++g) {
    const GpuBoard& board = boards[g];
    if (!board.model || !board.trouble.empty()) continue;
    for (const PlacementId p : board.layout - held_layout(board, int(g), jobs)) {
      const Profile& profile = board.model->profile_of(p);
      if (profile.memory_mib < request.mem_mib || profile.compute_slices < request.min_slices) continue;
      if (best && profile.memory_slices >= least) continue;
      best = {int(g), p};
      least = profile.memory_slices;
    }
  }
  if (best) return *best;
  for (std::size_t g = 0; g < boards.size(); ++g) {
    const GpuBoard& board = boards[g];
    if (!board.model || !board.trouble.empty()) continue;
    const auto profile = choose_profile(*board.model, request.mem_mib, request.min_slices);
    if (!profile) continue;
    const Layout held = held_layout(board, int(g), jobs);
    const auto where = best_placement(*board.model, held, *profile, board.model->schedulable_profiles());
    if (!where) continue;
    Layout there = held;
    for (const PlacementId p : board.layout - held) {
      const auto beside = board.model->with(there, p);
      if (beside && board.model->fits(*beside, *where))
        there = *beside;
      else
        SMARTMIG_RETURN_IF_ERROR(agent_.change(int(g), {Operation::kDestroy, p}));
    }
    SMARTMIG_RETURN_IF_ERROR(agent_.change(int(g), {Operation::kCreate, *where}));
    return std::pair(int(g), *where);
  }
  return busy_error("no slice of {} is free for it", agent_.node());
}

Result<std::vector<ClusterJobName>> Fallback::step() {
  SMARTMIG_TRY(auto jobs, slurm_.jobs());
  SMARTMIG_TRY(const auto nodes, slurm_.nodes());
  const SlurmDependencies dependencies(jobs);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const SlurmJob& a, const SlurmJob& b) { return a.submitted < b.submitted; });
  std::vector<SlurmAction> actions = give_back(jobs);
  std::vector<ClusterJobName> released;
  int numbered = 0;
  for (const SlurmJob& job : jobs) {
    if (job.phase != SlurmJob::kPending || !job.held || job.held_by_user || job.begin > clock_.now()) continue;
    if (!dependencies.may_be_over(job) || !is_mine(job, nodes)) continue;
    const auto request = find_slurm_request(job.admin_comment);
    if (!request || !*request) continue;
    if (job.number == 0) {  // a task of an array: it gets its number first
      actions.push_back({SlurmAction::kPin, job.name, agent_.node(), {}});
      if (++numbered >= 8) break;
      continue;
    }
    const auto slice = slice_for(**request);
    if (!slice || !agent_.reserve(job.number, job.uid, slice->first, slice->second)) continue;
    const auto holder = agent_.jobs()[job.number];
    actions.push_back({SlurmAction::kPin, job.name, agent_.node(), {}});
    actions.push_back(
        {SlurmAction::kNote, job.name, {}, with_place(job.admin_comment, agent_.node(), holder.gpu, holder.slice)});
    actions.push_back({SlurmAction::kRelease, job.name, {}, {}});
    released.push_back(job.name);
  }
  SMARTMIG_RETURN_IF_ERROR(slurm_.act(actions));
  return released;
}

}  // namespace smartmig
