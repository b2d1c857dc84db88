#include "live/jobs/device_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace smartmig {
namespace {

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
TEST(DeviceProgramProcess, TheKernelKeepsAProcessFromOtherDevicesOfItsMajors) {
  const std::string mount = cgroup2_mount();
  if (mount.empty() || ::geteuid() != 0) GTEST_SKIP() << "needs root and a cgroup2 mount";
  const std::string group = fmt::format("{}/smartmig-test-{}", mount, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup can be made here";
  const auto attached = add_device_program(group, {{1, 3}, {1, 9}});  // null and urandom
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
  ASSERT_TRUE(add_device_program(group, {{1, 3}}));
  EXPECT_EQ(opened_inside(group, "/dev/null"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/urandom"), EPERM);
  EXPECT_EQ(::rmdir(group.c_str()), 0);
}

TEST(DeviceProgramProcess, TheProgramOfOurOwnGroupClosesAllOtherDevicesAndIsReplaced) {
  const std::string mount = cgroup2_mount();
  if (mount.empty() || ::geteuid() != 0) GTEST_SKIP() << "needs root and a cgroup2 mount";
  const std::string group = fmt::format("{}/smartmig-own-{}", mount, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup can be made here";
  const auto set = set_device_program(group, {{1, 3}, {5, kAnyMinor}});  // null, ptmx and tty
  if (!set) {
    ::rmdir(group.c_str());
    GTEST_SKIP() << set.error().what;
  }
  EXPECT_EQ(opened_inside(group, "/dev/null"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/ptmx"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/zero"), EPERM);
  EXPECT_EQ(opened_inside(group, "/dev/kmsg"), EPERM);
  ASSERT_TRUE(set_device_program(group, {{1, 3}, {1, 5}}));
  EXPECT_EQ(opened_inside(group, "/dev/zero"), 0);
  EXPECT_EQ(opened_inside(group, "/dev/ptmx"), EPERM);
  ASSERT_TRUE(set_device_program(group, {}));
  EXPECT_EQ(opened_inside(group, "/dev/null"), EPERM);
  EXPECT_EQ(::rmdir(group.c_str()), 0);
}

}  // namespace
}  // namespace smartmig
