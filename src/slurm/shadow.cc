#include "slurm/shadow.h"

#include "mig/shape.h"
#include "model/platform.h"
#include "serve/daemon/job_slice.h"
#include "slurm/request.h"

namespace smartmig {
namespace {

constexpr std::uint32_t kFirstMadeUp = 0xF0000000;  // numbers of tasks: above those that Slurm gives

}  // namespace

Result<std::unique_ptr<ShadowCluster>> ShadowCluster::open(Slurm& real, const std::string& gpus, LiveClock& clock) {
  SMARTMIG_TRY(const Platform platform, Platform::parse(gpus));
  std::unique_ptr<ShadowCluster> out(new ShadowCluster(real, clock));
  for (std::size_t g = 0; g < platform.gpus(); ++g)
    out->fresh_.push_back({platform.model(GpuId(std::uint32_t(g))).gpu, Layout{}});
  return out;
}

Result<std::vector<SlurmJob>> ShadowCluster::jobs() {
  SMARTMIG_TRY(auto jobs, real_.jobs());
  const std::lock_guard lock(mutex_);
  for (SlurmJob& job : jobs) {
    for (const std::string& text : {job.admin_comment, job.comment, std::string("smartmig:mem=0M,slices=1")}) {
      const auto request = find_slurm_request(text);
      if (!request || !*request) continue;
      job.admin_comment = to_string(**request);
      break;
    }
    if (job.phase == SlurmJob::kEnded) {
      released_.erase(job.name);
      numbers_.erase(job.name);
      continue;
    }
    if (const auto number = numbers_.find(job.name); number != numbers_.end()) job.number = number->second;
    const auto at = released_.find(job.name);
    job.held_by_user = false;
    job.held = at == released_.end();
    job.phase = job.held ? SlurmJob::kPending : SlurmJob::kRunning;
    job.state = job.held ? "PENDING" : "RUNNING";
    job.started = job.held ? UnixTime{} : at->second;
    job.begin = UnixTime{};
  }
  return jobs;
}

Result<std::vector<SlurmNode>> ShadowCluster::nodes() {
  SMARTMIG_TRY(auto nodes, real_.nodes());
  const std::lock_guard lock(mutex_);
  for (SlurmNode& node : nodes) {
    boards_.try_emplace(node.name, fresh_);
    node.units = 1;
    node.reason.clear();                       // nothing is to be done about it
    node.cpus_taken = node.mem_taken_mib = 0;  // by jobs that this shadow places anew
  }
  return nodes;
}

Result<Ok> ShadowCluster::act(const std::vector<SlurmAction>& actions) {
  const std::lock_guard lock(mutex_);
  for (const SlurmAction& action : actions) {
    if (action.what == SlurmAction::kRelease) released_[action.job] = clock_.now();
    if (action.what == SlurmAction::kHold || action.what == SlurmAction::kRequeue) released_.erase(action.job);
    if (action.what == SlurmAction::kPin && action.job.task >= 0)
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
  if (where == kNoPlacement) return invalid("there is no such slice");
  if (!request.value("create", false)) {
    board.layout = board.layout.without(where);
    return Json::object();
  }
  const auto larger = board.model->with(board.layout, where);
  if (!larger)
    return busy_error("{} does not fit beside {}", request.value("slice", ""), to_string(*board.model, board.layout));
  board.layout = *larger;
  return Json::object();
}

}  // namespace smartmig
