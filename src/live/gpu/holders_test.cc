#include "live/gpu/holders.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "live/gpu/controller_lock.h"
#include "live/gpu/doctor.h"
#include "live/gpu/intent.h"
#include "live/gpu/quarantine.h"
#include "support/fake_driver.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

// A /proc with a monitor that holds one instance, a job on another GPU and a shell.
struct Proc : TempDir {
  Proc() {
    file("driver/nvidia-caps/mig-minors", "config 1\ngpu0/gi1/access 30\ngpu0/gi1/ci0/access 31\ngpu0/gi2/access 39\n");
    file("812/comm", "dcgm-exporter\n");
    link("812/fd/5", "/dev/nvidia-caps/nvidia-cap30");
    link("812/fd/6", "/dev/nvidiactl");
    file("900/comm", "python\n");
    link("900/fd/3", "/dev/nvidia1");
    link("900/fd/4", "/dev/nvidia1");
    file("901/comm", "bash\n");
    link("901/fd/0", "/dev/null");
  }
};

TEST(Holders, NamesWhoHoldsOneInstance) {
  const Proc proc;
  const auto holders = find_holders({proc.path(), 0, 1, 0});
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(describe(holders), "pid 812 (dcgm-exporter) through /dev/nvidia-caps/nvidia-cap30");
  EXPECT_TRUE(find_holders({proc.path(), 0, 2, -1}).empty());
}

TEST(Holders, NamesWhoHoldsABoard) {
  const Proc proc;
  const auto one = find_holders({proc.path(), 1, -1, -1});
  ASSERT_EQ(one.size(), 2u) << "a board's capabilities count too";
  EXPECT_EQ(one[1].pid, 900u);
  EXPECT_EQ(one[1].nodes, std::vector<std::string>{"/dev/nvidia1"});
  EXPECT_EQ(find_holders({proc.path(), -1, -1, -1}).size(), 2u);
  EXPECT_TRUE(find_holders({proc.path() + "/nothing", -1, -1, -1}).empty());
}

TEST(Holders, NamesTheNodesThatAJobOnASliceOpens) {
  const Proc proc;
  HolderQuery query{proc.path(), 0, 1, 0, ""};
  using Nodes = std::vector<std::string>;
  const Nodes common = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0"};
  Nodes slice = common;
  slice.insert(slice.end(), {"/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"});
  EXPECT_EQ(nodes_of_slice(query), slice) << "and no other slice's";
  query.gpu_instance = -1;
  EXPECT_EQ(nodes_of_slice(query), common);
  query.machine = "/machine";
  EXPECT_EQ(nodes_of_slice(query)[3], "/machine/dev/nvidia0");
}

TEST(Holders, NamesWhoHoldsAnEmulatedSlice) {
  struct Emulated : TempDir {
    Emulated() {
      file("machine/proc/driver/nvidia-caps/mig-minors", "gpu0/gi1/access 30\ngpu0/gi2/access 39\n");
      file("proc/77/comm", "smartmig-emulated-job\n");
      link("proc/77/fd/3", path() + "/machine/dev/nvidia-caps/nvidia-cap30");
      file("proc/78/comm", "other\n");
      link("proc/78/fd/3", path() + "/another/dev/nvidia-caps/nvidia-cap30");
    }
  } const dir;
  HolderQuery query{dir.path() + "/proc", 0, 1, -1};
  query.machine = dir.path() + "/machine";
  EXPECT_EQ(describe(find_holders(query)), "pid 77 (smartmig-emulated-job) through /dev/nvidia-caps/nvidia-cap30");
  query.gpu_instance = 2;
  EXPECT_TRUE(find_holders(query).empty());
}

TEST(ControllerLockTest, SecondOneHearsWhoHasIt) {
  const TempDir dir;
  const auto first = ControllerLock::take(dir.path(), {"GPU-a", "GPU-b"});
  ASSERT_TRUE(first);
  const auto second = ControllerLock::take(dir.path(), {"GPU-c", "GPU-b"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Error::kBusy);
  EXPECT_NE(second.error().what.find(std::to_string(::getpid())), std::string::npos) << second.error().what;
  EXPECT_TRUE(ControllerLock::take(dir.path(), {"GPU-c"})) << "a failed attempt keeps nothing";
}

TEST(ControllerLockTest, NamesTheRealHolderWhateverTheFileSays) {
  const TempDir dir;
  const auto first = ControllerLock::take(dir.path(), {"GPU-a"});
  ASSERT_TRUE(first);
  dir.file("GPU-a.lock", "4194999\n");
  const auto second = ControllerLock::take(dir.path(), {"GPU-a"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().what.find("4194999"), std::string::npos) << second.error().what;
  EXPECT_NE(second.error().what.find(fmt::format("pid {} (", ::getpid())), std::string::npos) << second.error().what;
}

TEST(ControllerLockTest, FollowsNoLinkAndLeavesNothingForOthersToLock) {
  const TempDir dir;
  const std::string victim = dir.file("victim", "precious\n"), locks = dir.path() + "/locks";
  dir.link("locks/GPU-a.lock", victim);
  const auto refused = ControllerLock::take(locks, {"GPU-a"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kNoPermission);
  EXPECT_EQ(refused.error().what, locks + "/GPU-a.lock is a link; remove it");
  EXPECT_EQ(read_file(victim).value(), "precious\n");
  ASSERT_TRUE(ControllerLock::take(locks, {"GPU-b"}));
  EXPECT_EQ(std::filesystem::status(locks + "/GPU-b.lock").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  dir.link("elsewhere", locks);
  EXPECT_EQ(ControllerLock::take(dir.path() + "/elsewhere", {"GPU-b"}).error().code, Error::kNoPermission);
}

const Finding* find(const std::vector<Finding>& all, const std::string& check) {
  for (const Finding& f : all)
    if (f.check == check) return &f;
  return nullptr;
}

TEST(Doctor, EveryComplaintHasARemedy) {
  const Proc proc;
  proc.file("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
  auto fake = FakeDriver::open("2xa100-40gb", {"", false, false, false, {}});
  ASSERT_TRUE(fake);
  (*fake)->inject(FakeDriver::Fault::kLost, GpuId{1});
  Quarantine quarantine = *Quarantine::open(proc.path() + "/quarantine.json");
  ASSERT_TRUE(quarantine.add({"GPU-x", "3g.20gb@4", "it broke"}));
  proc.file("intent-GPU-x.json", to_json(Intent{"GPU-x", "a100-40gb", "empty", "7g.40gb@0"}));
  const auto all = examine(fake->get(), "", {proc.path(), proc.path(), proc.path(), proc.path() + "/sys", false});
  for (const Finding& f : all) EXPECT_EQ(f.state == Finding::kOk, f.remedy.empty()) << f.check << ": " << f.found;
  EXPECT_EQ(find(all, "driver")->state, Finding::kOk);
  EXPECT_EQ(find(all, "GPUs")->state, Finding::kFailure);
  EXPECT_EQ(find(all, "MIG mode")->state, Finding::kWarning);
  EXPECT_EQ(find(all, "cgroups")->found, "v2 with cpu memory pids");
  EXPECT_NE(find(all, "holders")->found.find("dcgm-exporter"), std::string::npos);
  EXPECT_EQ(find(all, "reshapes")->state, Finding::kWarning);
  EXPECT_NE(find(all, "quarantine")->found.find("it broke"), std::string::npos);
  EXPECT_EQ(find(all, "disk")->state, Finding::kOk);
  const auto without = examine(nullptr, "cannot load NVML; install the driver",
                               {proc.path(), proc.path(), proc.path(), proc.path(), false});
  EXPECT_EQ(find(without, "driver")->state, Finding::kFailure);
  EXPECT_EQ(find(without, "driver")->remedy, "install the driver");
  EXPECT_EQ(find(without, "cgroups")->state, Finding::kWarning);
}

}  // namespace
}  // namespace smartmig
