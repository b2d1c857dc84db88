// A made-up cluster engine, in memory, whose nodes make slices at once: the least that the controller stands on. It
// checks what must never happen at every start: two jobs on one slice, a slice that does not fit, a job on a node that it
// may not use. Time is set by the test.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "cluster/agents.h"
#include "cluster/workload.h"
#include "live/live_clock.h"
#include "mig/catalog.h"
#include "mig/shape.h"
#include "queue/job_slice.h"

namespace smartmig {

class AtomicClock : public LiveClock {
 public:
  UnixTime now() const override { return from_unix_us(us_); }
  bool wait_until(UnixTime) override { return true; }
  void wake() override {}
  void sleep(Time) override {}
  void pass(Time time) { us_ += time.count(); }

 private:
  std::atomic<std::int64_t> us_ = 1'700'000'000'000'000;
};

inline const EngineWords kMadeWords{.name = "The made cluster", .id = "made", .no_nodes = "no nodes"};

class MadeCluster : public ClusterWorkload, public Agents {
 public:
  MadeCluster(int nodes, int gpus) {
    for (int i = 0; i < nodes; ++i) nodes_[fmt::format("n{}", i + 1)].layouts.resize(std::size_t(gpus));
  }
  struct Run {
    ClusterJob job;
    Time length{};
    std::string only;  // the one node that it may use; empty: any
    std::string node, slice;
    int gpu = 0;
    int starts = 0, finishes = 0;
    std::string told;  // why it waits
  };
  void submit(std::uint32_t id, int mem_mib, Time length) {
    Run& run = jobs_[id];
    run.job.name = {id, -1};
    run.job.number = id;
    run.job.held = true;
    run.job.requeue = true;
    run.job.submitted = clock.now();
    run.job.request.emplace();
    run.job.request->mem_mib = mem_mib;
    run.job.request->estimate = length;
    run.length = length;
  }
  void tick(Time time) {
    clock.pass(time);
    for (auto& [id, run] : jobs_) {
      if (run.job.phase != ClusterJob::kRunning || clock.now() < run.job.started + run.length) continue;
      run.job.phase = ClusterJob::kEnded;
      run.job.outcome = ClusterJob::kCompleted;
      run.job.ended = clock.now();
      ++run.finishes;
    }
    const std::lock_guard lock(mutex_);
    for (auto& [id, run] : jobs_) {
      ClusterJob& job = run.job;
      if (job.phase != ClusterJob::kPending || job.held) continue;
      Node& node = nodes_.at(run.node);
      const auto reserved = node.reserved.find(id);
      if (!node.up || reserved == node.reserved.end()) continue;
      const auto& [gpu, slice] = reserved->second;
      SMARTMIG_CHECK(run.only.empty() || run.only == run.node, "job {} may not use {}", id, run.node);
      for (const auto& [other, running] : jobs_)
        SMARTMIG_CHECK(running.job.phase != ClusterJob::kRunning || running.node != run.node || running.gpu != gpu ||
                           running.slice != slice,
                       "jobs {} and {} have one slice", id, other);
      const PlacementId where = placement_of(*model_, parse_job_slice(slice));
      SMARTMIG_CHECK(node.layouts[std::size_t(gpu)].contains(where), "job {} has a slice that is not there", id);
      SMARTMIG_CHECK(model_->profile_of(where).memory_mib >= job.request->mem_mib, "job {} does not fit", id);
      run.gpu = gpu;
      run.slice = slice;
      job.phase = ClusterJob::kRunning;
      job.started = clock.now();
      ++run.starts;
    }
  }
  Run& run(std::uint32_t id) { return jobs_.at(id); }
  const std::map<std::uint32_t, Run>& runs() const { return jobs_; }
  void set_up(const std::string& node, bool up) { nodes_.at(node).up = up; }
  std::size_t reserved() {
    const std::lock_guard lock(mutex_);
    std::size_t out = 0;
    for (const auto& [name, node] : nodes_) out += node.reserved.size();
    return out;
  }

  const EngineWords& words() const override { return kMadeWords; }
  Result<std::vector<ClusterJob>> jobs() override {
    if (silent) return io_error("nobody answers");
    std::vector<ClusterJob> out;
    if (forgetful) return out;
    for (const auto& [id, run] : jobs_) {
      out.push_back(run.job);
      out.back().obstacle = run.job.owner_holds ? "its owner holds it" : "";
      out.back().needs = run.only;
      if (!run.only.empty())
        out.back().objection = [only = run.only](const std::string& node) -> std::string {
          return node == only ? "" : "is not " + only;
        };
    }
    return out;
  }
  Result<std::vector<ClusterNode>> nodes() override {
    if (silent) return io_error("nobody answers");
    std::vector<ClusterNode> out;
    for (const auto& [name, node] : nodes_) {
      out.push_back({name, node.up});
      out.back().cpus = 64;
    }
    return out;
  }
  Result<Ok> act(const std::vector<ClusterAction>& actions) override {
    if (silent) return io_error("nobody answers");
    for (const ClusterAction& action : actions) {
      const auto at = jobs_.find(action.job.id);
      if (at == jobs_.end()) continue;
      Run& run = at->second;
      if (action.what == ClusterAction::kNote) run.told = action.text;
      if (action.what == ClusterAction::kRequeue && run.job.phase == ClusterJob::kRunning) {
        run.job.phase = ClusterJob::kPending;
        run.job.held = true;
      }
      if (run.job.phase != ClusterJob::kPending) continue;
      if (action.what == ClusterAction::kTakeBack) run.job.held = true;
      if (action.what == ClusterAction::kGrant) {
        run.job.held = false;
        run.node = run.job.given_node = action.node;
      }
    }
    return Ok{};
  }
  Result<Json> ask(const std::string& name, Json request, Patience) override {
    const std::lock_guard lock(mutex_);
    Node& node = nodes_.at(name);
    const std::string op = request.value("op", "");
    if (op == "status") {
      Json boards = Json::array(), jobs = Json::array();
      for (const Layout& layout : node.layouts)
        boards.push_back(
            {{"uuid", ""}, {"model", model_->name()}, {"layout", to_string(*model_, layout)}, {"trouble", ""}});
      for (const auto& [number, slice] : node.reserved)
        jobs.push_back({{"job", number}, {"gpu", slice.first}, {"slice", slice.second}});
      return Json{{"node", name}, {"boards", boards}, {"jobs", jobs}, {"epoch", 0}, {"since_leader_s", 0}};
    }
    const std::uint32_t number = request.value("job", std::uint32_t(0));
    if (op == "free") {
      const auto run = jobs_.find(number);
      if (run != jobs_.end() && run->second.job.phase == ClusterJob::kRunning && run->second.node == name)
        return busy_error("job {} lives", number);
      node.reserved.erase(number);
      return Json::object();
    }
    const int gpu = request.value("gpu", 0);
    const std::string slice = request.value("slice", "");
    const PlacementId where = placement_of(*model_, parse_job_slice(slice));
    Layout& layout = node.layouts.at(std::size_t(gpu));
    if (op == "reserve") {
      if (!layout.contains(where)) return not_found("there is no {}", slice);
      for (const auto& [other, held] : node.reserved)
        if (other != number && held == std::pair(gpu, slice)) return busy_error("job {} has it", other);
      node.reserved[number] = {gpu, slice};
      return Json::object();
    }
    if (op != "change") return invalid("what is {}?", op);
    if (!request.value("create", false)) {
      for (const auto& [other, held] : node.reserved)
        if (held == std::pair(gpu, slice)) return busy_error("job {} has it", other);
      layout = layout.without(where);
      return Json::object();
    }
    const auto larger = model_->with(layout, where);
    if (!larger) return busy_error("it does not fit");
    layout = *larger;
    return Json::object();
  }

  AtomicClock clock;
  bool silent = false, forgetful = false;

 private:
  struct Node {
    std::vector<Layout> layouts;
    std::map<std::uint32_t, std::pair<int, std::string>> reserved;
    bool up = true;
  };
  std::shared_ptr<const GpuModel> model_ = *Catalog::builtin().find("a100-40gb");
  std::mutex mutex_;  // of the nodes' slices: lanes ask
  std::map<std::string, Node> nodes_;
  std::map<std::uint32_t, Run> jobs_;
};

}  // namespace smartmig
