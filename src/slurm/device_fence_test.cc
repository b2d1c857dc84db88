#include "slurm/device_fence.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

// Device files of a node with two GPUs and two slices; false: they cannot be made here.
bool make_devices(const std::string& folder) {
  std::filesystem::create_directories(folder + "/nvidia-caps");
  const auto make = [&](const std::string& name, unsigned major, unsigned minor) {
    return ::mknod((folder + "/" + name).c_str(), S_IFCHR | 0600, makedev(major, minor)) == 0;
  };
  return make("nvidia0", 195, 0) && make("nvidia1", 195, 1) && make("nvidiactl", 195, 255) && make("null", 1, 3) &&
         make("nvidia-caps/nvidia-cap21", 240, 21) && make("nvidia-caps/nvidia-cap30", 240, 30);
}

TEST(SlurmDeviceFence, OnV1DeniesTheFilesBesideItsOwn) {
  TempDir dir;
  const std::string dev = dir.path() + "/dev", root = dir.path() + "/cgroup",
                    job = root + "/devices/slurm/uid_7/job_12";
  if (!make_devices(dev)) GTEST_SKIP() << "device files cannot be made here";
  const std::vector<std::string> own = {dev + "/nvidiactl", dev + "/nvidia1", dev + "/nvidia-caps/nvidia-cap30"};
  const DeviceFence fence(root, "n1");
  EXPECT_EQ(fence.fence(12, own).error().code, Error::kNotFound);  // not yet
  std::filesystem::create_directories(job);
  EXPECT_EQ(fence.fence(12, own).error().code, Error::kIo);  // no controller there
  std::ofstream(job + "/devices.deny").close();
  const auto done = fence.fence(12, own);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(*done, DeviceFence::Kind::kRepeat);
  EXPECT_EQ(*read_file(job + "/devices.deny"), "c 195:0 rwmc 240:21 rwm");
  EXPECT_EQ(fence.fence(12, {"/nowhere"}).error().code, Error::kUnsupported);
}

TEST(SlurmDeviceFence, OnV2AttachesAProgramToTheJobsCgroup) {
  TempDir dir;
  const std::string dev = dir.path() + "/dev", root = dir.path() + "/cgroup";
  if (!make_devices(dev)) GTEST_SKIP() << "device files cannot be made here";
  std::vector<std::pair<std::string, DeviceNumbers>> attached;
  const DeviceFence fence(root, "n1", [&](const std::string& group, const DeviceNumbers& allowed) -> Result<Ok> {
    attached.emplace_back(group, allowed);
    return Ok{};
  });
  const std::string job = root + "/system.slice/n1_slurmstepd.scope/job_3";
  std::filesystem::create_directories(job);
  const auto done = fence.fence(3, {dev + "/nvidia0", dev + "/nvidia-caps/nvidia-cap21"});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(*done, DeviceFence::Kind::kOnce);
  ASSERT_EQ(attached.size(), 1u);
  EXPECT_EQ(attached[0].first, job);
  EXPECT_EQ(attached[0].second, (DeviceNumbers{{195, 0}, {240, 21}}));
}

std::string cgroup2_mount() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string what, where, type, rest; mounts >> what >> where >> type && std::getline(mounts, rest);)
    if (type == "cgroup2") return where;
  return {};
}

// In a child that has joined the cgroup: 0, or the errno of opening the file.
int opened_inside(const std::string& cgroup, const char* file) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int list = ::open((cgroup + "/cgroup.procs").c_str(), O_WRONLY);
    if (list < 0 || ::write(list, "0", 1) != 1) ::_exit(250);
    const int fd = ::open(file, O_RDONLY);
    ::_exit(fd >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 251;
}

// The kernel's own word, with memory devices (major 1) in the place of GPUs.
TEST(SlurmDeviceFenceProcess, TheKernelKeepsAProcessFromOtherDevicesOfItsMajors) {
  const std::string mount = cgroup2_mount();
  if (mount.empty() || ::geteuid() != 0) GTEST_SKIP() << "needs root and a cgroup2 mount";
  const std::string group = fmt::format("{}/smartmig-test-{}", mount, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup can be made here";
  const auto attached = attach_device_program(group, {{1, 3}, {1, 9}});  // null and urandom
  if (!attached) {
    ::rmdir(group.c_str());
    GTEST_SKIP() << attached.error().what;
  }
  EXPECT_EQ(opened_inside(group, "/dev/null"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/urandom"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/zero"), EPERM);
  EXPECT_EQ(opened_inside(group, "/dev/full"), EPERM);
  EXPECT_EQ(opened_inside(group, "/dev/ptmx"), 0);      // of another major
  EXPECT_EQ(::open("/dev/zero", O_RDONLY) >= 0, true);  // nobody else is kept from it
  // Another program that closes more: both must allow.
  ASSERT_TRUE(attach_device_program(group, {{1, 3}}));
  EXPECT_EQ(opened_inside(group, "/dev/null"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/urandom"), EPERM);
  EXPECT_EQ(::rmdir(group.c_str()), 0);
}

}  // namespace
}  // namespace smartmig
