#include "live/jobs/cgroup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/errors.h"
#include "support/temp_dir.h"

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
  using What = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(groups.isolates(), (What{{"device files", "devices controller of cgroup v1"},
                                     {"host memory", "memory controller of cgroup v1"},
                                     {"CPUs", "cpu controller of cgroup v1"},
                                     {"number of processes", "nothing"},
                                     {"end of all processes", "freezer of cgroup v1"}}));
  EXPECT_EQ(Cgroups().isolates().front().second, "nothing: the environment names the slice, and a job may open others");
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

// A directory that is made like a tree of version 2 and keeps the kernel's rules: a group has the files of the
// controllers that its parent hands down; it hands down what it has, but not while processes are in it.
class MadeV2Tree {
 public:
  MadeV2Tree(const std::string& controllers, const std::string& self, bool root) : self_(self), root_(root) {
    fill(top(), controllers);
  }
  std::string top() const { return dir_.path() + "/cgroup"; }
  std::string text(const std::string& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool make(const std::string& path) const {
    if (std::filesystem::exists(path)) return true;
    const auto parent = std::filesystem::path(path).parent_path().string();
    if (!std::filesystem::exists(parent)) return false;
    fill(path, text(parent + "/cgroup.subtree_control"));
    return true;
  }
  bool write(const std::string& file, const std::string& value) const {
    if (!std::filesystem::exists(file)) return false;
    const std::filesystem::path group = std::filesystem::path(file).parent_path();
    if (!file.ends_with("/cgroup.subtree_control")) {
      std::ofstream(file) << value;
      return true;
    }
    const std::string name = value.substr(1);
    if (!words(group / "cgroup.controllers").contains(name)) return false;       // ENOENT
    if (group != top() && !words(group / "cgroup.procs").empty()) return false;  // EBUSY
    std::set<std::string> handed = words(file);
    handed.insert(name);
    std::string all;
    for (const std::string& word : handed) all += word + " ";
    std::ofstream(file) << all;
    for (const auto& child : std::filesystem::directory_iterator(group))
      if (child.is_directory()) offer(child.path(), all);
    return true;
  }
  CgroupTree tree() const {
    return {"cgroup2 " + top() + " cgroup2 rw,nsdelegate 0 0\n",
            self_,
            root_,
            [this](const std::string& path) { return make(path); },
            [this](const std::string& file, const std::string& value) { return write(file, value); },
            [this](const std::string& file) { return text(file); },
            [](const std::string&, const std::vector<std::string>&) -> Result<Ok> { return unsupported("no BPF"); }};
  }

 private:
  std::set<std::string> words(const std::string& file) const {
    std::istringstream in(text(file));
    return {std::istream_iterator<std::string>(in), {}};
  }
  void fill(const std::string& path, const std::string& controllers) const {
    std::filesystem::create_directories(path);
    const auto file = [&](const char* name, const std::string& value) { std::ofstream(path + "/" + name) << value; };
    for (const char* name : {"cgroup.subtree_control", "cgroup.procs", "cgroup.kill", "cgroup.freeze"}) file(name, "");
    offer(path, controllers);
  }
  void offer(const std::string& path, const std::string& controllers) const {
    const auto file = [&](const char* name, const std::string& value) { std::ofstream(path + "/" + name) << value; };
    file("cgroup.controllers", controllers);
    const std::set<std::string> has = words(path + "/cgroup.controllers");
    if (has.contains("memory"))
      for (const char* name : {"memory.max", "memory.swap.max", "memory.oom.group", "memory.peak", "memory.events"})
        file(name, "");
    if (has.contains("cpu")) file("cpu.max", "max 100000");
    if (has.contains("pids")) file("pids.max", "max");
  }
  TempDir dir_;
  std::string self_;
  bool root_;
};

TEST(Cgroup, PureVersion2OnAMadeTree) {
  const MadeV2Tree made("cpuset cpu io memory pids", "0::/system.slice/smartmig.service\n", true);
  const Cgroups groups = Cgroups::find(made.tree());
  EXPECT_EQ(groups.words(), "cgroup limits: cpu, memory, pids; killing by cgroup.kill");
  EXPECT_TRUE(groups.limits_memory());
  EXPECT_FALSE(groups.limits_devices());
  const CgroupPlan plan = groups.plan("7.1", {1.5, 100, 50, {"/dev/null"}});
  ASSERT_EQ(plan.directories, std::vector<std::string>{made.top() + "/smartmig/7.1"});
  EXPECT_TRUE(made.make(plan.directories[0]));
  for (const auto& [file, text] : plan.settings) EXPECT_TRUE(made.write(file, text)) << file;
  const std::string job = plan.directories[0];
  EXPECT_EQ(made.text(job + "/memory.max"), "104857600");
  EXPECT_EQ(made.text(job + "/memory.swap.max"), "0");
  EXPECT_EQ(made.text(job + "/memory.oom.group"), "1");
  EXPECT_EQ(made.text(job + "/cpu.max"), "150000 100000");
  EXPECT_EQ(made.text(job + "/pids.max"), "50");
  for (const std::string& file : {plan.kill_file, plan.peak_file, plan.oom_file})
    EXPECT_TRUE(std::filesystem::exists(file)) << file;
  EXPECT_TRUE(plan.freezer_file.empty());
}

TEST(Cgroup, PureVersion2DelegatedByTheServiceManager) {
  const std::string unit = "/system.slice/smartmig.service";
  const MadeV2Tree made("cpu memory pids", "0::" + unit + "/daemon\n", true);
  std::string at = made.top();
  for (const char* part : {"system.slice", "smartmig.service", "daemon"}) {
    for (const char* controller : {"+cpu", "+memory", "+pids"})
      if (std::string(part) != "daemon") made.write(at + "/cgroup.subtree_control", controller);
    EXPECT_TRUE(made.make(at += std::string("/") + part));
  }
  made.write(at + "/cgroup.procs", "4711");  // the daemon is beside the jobs, so its processes bar nothing
  const Cgroups groups = Cgroups::find(made.tree());
  EXPECT_EQ(groups.words(), "cgroup limits: cpu, memory, pids; killing by cgroup.kill");
  EXPECT_EQ(groups.plan("7.1", {}).directories, std::vector<std::string>{made.top() + unit + "/jobs/7.1"});
}

TEST(Cgroup, PureVersion2WhereNothingIsHandedDown) {
  // A user's session: its group holds the shell itself, so it hands nothing down. Killing by group works all the same.
  const MadeV2Tree made("cpu memory pids", "0::/session\n", false);
  EXPECT_TRUE(made.make(made.top() + "/session"));
  made.write(made.top() + "/session/cgroup.procs", "4711");
  const Cgroups groups = Cgroups::find(made.tree());
  EXPECT_EQ(groups.words(), "cgroup limits: none; killing by cgroup.kill");
  EXPECT_FALSE(groups.limits_memory());
  const CgroupPlan plan = groups.plan("7.1", {1, 100, 50});
  EXPECT_TRUE(plan.settings.empty());
  EXPECT_EQ(plan.kill_file, made.top() + "/session/smartmig/7.1/cgroup.kill");
  // No right to make a group: no cgroups at all.
  CgroupTree closed = made.tree();
  closed.make = [](const std::string&) { return false; };
  EXPECT_NE(Cgroups::find(closed).words().find("no cgroups"), std::string::npos);
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
