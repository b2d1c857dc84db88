#include "live/jobs/cgroup.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace smartmig {
namespace {

const std::string kV2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
const std::string kV1 =
    "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
    "cgroup /sys/fs/cgroup/devices cgroup rw,devices 0 0\ncgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0\n";

std::string setting(const CgroupPlan& plan, const std::string& file) {
  for (const auto& [name, text] : plan.settings)
    if (name == file) return text;
  return "(none)";
}

TEST(Cgroup, Version2LiesBesideTheDaemonNeverInside) {
  const std::string delegated = "0::/system.slice/smartmig.service/daemon\n";
  EXPECT_EQ(Cgroups::from(kV2, delegated, true).plan("7.1", {}).directories,
            std::vector<std::string>{"/sys/fs/cgroup/system.slice/smartmig.service/jobs/7.1"});
  const std::string plain = "0::/system.slice/smartmig.service\n";
  const CgroupPlan plan = Cgroups::from(kV2, plain, true).plan("7.1", {});
  EXPECT_EQ(plan.directories, std::vector<std::string>{"/sys/fs/cgroup/smartmig/7.1"});
  EXPECT_EQ(plan.kill_file, "/sys/fs/cgroup/smartmig/7.1/cgroup.kill");
  EXPECT_EQ(Cgroups::from(kV2, "0::/user.slice/a\n", false).plan("7.1", {}).directories,
            std::vector<std::string>{"/sys/fs/cgroup/user.slice/a/smartmig/7.1"});
}

TEST(Cgroup, Version1HasOneDirectoryForEachController) {
  const Cgroups groups = Cgroups::from(kV1, "4:memory:/a/b\n3:cpu,cpuacct:/\n2:devices:/\n1:freezer:/\n", true);
  const CgroupPlan plan = groups.plan("7.1", {1.5, 100, 50, {"/dev/null", "/no/such/node"}});
  EXPECT_EQ(plan.directories, (std::vector<std::string>{
                                  "/sys/fs/cgroup/memory/a/b/smartmig/7.1", "/sys/fs/cgroup/cpu,cpuacct/smartmig/7.1",
                                  "/sys/fs/cgroup/devices/smartmig/7.1", "/sys/fs/cgroup/freezer/smartmig/7.1"}));
  EXPECT_EQ(setting(plan, "/sys/fs/cgroup/memory/a/b/smartmig/7.1/memory.limit_in_bytes"), "104857600");
  EXPECT_EQ(setting(plan, "/sys/fs/cgroup/cpu,cpuacct/smartmig/7.1/cpu.cfs_quota_us"), "150000");
  EXPECT_EQ(setting(plan, "/sys/fs/cgroup/devices/smartmig/7.1/devices.deny"), "a");
  EXPECT_EQ(plan.settings.back().second, "c 1:3 rw");  // /dev/null, as a node of the slice
  EXPECT_EQ(plan.freezer_file, "/sys/fs/cgroup/freezer/smartmig/7.1/freezer.state");
  EXPECT_EQ(plan.peak_file, "/sys/fs/cgroup/memory/a/b/smartmig/7.1/memory.max_usage_in_bytes");
  EXPECT_TRUE(plan.kill_file.empty());
  EXPECT_TRUE(groups.limits_devices() && groups.limits_memory());
  EXPECT_EQ(groups.words(), "cgroup limits: cpu, memory, devices; killing by the freezer or the list of processes");
  // No nodes named: no fence, and no directory for it.
  const auto free = groups.plan("7.1", {}).directories;
  EXPECT_EQ(std::count(free.begin(), free.end(), "/sys/fs/cgroup/devices/smartmig/7.1"), 0);
}

TEST(Cgroup, HybridMachinesUseBoth) {
  const CgroupPlan plan =
      Cgroups::from(kV1 + "none /sys/fs/cgroup/unified cgroup2 rw 0 0\n", "4:memory:/\n0::/\n", true)
          .plan("7.1", {0, 64});
  EXPECT_EQ(plan.kill_file, "/sys/fs/cgroup/unified/smartmig/7.1/cgroup.kill");
  EXPECT_EQ(plan.oom_file, "/sys/fs/cgroup/memory/smartmig/7.1/memory.oom_control");
}

TEST(Cgroup, NothingIsOfferedAndNothingUnderstood) {
  for (const std::string text : {"", "garbage", ":::\n", "a b\n", "cgroup\n"}) {
    const Cgroups none = Cgroups::from(text, text, true);
    EXPECT_TRUE(none.plan("7.1", {1, 1, 1, {"/dev/null"}}).directories.empty());
    EXPECT_NE(none.words().find("no cgroups"), std::string::npos);
  }
  EXPECT_TRUE(kill_cgroups({"/no/such/directory"}));
  EXPECT_EQ(kill_by_token({}), 0);
}

}  // namespace
}  // namespace smartmig
