// How a controller begins: who the nodes are, what slices they have, which jobs are on them.
#include <algorithm>

#include "base/file.h"
#include "cluster/controller.h"
#include "cluster/private_folder.h"
#include "live/durable_file.h"
#include "mig/shape.h"
#include "queue/job_slice.h"

namespace smartmig {
namespace {

const char* const kSeenNodes = "/nodes.json";
const char* const kLearnedTimes = "/times.json";
constexpr Time kTimesEach{60'000'000};

struct NodeBoards {
  std::vector<std::string> models, layouts;
  bool answers = false;
};

// What a node has by its agent's answer, or had before where it does not answer now.
Result<NodeBoards> boards_of(const std::string& node, const Result<Json>& status, const Json& seen) {
  const Json* boards = nullptr;
  NodeBoards out;
  if (status && status->contains("boards")) {
    boards = &(*status)["boards"];
    out.answers = true;
  } else if (seen.contains(node)) {
    boards = &seen[node];
  }
  if (!boards || !boards->is_array() || boards->empty())
    return not_found("node {}: {}", node, status ? "its agent reports no GPU" : status.error().what);
  for (const Json& board : *boards) {
    const std::string model = board.is_object() ? board.value("model", "") : "";
    if (model.empty()) return unsupported("node {} has a GPU that is not in the catalogue of GPU models", node);
    out.models.push_back(model);
    out.layouts.push_back(out.answers ? board.value("layout", "empty") : "empty");
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<ClusterController>> ClusterController::open(ClusterWorkload& workload, Agents& agents,
                                                                   LiveClock& clock, Options options) {
  std::unique_ptr<ClusterController> controller(new ClusterController(workload, agents, clock, std::move(options)));
  SMARTMIG_RETURN_IF_ERROR(controller->build());
  return controller;
}

Result<Ok> ClusterController::build() {
  SMARTMIG_RETURN_IF_ERROR(make_private_folder(options_.state_dir));
  read_times();
  SMARTMIG_TRY(const auto nodes, workload_.nodes());
  SMARTMIG_TRY(const auto jobs, workload_.jobs());
  SMARTMIG_RETURN_IF_ERROR(add_nodes(nodes));
  see_jobs(jobs);
  // What was released and has not begun holds its slice; what is neither there nor running gives it back.
  for (auto& [name, job] : jobs_) {
    const auto found = found_.find(job.seen.number);
    if (job.seen.number == 0 || found == found_.end() || job.way != Way::kWaiting) continue;
    if (job.seen.phase == ClusterJob::kPending && !job.seen.held) {
      const GpuId gpu{found->second["gpu_id"].get<std::uint32_t>()};
      const PlacementId where{found->second["where"].get<std::uint8_t>()};
      hold(job, gpu, where);
      job.way = Way::kReleased;
      job.ready = false;
      job.since = job.given = now();
      job.given_look = look_;
      const int slices = session_->platform().model(gpu).slices_of_placement[index(where)];
      (void)session_->found_with(job.record, gpu, where,
                                 std::max(Time{1'000'000}, session_->belief().time_on(job.record, slices)));
      found_.erase(found);
    }
  }
  for (const ClusterNode& seen : nodes)
    if (const auto at = nodes_.find(seen.name); at != nodes_.end()) see_facts(at->second, seen);
  built_ = true;
  return Ok{};
}

// What cannot be read is learned again.
void ClusterController::read_times() {
  const auto text = read_file(options_.state_dir + kLearnedTimes);
  if (!text) return;
  if (auto times = LearnedTimes::parse(options_.state_dir + kLearnedTimes, *text))
    times_ = std::move(*times);
  else
    say(times.error().what + "; smartmig starts to learn run times again");
}

void ClusterController::write_times() {
  if (!times_changed_ || now() < next_times_) return;
  next_times_ = now() + kTimesEach;
  times_changed_ = false;
  (void)write_durably(options_.state_dir + kLearnedTimes, times_.to_json() + "\n");
}

Result<Ok> ClusterController::add_nodes(const std::vector<ClusterNode>& nodes) {
  std::vector<const ClusterNode*> ours;
  for (const ClusterNode& node : nodes)
    if (node.ours) ours.push_back(&node);
  if (ours.empty()) return not_found("{}", words().no_nodes);
  std::sort(ours.begin(), ours.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::vector<std::string> names;
  for (const ClusterNode* node : ours) names.push_back(node->name);
  Json question{{"op", "status"}, {"epoch", options_.epoch}, {"leader", options_.name}};
  if (!options_.news_address.empty()) question["news"] = options_.news_address;
  const auto status = ask_each(agents_, names, question, options_.agent_limit);
  Json seen = Json::object();
  if (const auto text = read_file(options_.state_dir + kSeenNodes))
    if (auto json = parse_json("nodes.json", *text); json && json->is_object()) seen = std::move(*json);
  std::string spec;
  std::vector<Layout> layouts;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!status[i] && status[i].error().code == Error::kNoPermission) return status[i].error();
    const auto boards = boards_of(ours[i]->name, status[i], seen);
    if (!boards) {
      say(boards.error().what + "; it is left out until its agent answers");
      absent_.push_back(ours[i]->name);
      continue;
    }
    if (boards->answers) {
      seen[ours[i]->name] = (*status[i])["boards"];
    }
    Node& node = nodes_[ours[i]->name];
    node.up = ours[i]->up;
    node.seen = *ours[i];
    node.answers = boards->answers;
    for (std::size_t g = 0; g < boards->models.size(); ++g) {
      node.gpus.push_back(GpuId(std::uint32_t(gpus_.size())));
      gpus_.push_back({ours[i]->name, int(g)});
      spec += fmt::format("{}1x{}", spec.empty() ? "" : ",", boards->models[g]);
      texts.push_back(boards->layouts[g]);
    }
  }
  if (gpus_.empty()) return not_found("no agent answers; start `smartmig agent` on the nodes");
  std::vector<int> node_of;
  for (const auto& [name, node] : nodes_) node_of.resize(node_of.size() + node.gpus.size());
  int number = 0;
  for (const auto& [name, node] : nodes_) {
    for (const GpuId gpu : node.gpus) node_of[index(gpu)] = number;
    ++number;
  }
  plans_ = std::make_unique<ConfinedPlans>(std::move(node_of));
  SMARTMIG_TRY(Platform platform, Platform::parse(spec, "auto"));
  const auto shared = std::make_shared<const Platform>(std::move(platform));
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const GpuModel& model = *shared->model(GpuId(std::uint32_t(g))).gpu;
    SMARTMIG_TRY(const Layout layout, parse_layout(model, texts[g].empty() ? "empty" : texts[g]));
    layouts.push_back(layout);
  }
  (void)write_durably(options_.state_dir + kSeenNodes, json_dump(seen, 1) + "\n");
  journal_.open(fmt::format("{}/journal-{}.jsonl", options_.state_dir, unix_us(now()) / 1'000'000), std::ios::app);
  if (options_.past) options_.past->cut();
  session_ = std::make_unique<LiveSession>(
      clock_, shared, now(), std::size_t(options_.settings.limits.window), layouts,
      LiveRun{options_.version, options_.settings.policy.name, words().id, mean_weight_of(options_.settings)},
      options_.past ? options_.past->position() : 0);
  StartGate gate{[](const Plan&) {}, [](const Cluster&, const Start&) { return StartObjection::kNone; }};
  // The bound of the settings is meant for a machine: eight starts a GPU of one with eight. On a large cluster so many
  // happen within seconds, and everybody who waits would be due.
  Settings::Overtaking& overtaking = options_.settings.overtaking;
  if (overtaking.bound == Settings::Overtaking{}.bound)
    overtaking.bound = std::max(overtaking.bound, std::uint32_t(8 * gpus_.size()));
  policies_ = std::make_unique<Policies>(options_.settings, shared, session_->cost(), std::move(gate));
  SMARTMIG_RETURN_IF_ERROR(policies_->make());
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (nodes_.contains(ours[i]->name) && status[i]) see_status(ours[i]->name, *status[i]);
  for (std::size_t g = 0; g < gpus_.size(); ++g) set_blocked(GpuId(std::uint32_t(g)));
  return Ok{};
}

// Slices that an agent has given to jobs nobody here knows of: kept until the engine shows the job, given back where it is no
// job that could use one; if it has ended meanwhile, with its joules (ended_unseen).
void ClusterController::adopt(const Json& status) {
  const std::string node = status.value("node", "");
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || !status.contains("jobs") || !status["jobs"].is_array()) return;
  std::set<GpuId> keeping;
  for (const Json& entry : status["jobs"]) {
    const std::uint32_t number = entry.value("job", std::uint32_t(0));
    const std::size_t gpu = entry.value("gpu", std::size_t(1 << 20));
    if (number == 0 || gpu >= at->second.gpus.size()) continue;
    const GpuId id = at->second.gpus[gpu];
    const bool over = entry.value("ended", false);
    if (!over && kept_.contains(number)) keeping.insert(id);
    if (freeing_.contains(number)) continue;
    Tracked* known = find_number(number);
    if (known) known->record.energy.joules = known->joules_before + entry.value("joules", 0.0);
    // A job that has moved on from a node that was away has left its old slice there.
    if (known && known->gpu != kNoGpu && gpus_[index(known->gpu)].node == node) {
      if (over) left(node, number);
      continue;
    }
    const bool elsewhere = known && known->gpu != kNoGpu;
    const PlacementId where = placement_of(model(id), parse_job_slice(entry.value("slice", "")));
    if (where == kNoPlacement) continue;
    const bool could_use = known ? known->seen.phase != ClusterJob::kPending || !known->seen.held : look_ == 0;
    if (!over && could_use && !elsewhere) {
      found_[number] = {{"gpu_id", index(id)}, {"where", index(where)}};
      continue;
    }
    found_.erase(number);
    if (known)
      give_back(node, number, id);
    else
      left_[number] = Slice{index(id), index(where)};
  }
  for (const GpuId gpu : at->second.gpus) {
    if (gpus_[index(gpu)].kept == keeping.contains(gpu)) continue;
    gpus_[index(gpu)].kept = keeping.contains(gpu);
    set_blocked(gpu);
  }
}

}  // namespace smartmig
