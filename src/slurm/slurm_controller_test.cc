#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/rng.h"
#include "cluster/controller.h"
#include "cluster/shadow.h"
#include "slurm/fallback.h"
#include "slurm/slurm_workload.h"
#include "support/cases.h"
#include "support/slurm_cluster.h"

namespace smartmig {
namespace {

using std::chrono::seconds;

// A controller on a made-up cluster; steps give its lanes a moment to answer.
class Controlled {
 public:
  explicit Controlled(FakeSlurm& slurm, EndedJobs* ended = nullptr) : slurm_(slurm), ended_(ended) { reopen(); }
  void reopen() {
    controller_.reset();
    ClusterController::Options options;
    options.state_dir = dir_.path();
    options.name = "test";
    options.epoch = ++epoch_;
    options.start_patience = seconds(20);
    options.metrics_file = metrics_file();
    options.ended = ended_;
    options.settings.policy.gather = Time{0};
    SlurmWorkload::Options given;
    given.resumed_file = dir_.path() + "/resumed.json";
    workload_ = std::make_unique<SlurmWorkload>(slurm_, slurm_.clock, std::move(given));
    auto opened = ClusterController::open(*workload_, slurm_, slurm_.clock, std::move(options));
    if (opened) controller_ = std::move(*opened);
  }
  // A second of the cluster. What is believed wrongly is read anew, as `slurm serve` does.
  void second() {
    slurm_.tick(seconds(1));
    if (!controller_) return reopen();
    for (int i = 0; i < 2; ++i) {
      controller_->step();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::atomic<bool> stop = true;
    if (controller_->run(stop) != ClusterController::Outcome::kStopped) reopen();
  }
  void kill() { controller_.reset(); }
  ClusterController& controller() { return *controller_; }
  std::string metrics_file() const { return dir_.path() + "/smartmig.prom"; }
  std::uint64_t epoch() const { return epoch_; }

 private:
  FakeSlurm& slurm_;
  EndedJobs* ended_;
  TempDir dir_;
  std::uint64_t epoch_ = 0;
  std::unique_ptr<SlurmWorkload> workload_;
  std::unique_ptr<ClusterController> controller_;
};

void until_all_ended(FakeSlurm& slurm, Controlled& world, int most) {
  for (int i = 0; i < most && !slurm.all_ended(); ++i) world.second();
  for (const auto& [name, run] : slurm.runs())
    EXPECT_EQ(run.job.phase, SlurmJob::kEnded) << to_string(name) << " " << run.job.state << " held " << run.job.held;
}

TEST(SlurmControllerProcess, JobsRunOnceOnSlicesThatFit) {
  FakeSlurm slurm(2, 2);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(20));
  slurm.submit(2, 4'000, seconds(5));
  slurm.submit(3, 18'000, seconds(10), "afterok:1(unfulfilled)");
  for (int task = 0; task < 6; ++task) slurm.submit(4, 9'000, seconds(8), "", task);
  for (std::uint32_t id = 10; id < 30; ++id) slurm.submit(id, 4'000, seconds(6));
  until_all_ended(slurm, world, 400);
  for (const auto& [name, run] : slurm.runs()) EXPECT_EQ(run.starts, 1) << to_string(name);
  EXPECT_GE(slurm.run(3).job.started, slurm.run(1).job.ended);
  EXPECT_GE(slurm.profiles.size(), 2u);
  EXPECT_NE(slurm.run(1).job.admin_comment.find(";used:node="), std::string::npos);
  const std::string metrics = world.controller().metrics();
  for (const char* line :
       {"\nsmartmig_slurm_gpus 4\n", "\nsmartmig_slurm_ended_total 29\n", "\nsmartmig_slurm_jobs_waiting 0\n",
        "\n# TYPE smartmig_slurm_decisions_total counter\n", "\nsmartmig_slurm_answers 1\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
  EXPECT_TRUE(std::filesystem::exists(world.metrics_file()));
}

TEST(SlurmControllerProcess, AJobThatCannotStartIsTakenBackAndOneThatItsOwnerHoldsWaits) {
  FakeSlurm slurm(1, 1);
  Controlled world(slurm);
  slurm.submit(1, 4'000, seconds(5));
  slurm.submit(2, 4'000, seconds(5));
  slurm.run(2).job.held_by_user = true;
  for (int i = 0; i < 30; ++i) world.second();
  EXPECT_EQ(slurm.run(1).starts, 1);
  EXPECT_EQ(slurm.run(2).starts, 0);
  slurm.run(2).job.held_by_user = false;
  until_all_ended(slurm, world, 60);
}

// Told 20 s, and takes a minute: the next is believed longer, also by a controller that begins then.
TEST(SlurmControllerProcess, WrongTimesAreCorrected) {
  FakeSlurm slurm(1, 2);
  Controlled world(slurm);
  const auto submit = [&](std::uint32_t id, const char* request) {
    slurm.submit(id, 4'000, seconds(60));
    slurm.run(id).job.admin_comment = request;
    slurm.run(id).job.time_limit = std::chrono::minutes(10);
  };
  const auto believed = [&](std::uint32_t id) {
    for (int i = 0; i < 3; ++i) world.second();
    const JobRecord* job = world.controller().shown_job(queue_id({id, -1}));
    return job ? smartmig::seconds(job->work.estimate) : 0;
  };
  const char* const told = "smartmig:mem=4000M,slices=1,estimate=20s";
  submit(1, told);
  submit(2, "smartmig:mem=4000M,slices=1");
  EXPECT_NEAR(believed(1), 20, 0.1);
  EXPECT_NEAR(believed(2), 200, 0.1) << "a third of its limit";
  for (std::uint32_t id = 3; id <= 12; ++id) submit(id, told);
  until_all_ended(slurm, world, 600);
  for (int i = 0; i < 62; ++i) world.second();  // it is written once a minute
  world.kill();
  submit(20, told);
  EXPECT_GT(believed(20), 24) << "on the whole GPU, where it takes less than on its slices";
}

TEST(SlurmControllerProcess, OutOfMemoryMeansALargerSliceWhereTheJobMayRunAgain) {
  FakeSlurm slurm(1, 2);
  Controlled world(slurm);
  for (std::uint32_t id = 1; id <= 4; ++id) {
    slurm.submit(id, 4'000, seconds(5), id == 4 ? "afterok:1(unfulfilled)" : "");
    slurm.run(id).job.requeue = id != 2;
    slurm.run(id).job.admin_comment = "smartmig:mem=4000M,slices=1,estimate=5s";
  }
  // More than any slice has for the third; the others fit the second or third size they get.
  slurm.run(1).needs_mib = 18'000;
  slurm.run(2).needs_mib = 50'000;
  slurm.run(3).needs_mib = 50'000;
  for (int i = 0; i < 200; ++i) world.second();
  EXPECT_EQ(slurm.run(1).job.state, "COMPLETED");
  EXPECT_GE(slurm.run(1).starts, 1);
  EXPECT_EQ(slurm.run(2).job.state, "FAILED") << "it forbids a requeue";
  EXPECT_EQ(slurm.run(2).starts, 1);
  EXPECT_EQ(slurm.run(3).job.state, "FAILED") << "no slice has so much";
  EXPECT_LE(slurm.run(3).starts, 4);
  EXPECT_EQ(slurm.run(3).job.phase, SlurmJob::kEnded);
  EXPECT_EQ(slurm.run(4).job.state, "COMPLETED");
  EXPECT_GE(slurm.run(4).job.started, slurm.run(1).job.ended);
}

// A reply without the jobs that run is doubted: nothing is freed by it, and a job that Slurm never shows again keeps its
// slice until its agent says that it is over.
TEST(SlurmControllerProcess, AReplyThatLacksRunningJobsFreesNothing) {
  FakeSlurm slurm(1, 1);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(150));
  for (int i = 0; i < 20 && slurm.run(1).starts == 0; ++i) world.second();
  ASSERT_EQ(slurm.run(1).starts, 1);
  slurm.forgetful = true;
  for (int i = 0; i < 60; ++i) world.second();
  ASSERT_EQ(slurm.run(1).job.phase, SlurmJob::kRunning);
  EXPECT_EQ(slurm.agent("n1").jobs().size(), 1u) << "the slice of a job that runs was freed";
  EXPECT_EQ(world.controller().counts().ended, 0u);
  EXPECT_EQ(world.controller().counts().doubts, 1u);
  slurm.forgetful = false;
  slurm.submit(2, 30'000, seconds(5));  // the cluster in memory checks that no slice has two jobs
  for (int i = 0; i < 40; ++i) world.second();
  EXPECT_EQ(slurm.run(2).starts, 0);
  until_all_ended(slurm, world, 200);
}

TEST(SlurmControllerProcess, AJobThatSlurmHasForgottenGivesItsSliceBackWhenItIsOver) {
  FakeSlurm slurm(1, 1);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(60));
  for (int i = 0; i < 20 && slurm.run(1).starts == 0; ++i) world.second();
  ASSERT_EQ(slurm.run(1).starts, 1);
  slurm.forgetful = true;
  for (int i = 0; i < 120; ++i) world.second();
  EXPECT_TRUE(slurm.agent("n1").jobs().empty());
  EXPECT_EQ(world.controller().counts().ended, 1u);
}

// slurmctld may come back with a state in which a job that runs waits.
TEST(SlurmControllerProcess, TheSliceOfAJobThatLivesIsNotFreedOnSlurmsWord) {
  FakeSlurm slurm(1, 2);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(1000));
  for (int i = 0; i < 20 && slurm.run(1).starts == 0; ++i) world.second();
  ASSERT_EQ(slurm.run(1).starts, 1);
  SlurmJob& job = slurm.run(1).job;
  const std::string slice = slurm.agent("n1").jobs().at(1).slice;
  const int gpu = slurm.agent("n1").jobs().at(1).gpu;
  job.phase = SlurmJob::kEnded;
  job.state = "NODE_FAIL";
  for (std::uint32_t id = 2; id <= 4; ++id) slurm.submit(id, 30'000, seconds(3));
  for (int i = 0; i < 60; ++i) world.second();
  ASSERT_EQ(slurm.agent("n1").jobs().count(1), 1u) << "freed while its processes run";
  EXPECT_EQ(slurm.agent("n1").jobs().at(1).slice, slice);
  for (std::uint32_t id = 2; id <= 4; ++id) EXPECT_EQ(slurm.run(id).job.state, "COMPLETED") << id;
  EXPECT_TRUE(world.controller().gpus()[std::size_t(gpu)].kept);
  slurm.dies(1);
  slurm.submit(5, 30'000, seconds(3));
  for (int i = 0; i < 30; ++i) world.second();
  EXPECT_EQ(slurm.agent("n1").jobs().count(1), 0u);
  EXPECT_FALSE(world.controller().gpus()[std::size_t(gpu)].kept);
  EXPECT_EQ(slurm.run(5).job.state, "COMPLETED");
}

TEST(SlurmControllerProcess, AGpuWithAProcessOnARefusedSliceGetsNoJobsUntilItHasGone) {
  FakeSlurm slurm(1, 1);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(3));
  for (int i = 0; i < 60 && !slurm.all_ended(); ++i) world.second();
  ASSERT_TRUE(slurm.all_ended());
  const auto board = slurm.driver("n1").read(GpuId{0});
  ASSERT_TRUE(board && !board->instances.empty());
  DeviceProcess process;
  process.pid = 4711;
  process.name = "python";
  ASSERT_TRUE(slurm.driver("n1").start_process(GpuId{0}, board->instances.front().placement, process));
  for (std::uint32_t id = 2; id <= 9; ++id) slurm.submit(id, 30'000, seconds(3));
  for (int i = 0; i < 60; ++i) world.second();
  EXPECT_TRUE(world.controller().gpus()[0].used);
  EXPECT_TRUE(world.controller().gpus()[0].blocked);
  EXPECT_LE(world.controller().counts().starts, 3u) << "the others were not tried one after another";
  for (std::uint32_t id = 2; id <= 9; ++id) EXPECT_EQ(slurm.run(id).starts, 0) << id;
  slurm.driver("n1").end_process(4711);
  until_all_ended(slurm, world, 400);
  EXPECT_FALSE(world.controller().gpus()[0].used);
}

TEST(SlurmControllerProcess, JobsAreOnlyPutOnNodesThatTheyMayUse) {
  FakeSlurm slurm(4, 1);
  slurm.set_features("n3", {"big", "old"});
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(4));
  slurm.run(1).job.excluded_nodes = "n[1-3]";
  slurm.submit(2, 30'000, seconds(4));
  slurm.run(2).job.features = "big&old";
  slurm.submit(3, 30'000, seconds(4));
  slurm.run(3).job.admin_comment += ",node=n2";
  slurm.submit(4, 30'000, seconds(4));
  slurm.run(4).job.features = "purple";
  for (std::uint32_t id = 10; id < 22; ++id) slurm.submit(id, 30'000, seconds(5));
  for (int i = 0; i < 120; ++i) world.second();
  EXPECT_EQ(slurm.run(1).job.nodes, "n4");
  EXPECT_EQ(slurm.run(2).job.nodes, "n3");
  EXPECT_EQ(slurm.run(3).job.nodes, "n2");
  EXPECT_EQ(slurm.run(4).starts, 0);
  EXPECT_NE(slurm.run(4).job.admin_comment.find("waits:no node may run it; 4 of 4 nodes: lacks the features purple"),
            std::string::npos)
      << slurm.run(4).job.admin_comment;
  for (std::uint32_t id = 10; id < 22; ++id) EXPECT_EQ(slurm.run(id).job.state, "COMPLETED") << id;
  slurm.set_features("n1", {"purple"});  // now one may
  until_all_ended(slurm, world, 60);
  EXPECT_EQ(slurm.run(4).job.nodes, "n1");
}

// Where Slurm knows a reason that is not known here.
TEST(SlurmControllerProcess, AJobThatSlurmRefusesOnANodeIsPutElsewhereAndBlocksNothing) {
  FakeSlurm slurm(3, 1);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(4));
  slurm.run(1).refused_by = {"n1", "n2"};
  slurm.submit(2, 30'000, seconds(4));
  slurm.run(2).refused_by = {"n1", "n2", "n3"};
  for (std::uint32_t id = 10; id < 16; ++id) slurm.submit(id, 30'000, seconds(5));
  for (int i = 0; i < 150; ++i) world.second();
  EXPECT_EQ(slurm.run(1).job.state, "COMPLETED");
  EXPECT_EQ(slurm.run(1).job.nodes, "n3");
  EXPECT_EQ(slurm.run(2).starts, 0);
  EXPECT_TRUE(slurm.agent("n1").jobs().empty() && slurm.agent("n2").jobs().empty() && slurm.agent("n3").jobs().empty())
      << "a slice is kept for a job that Slurm never starts";
  EXPECT_NE(slurm.run(2).job.admin_comment.find("n1 (BadConstraints)"), std::string::npos)
      << slurm.run(2).job.admin_comment;
  EXPECT_LE(slurm.pins.size(), 12u) << "it was pinned to a node that had refused it";
  for (std::uint32_t id = 10; id < 16; ++id) EXPECT_EQ(slurm.run(id).job.state, "COMPLETED") << id;
}

TEST(SlurmControllerProcess, AJobIsPutWhereCpusAreLeft) {
  FakeSlurm slurm(4, 1);
  slurm.set_cpus(16);
  Controlled world(slurm);
  for (std::uint32_t id = 1; id <= 5; ++id) {
    slurm.submit(id, 4'000, seconds(id == 5 ? 30 : 60));
    slurm.run(id).job.cpus = 12;
  }
  slurm.submit(6, 4'000, seconds(5));
  slurm.run(6).job.cpus = 17;
  for (int i = 0; i < 15; ++i) world.second();
  std::set<std::string> nodes;
  for (std::uint32_t id = 1; id <= 5; ++id)
    if (slurm.run(id).starts > 0) nodes.insert(slurm.run(id).job.nodes);
  EXPECT_EQ(nodes.size(), 4u) << "a job waits for CPUs beside an idle node";
  EXPECT_LE(slurm.pins.size(), 4u);
  for (int i = 0; i < 120; ++i) world.second();
  for (std::uint32_t id = 1; id <= 5; ++id) EXPECT_EQ(slurm.run(id).job.state, "COMPLETED") << id;
  EXPECT_EQ(slurm.run(6).starts, 0);
}

// Epilog's mark reaches the controller before Slurm's word.
TEST(SlurmControllerProcess, ASliceIsGivenAgainWhenAnAgentTellsOfEpilog) {
  FakeSlurm slurm(1, 1);
  EndedJobs ended;
  Controlled world(slurm, &ended);
  slurm.submit(1, 30'000, seconds(1000));
  for (int i = 0; i < 20 && slurm.run(1).starts == 0; ++i) world.second();
  ASSERT_EQ(slurm.run(1).starts, 1);
  slurm.submit(2, 30'000, seconds(3));
  world.second();
  slurm.mark_ended(1);
  ended.add("n1", {1});
  for (int i = 0; i < 3; ++i) {  // no second passes, and Slurm says that it runs
    world.controller().step();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(slurm.run(2).job.held) << "it was not released";
  slurm.end(1);
  until_all_ended(slurm, world, 60);
  EXPECT_EQ(slurm.run(2).starts, 1);
}

TEST(SlurmControllerProcess, OneThatWasReplacedSaysSo) {
  FakeSlurm slurm(1, 1);
  Controlled first(slurm), second(slurm);
  second.reopen();  // epoch 2
  std::atomic<bool> stop = false;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop = true;
  });
  for (int i = 0; i < 3; ++i) slurm.clock.pass(seconds(3));
  EXPECT_EQ(first.controller().run(stop), ClusterController::Outcome::kReplaced);
  later.join();
}

TEST(SlurmControllerProcess, AGpuWhoseOperationHangsIsLeftAloneUntilItEnds) {
  FakeSlurm slurm(2, 1);
  slurm.set_hangs("n1", true);
  Controlled world(slurm);
  for (std::uint32_t id = 1; id <= 6; ++id) slurm.submit(id, 18'000, seconds(5));
  until_all_ended(slurm, world, 120);
  for (const auto& [name, run] : slurm.runs()) EXPECT_EQ(run.job.nodes, "n2") << to_string(name);
  EXPECT_EQ(slurm.hanging("n1"), 1u) << "it was asked again while it hung, or never";
  slurm.set_hangs("n1", false);
  for (std::uint32_t id = 11; id <= 16; ++id) slurm.submit(id, 18'000, seconds(30));
  until_all_ended(slurm, world, 200);
  int on_first = 0;
  for (const auto& [name, run] : slurm.runs()) {
    on_first += run.job.nodes == "n1";
    EXPECT_EQ(run.starts, 1) << to_string(name);
  }
  EXPECT_GE(on_first, 2) << "the node was not used again";
}

// What was to be told to an agent that did not answer is told when it does.
TEST(SlurmControllerProcess, AJobThatEndsWhileItsAgentIsDeafGivesItsSliceBackLater) {
  FakeSlurm slurm(1, 1);
  Controlled world(slurm);
  slurm.submit(1, 30'000, seconds(4));
  for (int i = 0; i < 20 && slurm.run(1).starts == 0; ++i) world.second();
  ASSERT_EQ(slurm.run(1).starts, 1);
  slurm.set_deaf("n1", true);
  for (int i = 0; i < 10; ++i) world.second();
  ASSERT_TRUE(slurm.all_ended());
  const int accounted = slurm.acted[SlurmAction::kAccount];
  slurm.set_deaf("n1", false);
  for (int i = 0; i < 10; ++i) world.second();
  EXPECT_EQ(slurm.acted[SlurmAction::kAccount], accounted + 1) << "its joules";
  EXPECT_TRUE(slurm.agent("n1").jobs().empty());
  slurm.submit(2, 30'000, seconds(4));
  until_all_ended(slurm, world, 60);
}

TEST(SlurmControllerProcess, AJobThatEndsWhileNoControllerLooksIsBookedLater) {
  FakeSlurm slurm(1, 1);
  Controlled world(slurm);
  slurm.submit(1, 4'000, seconds(4));
  slurm.submit(2, 4'000, seconds(4));
  slurm.run(2).needs_mib = 18'000;
  for (int i = 0; i < 20 && slurm.run(1).starts + slurm.run(2).starts < 2; ++i) world.second();
  ASSERT_EQ(slurm.run(1).starts + slurm.run(2).starts, 2);
  const int accounted = slurm.acted[SlurmAction::kAccount];
  world.kill();
  for (int i = 0; i < 10; ++i) slurm.tick(seconds(1));
  ASSERT_TRUE(slurm.all_ended());
  for (int i = 0; i < 100; ++i) world.second();
  EXPECT_GE(slurm.acted[SlurmAction::kAccount], accounted + 2) << "their joules";
  EXPECT_EQ(slurm.run(1).starts, 1);
  EXPECT_EQ(slurm.run(2).job.state, "COMPLETED") << "it failed for want of memory and was given more";
  EXPECT_TRUE(slurm.agent("n1").jobs().empty());
}

// A cluster whose jobs run as Slurm has them; nobody may act on it.
class WatchedSlurm : public Slurm {
 public:
  Result<std::vector<SlurmJob>> jobs() override { return list; }
  Result<std::vector<SlurmNode>> nodes() override { return std::vector<SlurmNode>{{"n1", "n1", true, "idle", 0}}; }
  Result<Ok> act(const std::vector<SlurmAction>&) override {
    SMARTMIG_CHECK(false, "a shadow acts");
    return Ok{};
  }
  std::vector<SlurmJob> list;
};

TEST(SlurmShadowProcess, DecidesAndTouchesNothing) {
  AtomicClock clock;
  WatchedSlurm real;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    SlurmJob job;
    job.name = {id, -1};
    job.number = id;
    job.phase = SlurmJob::kRunning;  // where Slurm put it: the shadow has a mind of its own
    job.state = "RUNNING";
    job.comment = id == 1 ? "smartmig:mem=18G" : "hello";
    job.submitted = clock.now();
    real.list.push_back(job);
  }
  SlurmWorkload::Options looks;
  looks.watched = true;
  SlurmWorkload watched(real, clock, std::move(looks));
  auto shadow = ShadowCluster::open(watched, "2xa100-40gb", clock);
  ASSERT_TRUE(shadow);
  TempDir dir;
  std::string words;
  ClusterController::Options options;
  options.state_dir = dir.path();
  options.epoch = 1;
  options.name = "shadow";
  options.say = [&](const std::string& line) { words += line + "\n"; };
  auto controller = ClusterController::open(**shadow, **shadow, clock, options);
  ASSERT_TRUE(controller) << controller.error().what;
  for (int i = 0; i < 20; ++i) {
    clock.pass(seconds(1));
    (*controller)->step();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const char* job : {"job 1 -> n1 GPU", "job 2 -> n1 GPU", "job 3 -> n1 GPU"})
    EXPECT_NE(words.find(job), std::string::npos) << words;
  for (SlurmJob& job : real.list) {
    job.phase = SlurmJob::kEnded;
    job.state = "COMPLETED";
  }
  clock.pass(seconds(1));
  (*controller)->step();
  EXPECT_EQ((*controller)->counts().ended, 3u);
}

TEST(SlurmFallbackProcess, AgentsAloneRunWhatWaits) {
  FakeSlurm slurm(2, 1);
  for (std::uint32_t id = 1; id <= 8; ++id) slurm.submit(id, id % 3 == 0 ? 18'000 : 4'000, seconds(30));
  for (int task = 0; task < 3; ++task) slurm.submit(20, 4'000, seconds(10), "", task);
  for (int i = 0; i < 300 && !slurm.all_ended(); ++i) {
    slurm.tick(seconds(5));
    for (const char* node : {"n1", "n2"}) ASSERT_TRUE(Fallback(slurm, slurm.agent(node), slurm.clock).step());
  }
  EXPECT_TRUE(slurm.all_ended());
  for (const char* node : {"n1", "n2"}) ASSERT_TRUE(Fallback(slurm, slurm.agent(node), slurm.clock).step());
  for (const auto& [name, run] : slurm.runs()) {
    EXPECT_EQ(run.starts, 1) << to_string(name);
    const std::string booked = slurm.accounts[name], where = ";used:node=" + run.job.nodes + ",gpu=0,slice=";
    EXPECT_NE(booked.find(where), std::string::npos) << to_string(name) << ": " << booked;
    EXPECT_NE(booked.find(",joules="), std::string::npos) << to_string(name) << ": " << booked;
  }
}

// Controllers and agents die, nodes are drained, Slurm is silent, jobs are requeued by others: every job ends once.
TEST(SlurmControllerProcess, RandomFaultsLoseNoJobThreads) {
  const int count = cases(3);
  for (int c = 0; c < count; ++c) {
    const std::uint64_t seed = 1800 + std::uint64_t(c);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    FakeSlurm slurm(3, 2);
    Controlled world(slurm);
    std::uint32_t id = 0;
    for (int t = 0; t < 120; ++t) {
      if (rng.below(2) == 0) slurm.submit(++id, int(1'000 + rng.below(38'000)), seconds(1 + rng.below(15)));
      const std::string node = fmt::format("n{}", 1 + rng.below(3));
      switch (rng.below(30)) {
        case 0:
          world.kill();
          break;
        case 1:
          slurm.restart_agent(node);
          break;
        case 2:
          slurm.set_up(node, false);
          break;
        case 3:
          slurm.set_deaf(node, true);
          break;
        case 4:
          slurm.silent = true;
          break;
        case 5:
          if (id > 0) slurm.requeue({1 + std::uint32_t(rng.below(id)), -1}, rng.below(2) == 0);
          break;
        default:
          slurm.silent = false;
          for (const char* name : {"n1", "n2", "n3"}) {
            slurm.set_up(name, true);
            slurm.set_deaf(name, false);
          }
      }
      world.second();
    }
    slurm.silent = false;
    for (const char* name : {"n1", "n2", "n3"}) {
      slurm.set_up(name, true);
      slurm.set_deaf(name, false);
    }
    until_all_ended(slurm, world, 3'000);
    for (const auto& [name, run] : slurm.runs()) EXPECT_EQ(run.finishes, 1) << to_string(name);
  }
}

}  // namespace
}  // namespace smartmig
