#include "slurm/slurm_workload.h"

#include <algorithm>
#include <set>

#include "cluster/metric_lines.h"
#include "slurm/dependency.h"
#include "slurm/job_logs.h"
#include "slurm/node_choice.h"
#include "slurm/request.h"
#include "slurm/slurm_commands.h"

namespace smartmig {
namespace {

constexpr Time kGrowing{10'000'000};  // within it a failed job is requeued for want of memory, or stays failed

ClusterJob::Phase phase_of(const SlurmJob& job) {
  switch (job.phase) {
    case SlurmJob::kPending:
      return ClusterJob::kPending;
    case SlurmJob::kRunning:
      return ClusterJob::kRunning;
    case SlurmJob::kCompleting:
      return ClusterJob::kEnding;
    case SlurmJob::kEnded:
      return ClusterJob::kEnded;
  }
  return ClusterJob::kEnded;
}

ClusterJob::Outcome outcome_of(const std::string& state) {
  if (state == "COMPLETED") return ClusterJob::kCompleted;
  if (state == "FAILED") return ClusterJob::kFailed;
  if (state == "CANCELLED") return ClusterJob::kCancelled;
  if (state == "TIMEOUT") return ClusterJob::kTimedOut;
  if (state == "DEADLINE") return ClusterJob::kPastDeadline;
  return ClusterJob::kLost;
}

ClusterJob::Refusal refusal_of(const std::string& reason) {
  if (reason == "BadConstraints") return ClusterJob::kHere;
  if (reason == "DependencyNeverSatisfied") return ClusterJob::kImpossible;
  if (reason == "Dependency" || reason == "BeginTime") return ClusterJob::kTooEarly;
  return ClusterJob::kNone;
}

std::string facts_of(SlurmNode node) {
  std::string out = fmt::format("{}|{}|", node.address, node.units);
  for (const auto* list : {&node.partitions, &node.features, &node.reservations}) {
    for (const std::string& one : *list) out += one + ",";
    out += "|";
  }
  return out;
}

}  // namespace

const EngineWords kSlurmWords{
    .name = "Slurm",
    .id = "slurm",
    .no_nodes = "no node of the partition has the gres mig: see docs/slurm.md",
    .isolation = "Slurm's",
    .more = "scontrol show job says more",
    .submit = "sbatch",
    .cancel = "scancel",
    .requeue = "scontrol requeue",
    .change = "scancel and scontrol",
    .usage = "sacct -o jobid,admincomment",
    .groups = "sacctmgr",
    .reserve = "scontrol create reservation",
    .unreserve = "scontrol delete",
    .history = "sacct",
    .whatif = "smartmig whatif --sacct",
    .drain = "scontrol update NodeName=... State=DRAIN",
    .pause = "scontrol update PartitionName=... State=DOWN",
    .restart = "a restart of smartmig slurm serve",
    .settings = "smartmig slurm serve --policy",
    .state = "Slurm's own state",
    .log = "the file of sbatch -o",
};

SlurmWorkload::SlurmWorkload(Slurm& slurm, LiveClock& clock, Options options)
    : slurm_(slurm), clock_(clock), options_(std::move(options)), drained_(options_.resumed_file, options_.resumes) {}

const EngineWords& SlurmWorkload::words() const { return kSlurmWords; }

Result<std::vector<ClusterJob>> SlurmWorkload::jobs() {
  SMARTMIG_TRY(const auto jobs, slurm_.jobs());
  const SlurmDependencies dependencies(jobs, clock_.now() - kGrowing);
  std::set<std::string> needs;
  std::vector<ClusterJob> out;
  out.reserve(jobs.size());
  for (const SlurmJob& job : jobs) {
    out.push_back(seen(job));
    if (out.back().obstacle.empty() && job.phase == SlurmJob::kPending && !dependencies.may_be_over(job))
      out.back().obstacle = "it depends on other jobs";
    needs.insert(out.back().needs);
  }
  std::erase_if(objections_, [&](const auto& one) { return !needs.contains(one.first); });
  return out;
}

ClusterJob SlurmWorkload::seen(const SlurmJob& job) {
  ClusterJob out;
  out.phase = phase_of(job);
  out.name = job.name;
  out.number = job.number;
  out.array_limit = job.array_limit;
  out.uid = job.uid;
  out.user = job.user;
  out.title = job.title;
  out.memo = job.admin_comment;
  std::string asked;
  const auto read = [&](const std::string& text) {
    const auto request = find_slurm_request(text);
    if (!request) out.unreadable = "its AdminComment: " + request.error().what;
    if (!request || !*request) return false;
    out.request = **request;
    asked = (*request)->node;
    return true;
  };
  if (!read(job.admin_comment) && !(options_.watched && read(job.comment)) && out.unreadable.empty())
    out.unreadable = "it has no request in its AdminComment; check that job_submit.lua is installed";
  out.held = job.held;
  out.owner_holds = job.held_by_user;
  if (!options_.watched && job.phase == SlurmJob::kPending) {
    if (job.held_by_user)
      out.obstacle = "its owner holds it";
    else if (job.begin > clock_.now())
      out.obstacle = "its begin time has not come";
  }
  out.refusal = refusal_of(job.reason);
  out.reason = job.reason;
  out.outcome = outcome_of(job.state);
  out.state = job.state;
  out.given_node = job.required_nodes;
  if (out.phase == ClusterJob::kEnded && out.outcome == ClusterJob::kFailed) out.logs = log_paths(job);
  out.requeue = job.requeue;
  out.restarts = job.restarts;
  out.time_limit = job.time_limit;
  out.submitted = job.submitted;
  out.started = job.started;
  out.ended = job.ended;
  out.cpus = job.cpus;
  out.mem_mib = job.mem_mib;
  out.whole_node = job.whole_node;
  out.needs = node_needs(job, asked);
  auto& objection = objections_[out.needs];
  if (!objection)
    objection = [job, asked, nodes = nodes_](const std::string& name) -> std::string {
      const auto node = nodes->find(name);
      return node == nodes->end() ? std::string() : objection_to(node->second, job, asked);
    };
  out.objection = objection;
  return out;
}

Result<std::vector<ClusterNode>> SlurmWorkload::nodes() {
  SMARTMIG_TRY(const auto nodes, slurm_.nodes());
  nodes_->clear();
  std::vector<ClusterNode> out;
  std::vector<SlurmNode> ours;
  for (const SlurmNode& node : nodes) {
    (*nodes_)[node.name] = node;
    if (node.units > 0) ours.push_back(node);
    out.push_back({node.name, node.up, node.units > 0, node.state, node.reason, facts_of(node), node.cpus,
                   node.cpus_taken, node.mem_mib, node.mem_taken_mib});
  }
  if (options_.watched || options_.resumed_file.empty()) return out;
  std::vector<SlurmAction> actions;
  for (const DrainedNodes::Verdict& verdict : drained_.look(ours, clock_.now())) {
    if (options_.say) options_.say(verdict.words);
    if (!verdict.resume) continue;
    ++resumed_;
    actions.push_back({SlurmAction::kResume, {}, verdict.node, {}});
  }
  if (!actions.empty()) (void)slurm_.act(actions);  // what did not happen is seen the next time
  return out;
}

std::vector<SlurmAction> slurm_actions(const std::vector<ClusterAction>& actions) {
  std::vector<SlurmAction> out;
  for (const ClusterAction& action : actions) {
    const auto used = [&] { return with_place(action.memo, action.node, action.gpu, action.slice); };
    switch (action.what) {
      case ClusterAction::kNumber:
        out.push_back({SlurmAction::kPin, action.job, action.node, {}});
        break;
      case ClusterAction::kGrant:
        if (!action.is_there) out.push_back({SlurmAction::kPin, action.job, action.node, {}});
        out.push_back({SlurmAction::kNote, action.job, {}, used()});
        out.push_back({SlurmAction::kRelease, action.job, {}, {}});
        break;
      case ClusterAction::kTakeBack:
        out.push_back({SlurmAction::kHold, action.job, {}, {}});
        break;
      case ClusterAction::kRequeue:
        out.push_back({SlurmAction::kRequeue, action.job, {}, {}});
        break;
      case ClusterAction::kAskMore: {
        out.push_back({SlurmAction::kRequeue, action.job, {}, {}});
        const auto request = find_slurm_request(action.memo);
        if (!request || !*request) break;
        SlurmRequest more = **request;
        more.mem_mib = action.mem_mib;
        out.push_back({SlurmAction::kNote, action.job, {}, with_request(action.memo, more)});
        break;
      }
      case ClusterAction::kNote:
        out.push_back({SlurmAction::kNote, action.job, {}, with_reason(action.memo, action.text)});
        break;
      case ClusterAction::kAccount:
        out.push_back({SlurmAction::kAccount,
                       action.job,
                       {},
                       fmt::format("{},joules={:.0f}", used(), action.joules),
                       action.number});
        break;
      case ClusterAction::kPublish:
        out.push_back({SlurmAction::kPublish, {}, action.node, action.text});
        break;
    }
  }
  return out;
}

Result<Ok> SlurmWorkload::act(const std::vector<ClusterAction>& actions) {
  const std::vector<SlurmAction> asked = slurm_actions(actions);
  requests_ += requests_of(scontrol_lines(asked));
  return slurm_.act(asked);
}

void SlurmWorkload::add_metrics(MetricLines& lines) const {
  lines.counter("action_requests_total", "Slurm requests for actions, counted as in Slurm 22.05.", double(requests_));
  lines.counter("nodes_resumed_total", "Nodes resumed after a Prolog or Epilog failed.", double(resumed_));
}

}  // namespace smartmig
