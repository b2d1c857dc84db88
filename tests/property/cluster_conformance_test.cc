// What every cluster engine must give the controller, over a made-up one, Slurm and Kubernetes alike: each job runs once, on a
// slice that fits and that nobody else has, whoever is killed or silent meanwhile.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/rng.h"
#include "cluster/controller.h"
#include "slurm/slurm_workload.h"
#include "support/cases.h"
#include "support/made_cluster.h"
#include "support/made_kubernetes.h"
#include "support/slurm_cluster.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

// An engine with two nodes of two A100s, n1 and n2. What must never happen is checked where jobs start.
class ConformanceWorld {
 public:
  virtual ~ConformanceWorld() = default;
  virtual ClusterWorkload& workload() = 0;
  virtual Agents& agents() = 0;
  virtual AtomicClock& clock() = 0;
  virtual void submit(std::uint32_t id, int mem_mib, Time length) = 0;
  virtual void confine(std::uint32_t id, const std::string& node) = 0;
  virtual void hold(std::uint32_t id, bool held) = 0;
  virtual void tick() = 0;  // a second
  virtual int starts(std::uint32_t id) = 0;
  virtual int finishes(std::uint32_t id) = 0;
  virtual std::string node_of(std::uint32_t id) = 0;
  virtual std::string told(std::uint32_t id) = 0;
  virtual void set_silent(bool silent) = 0;
  virtual void set_forgetful(bool forgetful) = 0;  // answers lack all jobs
  virtual void set_up(const std::string& node, bool up) = 0;
};

class MadeWorld : public ConformanceWorld {
 public:
  ClusterWorkload& workload() override { return made_; }
  Agents& agents() override { return made_; }
  AtomicClock& clock() override { return made_.clock; }
  void submit(std::uint32_t id, int mem_mib, Time length) override { made_.submit(id, mem_mib, length); }
  void confine(std::uint32_t id, const std::string& node) override { made_.run(id).only = node; }
  void hold(std::uint32_t id, bool held) override { made_.run(id).job.owner_holds = held; }
  void tick() override { made_.tick(std::chrono::seconds(1)); }
  int starts(std::uint32_t id) override { return made_.run(id).starts; }
  int finishes(std::uint32_t id) override { return made_.run(id).finishes; }
  std::string node_of(std::uint32_t id) override { return made_.run(id).node; }
  std::string told(std::uint32_t id) override { return made_.run(id).told; }
  void set_silent(bool silent) override { made_.silent = silent; }
  void set_forgetful(bool forgetful) override { made_.forgetful = forgetful; }
  void set_up(const std::string& node, bool up) override { made_.set_up(node, up); }

 private:
  MadeCluster made_{2, 2};
};

class SlurmWorld : public ConformanceWorld {
 public:
  ClusterWorkload& workload() override { return workload_; }
  Agents& agents() override { return slurm_; }
  AtomicClock& clock() override { return slurm_.clock; }
  void submit(std::uint32_t id, int mem_mib, Time length) override { slurm_.submit(id, mem_mib, length); }
  void confine(std::uint32_t id, const std::string& node) override {
    slurm_.run(id).job.admin_comment += ",node=" + node;
  }
  void hold(std::uint32_t id, bool held) override { slurm_.run(id).job.held_by_user = held; }
  void tick() override { slurm_.tick(std::chrono::seconds(1)); }
  int starts(std::uint32_t id) override { return slurm_.run(id).starts; }
  int finishes(std::uint32_t id) override { return slurm_.run(id).finishes; }
  std::string node_of(std::uint32_t id) override { return slurm_.run(id).job.nodes; }
  std::string told(std::uint32_t id) override { return slurm_.run(id).job.admin_comment; }
  void set_silent(bool silent) override { slurm_.silent = silent; }
  void set_forgetful(bool forgetful) override { slurm_.forgetful = forgetful; }
  void set_up(const std::string& node, bool up) override { slurm_.set_up(node, up); }

 private:
  FakeSlurm slurm_{2, 2};
  SlurmWorkload workload_{slurm_, slurm_.clock, {}};
};

class KubernetesWorld : public ConformanceWorld {
 public:
  ClusterWorkload& workload() override { return made_.cluster(); }
  Agents& agents() override { return made_.cluster(); }
  AtomicClock& clock() override { return made_.clock; }
  void submit(std::uint32_t id, int mem_mib, Time length) override { made_.submit(id, mem_mib, length); }
  void confine(std::uint32_t id, const std::string& node) override { made_.confine(id, node); }
  void hold(std::uint32_t id, bool held) override { made_.hold(id, held); }
  void tick() override { made_.tick(std::chrono::seconds(1)); }
  int starts(std::uint32_t id) override { return made_.run(id).starts; }
  int finishes(std::uint32_t id) override { return made_.run(id).finishes; }
  std::string node_of(std::uint32_t id) override { return made_.run(id).node; }
  std::string told(std::uint32_t) override { return {}; }  // Events: tests/e2e/kubernetes_test.py
  void set_silent(bool silent) override { made_.silent = silent; }
  void set_forgetful(bool) override {}  // its copy is of a whole list
  void set_up(const std::string& node, bool up) override { made_.set_up(node, up); }

 private:
  MadeKubernetes made_;
};

struct Engine {
  const char* name;
  std::function<std::unique_ptr<ConformanceWorld>()> make;
  bool tells = true;  // owners, where the test sees it
};

class ClusterConformanceProcess : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    world_ = GetParam().make();
    reopen();
  }
  void reopen() {
    controller_.reset();
    if (auto* kubernetes = dynamic_cast<KubeCluster*>(&world_->workload())) kubernetes->forget();  // as `serve` does
    ClusterController::Options options;
    options.state_dir = dir_.path();
    options.name = "test";
    options.epoch = ++epoch_;
    options.start_patience = std::chrono::seconds(20);
    options.settings.policy.gather = Time{0};
    if (auto opened =
            ClusterController::open(world_->workload(), world_->agents(), world_->clock(), std::move(options)))
      controller_ = std::move(*opened);
  }
  void kill() { controller_.reset(); }
  void second() {
    world_->tick();
    if (!controller_) return reopen();
    for (int i = 0; i < 2; ++i) {
      controller_->step();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::atomic<bool> stop = true;
    if (controller_->run(stop) != ClusterController::Outcome::kStopped) reopen();
  }
  void run(int times) {
    for (int i = 0; i < times; ++i) second();
  }
  void until_started(std::uint32_t id) {
    for (int i = 0; i < 60 && world_->starts(id) == 0; ++i) second();
    ASSERT_EQ(world_->starts(id), 1);
  }
  void until_all_ended(std::uint32_t last, int most) {
    const auto all = [&] {
      for (std::uint32_t id = 1; id <= last; ++id)
        if (world_->finishes(id) == 0) return false;
      return true;
    };
    for (int i = 0; i < most && !all(); ++i) second();
    for (std::uint32_t id = 1; id <= last; ++id) EXPECT_EQ(world_->finishes(id), 1) << id;
  }

  TempDir dir_;
  std::unique_ptr<ConformanceWorld> world_;
  std::unique_ptr<ClusterController> controller_;
  std::uint64_t epoch_ = 0;
};

TEST_P(ClusterConformanceProcess, EachJobRunsOnceOnASliceThatFits) {
  const int sizes[] = {4'000, 9'000, 18'000, 38'000};
  for (std::uint32_t id = 1; id <= 24; ++id) world_->submit(id, sizes[id % 4], std::chrono::seconds(3 + id % 5));
  until_all_ended(24, 400);
  for (std::uint32_t id = 1; id <= 24; ++id) EXPECT_EQ(world_->starts(id), 1) << id;
}

TEST_P(ClusterConformanceProcess, SilenceAndRepliesWithoutJobsEndNothing) {
  for (std::uint32_t id = 1; id <= 4; ++id) world_->submit(id, 30'000, std::chrono::seconds(200));
  for (std::uint32_t id = 1; id <= 4; ++id) until_started(id);
  world_->set_silent(true);
  run(60);
  world_->set_silent(false);
  world_->set_forgetful(true);
  run(50);
  world_->set_forgetful(false);
  world_->submit(5, 30'000, std::chrono::seconds(3));  // starts check that no slice has two jobs
  run(20);
  EXPECT_EQ(world_->starts(5), 0);
  until_all_ended(5, 400);
}

TEST_P(ClusterConformanceProcess, AKilledControllersJobsRunOn) {
  for (std::uint32_t id = 1; id <= 12; ++id) world_->submit(id, 18'000, std::chrono::seconds(20));
  Rng rng(7);
  for (int i = 0; i < 80; ++i) {
    if (rng.below(4) == 0) kill();
    second();
  }
  until_all_ended(12, 400);
  for (std::uint32_t id = 1; id <= 12; ++id) EXPECT_EQ(world_->starts(id), 1) << id;
}

TEST_P(ClusterConformanceProcess, AJobIsPutOnlyWhereItMayRunAndItsOwnerIsToldWhyItWaits) {
  for (std::uint32_t id = 1; id <= 3; ++id) {
    world_->submit(id, 38'000, std::chrono::seconds(5));
    world_->confine(id, "n2");
  }
  world_->submit(4, 4'000, std::chrono::seconds(5));
  world_->confine(4, "n9");
  run(40);
  for (std::uint32_t id = 1; id <= 3; ++id) EXPECT_EQ(world_->node_of(id), "n2") << id;
  EXPECT_EQ(world_->starts(4), 0);
  if (GetParam().tells) {
    EXPECT_NE(world_->told(4).find("no node may run it"), std::string::npos) << world_->told(4);
  }
}

TEST_P(ClusterConformanceProcess, AHeldJobWaitsAndBlocksNobody) {
  world_->submit(1, 38'000, std::chrono::seconds(3));
  world_->hold(1, true);
  world_->submit(2, 38'000, std::chrono::seconds(3));
  run(30);
  EXPECT_EQ(world_->starts(1), 0);
  EXPECT_EQ(world_->finishes(2), 1);
  world_->hold(1, false);
  until_all_ended(2, 60);
}

TEST_P(ClusterConformanceProcess, ADownNodeGetsNoJobs) {
  world_->set_up("n1", false);
  run(8);
  for (std::uint32_t id = 1; id <= 6; ++id) world_->submit(id, 18'000, std::chrono::seconds(4));
  until_all_ended(6, 200);
  for (std::uint32_t id = 1; id <= 6; ++id) EXPECT_EQ(world_->node_of(id), "n2") << id;
}

TEST_P(ClusterConformanceProcess, RandomFaultsLoseNoJob) {
  const int count = cases(2);
  for (int c = 0; c < count; ++c) {
    SCOPED_TRACE(fmt::format("seed {}", 3200 + c));
    Rng rng(std::uint64_t(3200 + c));
    kill();
    world_ = GetParam().make();
    reopen();
    std::uint32_t last = 0;
    for (int t = 0; t < 120; ++t) {
      if (rng.below(2) == 0)
        world_->submit(++last, int(1'000 + rng.below(38'000)), std::chrono::seconds(1 + rng.below(15)));
      const std::string node = fmt::format("n{}", 1 + rng.below(2));
      switch (rng.below(20)) {
        case 0:
          kill();
          break;
        case 1:
          world_->set_up(node, false);
          break;
        case 2:
          world_->set_silent(true);
          break;
        default:
          world_->set_silent(false);
          world_->set_up("n1", true);
          world_->set_up("n2", true);
      }
      second();
    }
    world_->set_silent(false);
    world_->set_up("n1", true);
    world_->set_up("n2", true);
    until_all_ended(last, 3'000);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, ClusterConformanceProcess,
                         testing::Values(Engine{"Made", [] { return std::make_unique<MadeWorld>(); }},
                                         Engine{"Slurm", [] { return std::make_unique<SlurmWorld>(); }},
                                         Engine{"Kubernetes", [] { return std::make_unique<KubernetesWorld>(); },
                                                false}),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace smartmig
