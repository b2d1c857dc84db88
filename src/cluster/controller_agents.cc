// How the controller asks agents: on threads of its lanes, in order, with limits. An agent that keeps a question waiting
// until its limit gets no other than status until it answers one; its node gets no jobs meanwhile.
#include <algorithm>

#include "cluster/controller.h"

namespace smartmig {

// Asks on a thread of the lanes; the answer is taken on ours.
void ClusterController::post(const std::string& lane, const std::string& node, Json request, Time limit,
                             std::function<void(Result<Json>)> then) {
  request["epoch"] = options_.epoch;
  request["leader"] = options_.name;
  const bool status = request["op"] == "status", change = request["op"] == "change";
  const auto known = nodes_.find(node);
  auto silent = known == nodes_.end() ? std::make_shared<std::atomic<bool>>(false) : known->second.hangs;
  lanes_.post(lane, node,
              [this, inbox = inbox_, node, request = std::move(request), limit, then = std::move(then), status, change,
               silent = std::move(silent)] {
                const Patience patience(limit, &lanes_.given_up());
                auto answer = !status && *silent ? Result<Json>(timeout_error("the agent on {} does not answer", node))
                                                 : agents_.ask(node, request, patience);
                const bool answered =
                    answer || (answer.error().code != Error::kTimeout && answer.error().code != Error::kIo);
                const bool late = !answer && answer.error().code == Error::kTimeout && !change;
                if (answer && status) *silent = false;
                if (late) *silent = true;
                bool replaced = false;
                if (!answer && answer.error().code == Error::kNoPermission) {
                  const auto plain = agents_.ask(node, {{"op", "status"}}, patience);
                  replaced = plain && plain->value("epoch", std::uint64_t(0)) > options_.epoch;
                }
                {
                  const std::lock_guard lock(inbox->mutex);
                  inbox->results.push_back([this, then, node, replaced, late, answer = std::move(answer)] {
                    if (replaced) say(answer.error().what);
                    replaced_ = replaced_ || replaced;
                    if (late) fell_silent(node, answer.error().what);
                    then(answer);
                  });
                }
                clock_.wake();
                return answered;
              });
}

void ClusterController::fell_silent(const std::string& name, const std::string& words) {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return;
  Node& node = at->second;
  node.silent = std::max(node.silent, kSilentHeartbeats);
  if (!node.answers) return;
  node.answers = false;
  say(fmt::format("the agent on {} does not answer: {}", name, words));
  for (const GpuId gpu : node.gpus) set_blocked(gpu);
}

// What could not be told to an agent is told when it answers again.
void ClusterController::post_when_it_answers(const std::string& node, std::function<void()> again) {
  nodes_[node].later.push_back(std::move(again));
}

}  // namespace smartmig
