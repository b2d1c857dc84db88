// Nodes and their agents: who answers, who is drained, and whether the slices are those that are believed.
#include <algorithm>

#include "cluster/controller.h"
#include "mig/shape.h"
#include "queue/job_slice.h"

namespace smartmig {
namespace {

constexpr Time kNodesEach{5'000'000};
constexpr int kDifferingLooks = 2;

}  // namespace

void ClusterController::ask_nodes() {
  if (now() >= next_nodes_) {
    next_nodes_ = now() + kNodesEach;
    ++counts_.queries;
    if (const auto nodes = workload_.nodes()) see_nodes(*nodes);
  }
  if (now() < next_heartbeat_) return;
  for (const std::string& name : std::exchange(absent_, {}))
    post("status " + name, name, {{"op", "status"}}, options_.status_limit, [this, name](const Result<Json>& answer) {
      if (!answer || !answer->contains("boards") || (*answer)["boards"].empty()) return absent_.push_back(name);
      say(fmt::format("the agent on {} answers now", name));
      rebuild_ = true;
    });
  next_heartbeat_ = now() + options_.heartbeat;
  for (auto& [name, node] : nodes_) {
    if (node.asked) continue;
    node.asked = true;
    post("status " + name, name, {{"op", "status"}}, options_.status_limit,
         [this, name = name](const Result<Json>& answer) { heard(name, answer); });
  }
}

void ClusterController::see_nodes(const std::vector<ClusterNode>& nodes) {
  for (const ClusterNode& seen : nodes) {
    const auto at = nodes_.find(seen.name);
    if (at == nodes_.end()) continue;
    see_facts(at->second, seen);
    if (at->second.up == seen.up) continue;
    at->second.up = seen.up;
    say(fmt::format("node {} is {}{}", seen.name, seen.state, seen.reason.empty() ? "" : ": " + seen.reason));
    for (const GpuId gpu : at->second.gpus) set_blocked(gpu);
  }
}

// What of a node is not in what jobs with slices take is others'. A job that cannot run anywhere may be able to now.
void ClusterController::see_facts(Node& node, const ClusterNode& seen) {
  const auto plain = [](ClusterNode one) {
    one.cpus_taken = one.mem_taken_mib = 0;
    one.state = one.reason = "";
    return one;
  };
  if (!(plain(node.seen) == plain(seen))) {
    ++facts_;
    places_.clear();
    for (auto& [name, job] : jobs_) job.barred.clear();
  }
  node.seen = seen;
  node.others_cpus = std::max(0, seen.cpus_taken - node.cpus);
  node.others_mem_mib = std::max(0, seen.mem_taken_mib - node.mem_mib);
}

void ClusterController::heard(const std::string& name, const Result<Json>& answer) {
  Node& node = nodes_[name];
  node.asked = false;
  node.silent = answer ? 0 : node.silent + 1;
  const bool answers = node.silent < kSilentHeartbeats;
  if (answers != node.answers) {
    node.answers = answers;
    say(answers ? fmt::format("the agent on {} answers again", name)
                : fmt::format("the agent on {} does not answer: {}", name, answer.error().what));
    for (const GpuId gpu : node.gpus) set_blocked(gpu);
  }
  if (!answer) return;
  for (const auto& again : std::exchange(node.later, {})) again();
  see_status(name, *answer);
}

void ClusterController::see_status(const std::string& name, const Json& status) {
  Node& node = nodes_[name];
  const Json& boards = status["boards"];
  if (!boards.is_array() || boards.size() != node.gpus.size()) {
    say(fmt::format("the GPUs of {} have changed", name));
    rebuild_ = true;
    return;
  }
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuId id = node.gpus[i];
    Gpu& gpu = gpus_[index(id)];
    gpu.uuid = boards[i].value("uuid", "");
    gpu.words = boards[i].value("trouble", "");
    see_energy(gpu, boards[i]);
    const bool trouble = !gpu.words.empty();
    if (trouble != gpu.trouble) {
      gpu.trouble = trouble;
      if (trouble) say(fmt::format("{} GPU {}: {}", name, i, gpu.words));
      set_blocked(id);
    }
    if (gpu.late && !boards[i].contains("operating_s")) {
      say(fmt::format("{} GPU {} has finished the operation that took too long", name, i));
      gpu.late = false;
      set_blocked(id);
    }
    if (gpu.used && !boards[i].contains("used")) {
      say(fmt::format("{} GPU {}: no process is left on the refused slice", name, i));
      gpu.used = false;
      set_blocked(id);
    }
    const auto layout = parse_layout(model(id), boards[i].value("layout", ""));
    const bool same = layout && *layout == session_->cluster().gpu(id).layout;
    gpu.differs =
        same || gpu.late || session_->fleet().operating(id) || session_->fleet().has_news() ? 0 : gpu.differs + 1;
    if (gpu.differs <= kDifferingLooks) continue;
    say(fmt::format("{} GPU {} has the layout {}, not {}", name, i, boards[i].value("layout", ""),
                    to_string(model(id), session_->cluster().gpu(id).layout)));
    rebuild_ = true;
  }
  adopt(status);
  publish(node, name);
}

void ClusterController::set_blocked(GpuId id) {
  Gpu& gpu = gpus_[index(id)];
  const Node& node = nodes_[gpu.node];
  const bool blocked = gpu.trouble || gpu.late || gpu.kept || gpu.used || !node.up || !node.answers;
  if (blocked == gpu.blocked) return;
  gpu.blocked = blocked;
  const Time at = session_->inside_now();
  session_->tell(blocked ? Event::blocked(at, id) : Event::unblocked(at, id));
}

// Layouts for people.
void ClusterController::publish(Node& node, const std::string& name) {
  std::string text = "smartmig:";
  for (const GpuId gpu : node.gpus)
    text += fmt::format(" {}={}", gpus_[index(gpu)].index, to_string(model(gpu), session_->cluster().gpu(gpu).layout));
  if (text == node.published) return;
  node.published = text;
  ClusterAction action;
  action.what = ClusterAction::kPublish;
  action.node = name;
  action.text = std::move(text);
  act(std::move(action));
}

}  // namespace smartmig
