#include "cluster/device_fence.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "slurm/job_cgroup.h"
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
  const DeviceFence fence(cgroups_of_jobs(root, "n1"));
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
  const DeviceFence fence(cgroups_of_jobs(root, "n1"),
                          [&](const std::string& group, const DeviceNumbers& allowed) -> Result<Ok> {
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

}  // namespace
}  // namespace smartmig
