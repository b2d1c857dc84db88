// A made-up Slurm with real agents over machines in memory, for tests of the controller: jobs are held until released,
// start on their node, and go back where their slice is not written down, as deploy/slurm's Prolog does. Time is set by
// the test. What must never happen (two jobs on one slice, a slice that does not fit) is checked at every start.
#pragma once
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/file.h"
#include "cluster/agents.h"
#include "cluster/node_agent.h"
#include "slurm/job_logs.h"
#include "slurm/slurm.h"
#include "support/fake_driver.h"
#include "support/made_cluster.h"
#include "support/temp_dir.h"

namespace smartmig {

class FakeSlurm : public Slurm, public Agents {
 public:
  FakeSlurm(int nodes, int gpus) {
    for (int i = 0; i < nodes; ++i) add_node(fmt::format("n{}", i + 1), gpus);
  }

  struct Run {
    SlurmJob job;
    Time length{};
    int mem_mib = 0;
    bool fails = false;
    int needs_mib = 0;                 // on a slice with less it fails, and its output says why
    std::set<std::string> refused_by;  // nodes where Slurm finds bad constraints
    int starts = 0, finishes = 0;
  };

  void submit(std::uint32_t id, int mem_mib, Time length, const std::string& dependency = "", int task = -1) {
    Run run;
    run.job.name = {id, task};
    run.job.number = task < 0 ? id : 0;
    run.job.partition = "mig";
    run.job.state = "PENDING";
    run.job.held = true;
    run.job.dependency = dependency;
    run.job.admin_comment = fmt::format("smartmig:mem={}M,slices=1,estimate={}s", mem_mib, smartmig::seconds(length));
    run.job.submitted = clock.now();
    run.job.uid = ::getuid();
    run.job.output = dir_.path() + "/log-%A-%a";
    run.length = length;
    run.mem_mib = mem_mib;
    jobs_[run.job.name] = run;
  }
  // Time passes: jobs end, give their slices back, and others start.
  void tick(Time time) {
    clock.pass(time);
    for (auto& [name, run] : jobs_) {
      if (run.job.phase != SlurmJob::kRunning || clock.now() < run.job.started + run.length) continue;
      run.job.phase = SlurmJob::kEnded;
      const bool lacks = had_mib_[run.job.number] < run.needs_mib;
      run.job.state = run.fails || lacks ? "FAILED" : "COMPLETED";
      (void)write_file(log_paths(run.job)[0], lacks ? "RuntimeError: CUDA out of memory.\n" : "done\n");
      run.job.ended = clock.now();
      ++run.finishes;
      epilog(run.job);
    }
    for (auto& [name, run] : jobs_) {
      SlurmJob& job = run.job;
      if (job.phase != SlurmJob::kPending || job.held) continue;
      const auto node = nodes_.find(job.required_nodes);
      if (node == nodes_.end() || !node->second.up) continue;
      if (run.refused_by.contains(node->first)) {
        job.held = true;
        job.reason = "BadConstraints";
        continue;
      }
      if (job.cpus > node->second.cpus - taken_cpus(node->first)) {
        job.reason = "Resources";
        continue;
      }
      const auto held = node->second.agent->jobs();
      const auto mine = held.find(job.number);
      if (mine == held.end() || mine->second.ended) {  // Prolog: back to the queue
        ++job.restarts;
        job.held = true;
        continue;
      }
      for (const auto& [other, running] : jobs_)
        SMARTMIG_CHECK(
            running.job.phase != SlurmJob::kRunning || slices_[running.job.number] != node->first + mine->second.device,
            "jobs {} and {} on one slice", to_string(name), to_string(other));
      const std::string profile = mine->second.slice.substr(0, mine->second.slice.find('@'));
      const GpuModel& model = **Catalog::builtin().find("a100-40gb");
      SMARTMIG_CHECK(model.profiles()[std::size_t(model.find_profile(profile))].memory_mib >= run.mem_mib,
                     "job {} does not fit {}", to_string(name), profile);
      slices_[job.number] = node->first + mine->second.device;
      set_living(job.number, true);
      profiles.insert(profile);
      had_mib_[job.number] = model.profiles()[std::size_t(model.find_profile(profile))].memory_mib;
      job.phase = SlurmJob::kRunning;
      job.state = "RUNNING";
      job.nodes = job.required_nodes;
      job.started = clock.now();
      ++run.starts;
    }
  }
  void requeue(const ClusterJobName& name, bool held) {
    SlurmJob& job = jobs_.at(name).job;
    if (job.phase != SlurmJob::kRunning && job.state != "FAILED") return;
    if (job.phase == SlurmJob::kRunning) epilog(job);
    job.phase = SlurmJob::kPending;
    job.state = "PENDING";
    job.held = held;
    job.nodes.clear();
    ++job.restarts;
  }
  // Nothing of it lives any more, and no Epilog says so.
  void dies(std::uint32_t id) {
    slices_.erase(run(id).job.number);
    set_living(run(id).job.number, false);
  }
  // Epilog has run; Slurm has not noticed.
  void mark_ended(std::uint32_t id) { epilog(run(id).job); }
  void end(std::uint32_t id) {
    SlurmJob& job = run(id).job;
    job.phase = SlurmJob::kEnded;
    job.state = "COMPLETED";
    job.ended = clock.now();
    ++run(id).finishes;
  }
  int taken_cpus(const std::string& node) const {
    int out = 0;
    for (const auto& [name, run] : jobs_)
      if (run.job.phase == SlurmJob::kRunning && run.job.nodes == node) out += run.job.cpus;
    return out;
  }
  void set_cpus(int cpus) {
    for (auto& [name, node] : nodes_) node.cpus = cpus;
  }
  void set_features(const std::string& node, std::vector<std::string> features) {
    nodes_.at(node).features = std::move(features);
  }
  // Where each job began, in order.
  std::vector<std::string> pins;
  void set_up(const std::string& node, bool up) { nodes_.at(node).up = up; }
  void set_deaf(const std::string& node, bool deaf) { nodes_.at(node).deaf = deaf; }
  // Operations are neither done nor refused while it hangs; afterwards they come to their end.
  void set_hangs(const std::string& name, bool hangs) {
    Node& node = nodes_.at(name);
    const std::lock_guard lock(node.mutex);
    node.hangs = hangs;
    for (const Json& request : std::exchange(node.hanging, {})) (void)node.agent->handle(json_dump(request), 0);
  }
  std::size_t hanging(const std::string& name) {
    const std::lock_guard lock(nodes_.at(name).mutex);
    return nodes_.at(name).hanging.size();
  }
  void restart_agent(const std::string& name) {
    Node& node = nodes_.at(name);
    const std::lock_guard lock(node.mutex);
    node.agent.reset();
    open_agent(name, node);
  }
  FakeDriver& driver(const std::string& node) { return *nodes_.at(node).driver; }
  NodeAgent& agent(const std::string& node) { return *nodes_.at(node).agent; }
  const std::map<ClusterJobName, Run>& runs() const { return jobs_; }
  Run& run(std::uint32_t id) { return jobs_.at({id, -1}); }
  bool all_ended() const {
    return std::all_of(jobs_.begin(), jobs_.end(),
                       [](const auto& one) { return one.second.job.phase == SlurmJob::kEnded; });
  }

  // Slurm
  Result<std::vector<SlurmJob>> jobs() override {
    if (silent) return io_error("Unable to contact slurm controller");
    std::vector<SlurmJob> out;
    if (forgetful) return out;
    for (const auto& [name, run] : jobs_) out.push_back(run.job);
    return out;
  }
  Result<std::vector<SlurmNode>> nodes() override {
    if (silent) return io_error("Unable to contact slurm controller");
    std::vector<SlurmNode> out;
    for (const auto& [name, node] : nodes_) {
      out.push_back({name, name, node.up, node.up ? "idle" : "drained", 16});
      out.back().features = node.features;
      out.back().cpus = node.cpus;
      out.back().cpus_taken = taken_cpus(name);
    }
    return out;
  }
  Result<Ok> act(const std::vector<SlurmAction>& actions) override {
    if (silent) return io_error("Unable to contact slurm controller");
    for (const SlurmAction& action : actions) {
      ++acted[action.what];
      if (action.what == SlurmAction::kAccount) accounts[action.job] = action.text;
      const auto at = jobs_.find(action.job);
      if (at == jobs_.end()) continue;
      SlurmJob& job = at->second.job;
      if (action.what == SlurmAction::kRequeue) requeue(action.job, true);
      if (job.phase != SlurmJob::kPending) continue;
      if (action.what == SlurmAction::kPin) {
        job.required_nodes = action.node;
        pins.push_back(action.node);
        if (job.number == 0) job.number = ++next_number_;
      }
      if (action.what == SlurmAction::kHold) job.held = true;
      if (action.what == SlurmAction::kRelease) {
        job.held = false;
        job.reason.clear();
      }
      if (action.what == SlurmAction::kNote) job.admin_comment = action.text;
    }
    return Ok{};
  }
  // Agents
  Result<Json> ask(const std::string& name, Json request, Patience) override {
    Node& node = nodes_.at(name);
    if (node.deaf) return timeout_error("{} does not answer", name);
    request["v"] = 1;
    request["node"] = name;
    request["id"] = 5;
    const std::lock_guard lock(node.mutex);
    if (node.hangs && request["op"] == "change") {
      node.hanging.push_back(std::move(request));
      return timeout_error("{} does not answer", name);
    }
    auto answer = read_agent_answer(name, node.agent->handle(json_dump(request), 0), 5);
    if (answer && request["op"] == "status")
      for (const Json& one : node.hanging) (*answer)["boards"][one["gpu"].get<std::size_t>()]["operating_s"] = 99;
    return answer;
  }

  AtomicClock clock;
  bool silent = false;     // slurmctld cannot be asked
  bool forgetful = false;  // it answers, and its answers lack all jobs
  std::map<SlurmAction::What, int> acted;
  std::map<ClusterJobName, std::string> accounts;  // AdminComment of ended jobs
  std::set<std::string> profiles;                  // that jobs ran on

 private:
  struct Node {
    std::unique_ptr<FakeDriver> driver;
    std::unique_ptr<Reshaper> reshaper;
    std::unique_ptr<NodeAgent> agent;
    std::mutex mutex;
    std::atomic<bool> up = true, deaf = false, hangs = false;
    int cpus = 64;
    std::vector<std::string> features;
    std::vector<Json> hanging;
  };
  void add_node(const std::string& name, int gpus) {
    Node& node = nodes_[name];
    node.driver = std::move(*FakeDriver::open(fmt::format("{}xa100-40gb", gpus), {}));
    node.reshaper = std::make_unique<Reshaper>(*Reshaper::open(*node.driver, dir_.path() + "/" + name));
    open_agent(name, node);
  }
  void open_agent(const std::string& name, Node& node) {
    NodeAgent::Options options{name, dir_.path() + "/" + name, {}, {}, {}};
    options.lives = [this](std::uint32_t job) {
      const std::lock_guard lock(living_mutex_);
      return living_.contains(job) ? std::string("its processes run") : std::string();
    };
    node.agent = std::move(*NodeAgent::open(*node.driver, *node.reshaper, clock, std::move(options)));
  }
  void epilog(const SlurmJob& job) {
    slices_.erase(job.number);
    set_living(job.number, false);
    const std::string file = fmt::format("{}/{}/jobs/{}", dir_.path(), job.nodes, job.number);
    std::error_code ignored;
    std::filesystem::rename(file + ".env", file + ".ended", ignored);
  }

  void set_living(std::uint32_t job, bool lives) {
    const std::lock_guard lock(living_mutex_);
    if (lives)
      living_.insert(job);
    else
      living_.erase(job);
  }

  TempDir dir_;
  std::mutex living_mutex_;
  std::set<std::uint32_t> living_;  // jobs with processes, by SLURM_JOB_ID
  std::map<std::string, Node> nodes_;
  std::map<ClusterJobName, Run> jobs_;
  std::map<std::uint32_t, std::string> slices_;  // node and UUID by SLURM_JOB_ID, of what runs
  std::map<std::uint32_t, int> had_mib_;         // memory of the slice that a job ran on last
  std::uint32_t next_number_ = 100'000;
};

}  // namespace smartmig
