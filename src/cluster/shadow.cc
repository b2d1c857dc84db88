#include "cluster/shadow.h"

#include "mig/shape.h"
#include "model/platform.h"
#include "queue/job_slice.h"

namespace smartmig {
namespace {

constexpr std::uint32_t kFirstMadeUp = 0xF0000000;  // numbers of tasks: above those that engines give

}  // namespace

Result<std::unique_ptr<ShadowCluster>> ShadowCluster::open(ClusterWorkload& real, const std::string& gpus,
                                                           LiveClock& clock) {
  SMARTMIG_TRY(const Platform platform, Platform::parse(gpus));
  std::unique_ptr<ShadowCluster> out(new ShadowCluster(real, clock));
  for (std::size_t g = 0; g < platform.gpus(); ++g)
    out->fresh_.push_back({platform.model(GpuId(std::uint32_t(g))).gpu, Layout{}});
  return out;
}

Result<std::vector<ClusterJob>> ShadowCluster::jobs() {
  SMARTMIG_TRY(auto jobs, real_.jobs());
  const std::lock_guard lock(mutex_);
  for (ClusterJob& job : jobs) {
    if (!job.request) job.request.emplace();
    if (job.phase == ClusterJob::kEnded) {
      released_.erase(job.name);
      numbers_.erase(job.name);
      continue;
    }
    if (const auto number = numbers_.find(job.name); number != numbers_.end()) job.number = number->second;
    const auto at = released_.find(job.name);
    job.owner_holds = false;
    job.refusal = ClusterJob::kNone;
    job.held = at == released_.end();
    job.phase = job.held ? ClusterJob::kPending : ClusterJob::kRunning;
    job.state = job.held ? "PENDING" : "RUNNING";
    job.started = job.held ? UnixTime{} : at->second;
  }
  return jobs;
}

Result<std::vector<ClusterNode>> ShadowCluster::nodes() {
  SMARTMIG_TRY(auto nodes, real_.nodes());
  const std::lock_guard lock(mutex_);
  for (ClusterNode& node : nodes) {
    boards_.try_emplace(node.name, fresh_);
    node.ours = true;
    node.reason.clear();                       // nothing is to be done about it
    node.cpus_taken = node.mem_taken_mib = 0;  // by jobs that this shadow places anew
  }
  return nodes;
}

Result<Ok> ShadowCluster::act(const std::vector<ClusterAction>& actions) {
  const std::lock_guard lock(mutex_);
  for (const ClusterAction& action : actions) {
    if (action.what == ClusterAction::kGrant) released_[action.job] = clock_.now();
    if (action.what == ClusterAction::kTakeBack || action.what == ClusterAction::kRequeue) released_.erase(action.job);
    if (action.what == ClusterAction::kNumber)
      numbers_.try_emplace(action.job, kFirstMadeUp + std::uint32_t(numbers_.size()));
  }
  return Ok{};
}

Result<Json> ShadowCluster::ask(const std::string& name, Json request, Patience) {
  const std::lock_guard lock(mutex_);
  const auto node = boards_.find(name);
  if (node == boards_.end()) return not_found("there is no node {}", name);
  const std::string op = request.value("op", "");
  if (op == "status") {
    Json boards = Json::array();
    for (const Board& board : node->second)
      boards.push_back({{"uuid", ""},
                        {"model", board.model->name()},
                        {"layout", to_string(*board.model, board.layout)},
                        {"trouble", ""}});
    return Json{{"node", name}, {"boards", boards}, {"jobs", Json::array()}, {"epoch", 0}, {"since_leader_s", 0}};
  }
  if (op != "change") return Json::object();
  const std::size_t gpu = request.value("gpu", std::size_t(0));
  if (gpu >= node->second.size()) return not_found("{} has no GPU {}", name, gpu);
  Board& board = node->second[gpu];
  const PlacementId where = placement_of(*board.model, parse_job_slice(request.value("slice", "")));
  if (where == kNoPlacement) return invalid("the slice does not exist");
  if (!request.value("create", false)) {
    board.layout = board.layout.without(where);
    return Json::object();
  }
  const auto larger = board.model->with(board.layout, where);
  if (!larger)
    return busy_error("{} does not fit with {}", request.value("slice", ""), to_string(*board.model, board.layout));
  board.layout = *larger;
  return Json::object();
}

}  // namespace smartmig
