// Where a job may be put besides what its slice must have: nodes that it may use, with CPUs and memory left; and what its
// owner is told while it waits.
#include <algorithm>

#include "cluster/controller.h"

namespace smartmig {
namespace {

constexpr Time kWordsEach{10'000'000};  // owners are told of waiting
constexpr Time kWordsOfJobEach{60'000'000};
constexpr int kMostWordsAtOnce = 20;

// What it takes of this node.
int cpus_on(const ClusterNode& node, const ClusterJob& job) { return job.whole_node ? node.cpus : job.cpus; }

int mem_on(const ClusterNode& node, const ClusterJob& job) {
  return job.whole_node || job.mem_mib == 0 ? node.mem_mib : std::max(0, job.mem_mib);
}

}  // namespace

// A job that asks for other nodes than before may be put on those that refused it.
void ClusterController::look_at_needs(Tracked& job) {
  if (job.seen.needs == job.needs) return;
  if (job.way == Way::kWaiting) job.barred.clear();
  job.needs = job.seen.needs;
  job.ever_of = 0;
}

// Why no node may run it; empty: some may.
const std::string& ClusterController::nowhere(Tracked& job) {
  if (job.ever_of == facts_) return job.nowhere;
  const auto [at, added] = places_.try_emplace(job.needs);
  if (added) {
    auto gpus = std::make_shared<Gpus>(gpus_.size(), true);
    std::map<std::string, std::size_t> objections;
    for (const auto& [name, node] : nodes_) {
      const std::string words = job.seen.objection ? job.seen.objection(name) : std::string();
      if (words.empty()) continue;
      ++objections[words];
      for (const GpuId gpu : node.gpus) (*gpus)[index(gpu)] = false;
    }
    if (!objections.empty()) at->second.ever = gpus;
    if (std::find(gpus->begin(), gpus->end(), true) == gpus->end()) {
      std::string& words = at->second.nowhere;
      for (const auto& [objection, count] : objections)
        words += fmt::format("{}{} of {} nodes: {}", words.empty() ? "no node may run it; " : "; ", count,
                             nodes_.size(), objection);
      say(fmt::format("job {}: {}", to_string(job.seen.name), words));
    }
  }
  job.ever = at->second.ever;
  job.nowhere = at->second.nowhere;
  job.ever_of = facts_;
  return job.nowhere;
}

bool ClusterController::has_room(const Node& node, const Tracked& job) const {
  if (node.seen.cpus > 0 && cpus_on(node.seen, job.seen) > node.free_cpus()) return false;
  return node.seen.mem_mib == 0 || mem_on(node.seen, job.seen) <= node.free_mem_mib();
}

// By a waiting job's row, the same for a whole decision. Nodes that refused it for good are none of its; others that did
// not start it are tried when nothing else is left.
ConfinedPlans::Where ClusterController::where(JobId row) {
  Tracked* job = find(session_->belief().record(row));
  if (!job) return {};
  if (!nowhere(*job).empty()) {
    const auto none = std::make_shared<const Gpus>(gpus_.size(), false);
    return {none, none};
  }
  if (job->barred.empty())
    if (const auto known = where_now_.find(job->needs); known != where_now_.end()) return known->second;
  const auto may = [&](const Node& node) { return !job->ever || (*job->ever)[index(node.gpus.front())]; };
  bool fresh = false;  // some node is left that has not failed to start it
  for (const auto& [name, node] : nodes_)
    fresh = fresh || (!node.gpus.empty() && may(node) && !job->barred.contains(name));
  Gpus ever(gpus_.size(), true), open(gpus_.size(), true);
  bool confined = false;
  for (const auto& [name, node] : nodes_) {
    if (node.gpus.empty()) continue;
    const auto bar = job->barred.find(name);
    const bool barred = bar != job->barred.end() && (fresh || bar->second.for_good);
    const bool good = may(node) && !barred, room = good && has_room(node, *job);
    confined = confined || !room;
    for (const GpuId gpu : node.gpus) {
      ever[index(gpu)] = good;
      open[index(gpu)] = room;
    }
  }
  ConfinedPlans::Where out;
  if (confined) out = {std::make_shared<const Gpus>(std::move(ever)), std::make_shared<const Gpus>(std::move(open))};
  if (job->barred.empty()) where_now_[job->needs] = out;
  return out;
}

// The engine did not start it on the node where it was put.
void ClusterController::bar(Tracked& job, const std::string& words, bool for_good) {
  const std::string& node = gpus_[index(job.gpu)].node;
  job.barred[node] = {words, for_good};
  say(fmt::format("job {}: {} does not start it on {} ({}); smartmig chooses another node", to_string(job.seen.name),
                  this->words().name, node, words));
}

void ClusterController::hold(Tracked& job, GpuId gpu, PlacementId where) {
  job.gpu = gpu;
  job.where = where;
  occupied_[Slice{index(gpu), index(where)}] = job.seen.name;
  uncharge(job);
  Node& node = nodes_[gpus_[index(gpu)].node];
  job.cpus = cpus_on(node.seen, job.seen);
  job.mem_mib = node.seen.mem_mib > 0 ? mem_on(node.seen, job.seen) : 0;
  node.cpus += job.cpus;
  node.mem_mib += job.mem_mib;
}

// What it took of its node besides the slice is free.
void ClusterController::uncharge(Tracked& job) {
  if (job.gpu == kNoGpu) return;
  Node& node = nodes_[gpus_[index(job.gpu)].node];
  node.cpus -= std::exchange(job.cpus, 0);
  node.mem_mib -= std::exchange(job.mem_mib, 0);
}

// Starts of one plan are counted together; one without room waits for the next decision. True: some were dropped.
bool ClusterController::drop_impossible(Plan& plan) {
  std::map<std::string, std::pair<int, int>> taken;  // by node: CPUs and memory
  std::set<JobId> dropped;
  std::erase_if(plan.starts, [&](const Start& start) {
    Tracked* job = find(session_->belief().record(start.job));
    if (!job) return false;
    const std::string& name = gpus_[index(start.gpu)].node;
    const Node& node = nodes_[name];
    auto& [cpus, mem] = taken[name];
    const int more_cpus = cpus_on(node.seen, job->seen), more_mem = mem_on(node.seen, job->seen);
    const ConfinedPlans::Where asked = where(start.job);
    const bool fits = (node.seen.cpus == 0 || cpus + more_cpus <= node.free_cpus()) &&
                      (node.seen.mem_mib == 0 || mem + more_mem <= node.free_mem_mib());
    if (fits && (!asked.now || (*asked.now)[index(start.gpu)])) {
      cpus += more_cpus;
      mem += more_mem;
      return false;
    }
    dropped.insert(start.job);
    return true;
  });
  std::erase_if(plan.stops, [&](JobId job) { return dropped.contains(job); });  // it was to move
  return !dropped.empty();
}

// For its owner: why it waits.
std::string ClusterController::why_waits(const Tracked& job) const {
  const ClusterJob& seen = job.seen;
  if (job.left_alone) return seen.reason;
  if (!seen.obstacle.empty()) return seen.obstacle;
  if (!job.nowhere.empty()) return job.nowhere;
  std::string refused;
  for (const auto& [node, bar] : job.barred)
    refused += fmt::format("{}{} ({})", refused.empty() ? fmt::format("{} did not start it on ", words().name) : ", ",
                           node, bar.words);
  if (job.not_before > now()) return refused.empty() ? "its last start failed; smartmig tries again" : refused;
  if (job.ready) {
    std::string words = "no slice is free for it";
    if (job.record.memory.mib > 0) words = fmt::format("no slice of {} MiB is free for it", job.record.memory.mib);
    if (job.ever) words += " on the nodes that it may use";
    return refused.empty() ? words : words + "; " + refused;
  }
  if (seen.array_limit > 0) return "no more tasks of its array may run at once";
  return fmt::format("{} does not show it as held yet", words().name);
}

// Some jobs at a time. Not of a task without a record of its own: the note would give it one.
void ClusterController::tell_owners() {
  if (now() < next_words_) return;
  next_words_ = now() + kWordsEach;
  int told = 0;
  for (auto& [name, job] : jobs_) {
    if (told == kMostWordsAtOnce) return;
    if (job.way != Way::kWaiting || job.seen.number == 0 || job.missing != UnixTime{}) continue;
    if (now() - job.since < kWordsEach || now() - job.told_at < kWordsOfJobEach) continue;
    std::string words = why_waits(job);
    if (words == job.told) continue;
    job.told = std::move(words);
    job.told_at = now();
    ++told;
    ClusterAction note = action(ClusterAction::kNote, job);
    note.text = job.told;
    act(std::move(note));
  }
}

}  // namespace smartmig
