#include "cluster/node_agent.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/slurm_cluster.h"

namespace smartmig {
namespace {

// An agent of one A100 that has a slice of half its memory.
struct AgentOfOne {
  AgentOfOne() {
    const GpuModel& a100 = *driver->inventory()->front().model;
    where = a100.find_placement(a100.find_profile("3g.20gb"), 0);
    options.node = "n1";
    options.state_dir = dir.path();
    options.lives = [this](std::uint32_t job) { return living.contains(job) ? std::string("it runs") : std::string(); };
    options.tell = [this](const std::string& to, const std::vector<std::uint32_t>& jobs) {
      for (const std::uint32_t job : jobs) told.push_back(fmt::format("{} {}", to, job));
    };
  }
  void open() { agent = std::move(*NodeAgent::open(*driver, reshaper, clock, options)); }
  void epilog(std::uint32_t job) {
    const std::string file = fmt::format("{}/jobs/{}", dir.path(), job);
    std::filesystem::rename(file + ".env", file + ".ended");
  }

  TempDir dir;
  AtomicClock clock;
  std::unique_ptr<FakeDriver> driver = std::move(*FakeDriver::open("1xa100-40gb", {}));
  Reshaper reshaper = *Reshaper::open(*driver, dir.path());
  PlacementId where = kNoPlacement;
  std::set<std::uint32_t> living;
  std::vector<std::string> told;
  NodeAgent::Options options;
  std::unique_ptr<NodeAgent> agent;
};

TEST(ClusterNodeAgent, FreesNoSliceOfAJobThatLives) {
  AgentOfOne one;
  one.open();
  ASSERT_TRUE(one.agent->change(0, {Operation::kCreate, one.where}));
  ASSERT_TRUE(one.agent->reserve(7, 0, 0, one.where));
  one.living.insert(7);
  const auto refused = one.agent->free(7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy);
  EXPECT_EQ(refused.error().what, "job 7 is not over on n1: it runs; it keeps its slice 3g.20gb@0");
  EXPECT_EQ(one.agent->reserve(7, 0, 0, one.where).error().code, Error::kBusy) << "another run of it";
  EXPECT_EQ(one.agent->reserve(8, 0, 0, one.where).error().code, Error::kBusy);
  one.open();  // a restarted agent knows it, too
  EXPECT_EQ(one.agent->free(7).error().code, Error::kBusy);
  one.epilog(7);  // its mark is enough
  EXPECT_TRUE(one.agent->free(7));
  EXPECT_TRUE(one.agent->reserve(8, 0, 0, one.where));
  EXPECT_TRUE(one.agent->free(8)) << "it never began";
}

TEST(ClusterNodeAgent, GivesNoSliceWithAProcess) {
  AgentOfOne one;
  one.open();
  ASSERT_TRUE(one.agent->change(0, {Operation::kCreate, one.where}));
  DeviceProcess process;
  process.pid = 4711;
  process.name = "python";
  ASSERT_TRUE(one.driver->start_process(GpuId(0), one.where, process));
  const auto refused = one.agent->reserve(7, 0, 0, one.where);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy);
  EXPECT_NE(refused.error().what.find("4711 python"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(one.agent->jobs().empty());
  one.driver->end_process(4711);
  EXPECT_TRUE(one.agent->reserve(7, 0, 0, one.where));
}

TEST(ClusterNodeAgent, AMonitorsContextKeepsNobodyOut) {
  AgentOfOne one;
  one.open();
  ASSERT_TRUE(one.agent->change(0, {Operation::kCreate, one.where}));
  DeviceProcess process;
  process.pid = 4711;
  process.name = "nv-hostengine";
  ASSERT_TRUE(one.driver->start_process(GpuId(0), one.where, process));
  const auto given = one.agent->reserve(7, 0, 0, one.where);
  EXPECT_TRUE(given) << given.error().what;
}

TEST(ClusterNodeAgent, ItsStatusTellsOfARefusedSliceUntilNobodyIsThere) {
  AgentOfOne one;
  one.open();
  ASSERT_TRUE(one.agent->change(0, {Operation::kCreate, one.where}));
  DeviceProcess process;
  process.pid = 4711;
  process.name = "python";
  const std::string status = R"({"v":1,"node":"n1","id":1,"op":"status"})";
  ASSERT_TRUE(one.driver->start_process(GpuId(0), one.where, process));
  EXPECT_EQ(one.agent->handle(status, 0).find("\"used\""), std::string::npos) << "nobody asked for it";
  ASSERT_FALSE(one.agent->reserve(7, 0, 0, one.where));
  EXPECT_NE(one.agent->handle(status, 0).find(R"("used":["3g.20gb@0"])"), std::string::npos);
  one.driver->end_process(4711);
  EXPECT_EQ(one.agent->handle(status, 0).find("\"used\""), std::string::npos);
}

TEST(ClusterNodeAgent, TellsTheControllerOnceOfEachEnd) {
  AgentOfOne one;
  one.open();
  ASSERT_TRUE(one.agent->change(0, {Operation::kCreate, one.where}));
  ASSERT_TRUE(one.agent->reserve(7, 0, 0, one.where));
  one.epilog(7);
  one.agent->tell_ended();
  EXPECT_TRUE(one.told.empty()) << "nobody has asked for it";
  const std::string status = R"({"v":1,"node":"n1","id":1,"op":"status","epoch":5,"leader":"a","news":"host:6822"})";
  EXPECT_NE(one.agent->handle(status, 0).find("\"ok\":true"), std::string::npos);
  one.agent->tell_ended();
  one.agent->tell_ended();
  EXPECT_EQ(one.told, (std::vector<std::string>{"host:6822 7"}));
}

TEST(ClusterNodeAgent, KeepsItsBookInAFolderOfItsOwn) {
  AgentOfOne one;
  const std::string jobs = one.dir.path() + "/jobs", elsewhere = one.dir.path() + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, jobs);
  const auto linked = NodeAgent::open(*one.driver, one.reshaper, one.clock, one.options);
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().code, Error::kNoPermission) << linked.error().what;
  std::filesystem::remove(jobs);
  std::filesystem::create_directory(jobs);
  std::filesystem::permissions(jobs, std::filesystem::perms::all);
  EXPECT_FALSE(NodeAgent::open(*one.driver, one.reshaper, one.clock, one.options)) << "others may write there";
  std::filesystem::permissions(jobs, std::filesystem::perms::owner_all);
  EXPECT_TRUE(NodeAgent::open(*one.driver, one.reshaper, one.clock, one.options));
}

}  // namespace
}  // namespace smartmig
