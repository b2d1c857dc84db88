// A GPU that is lost when the daemon comes up cannot say what it is. The queue starts all the same, with that GPU out
// of service, and finds it again once it is back.
#include <gtest/gtest.h>

#include "serve/api/daemon_host.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

Result<std::unique_ptr<DaemonHost>> open_host(const TempDir& dir) {
  DaemonHostOptions options;
  options.settings.places.driver = "emulate:2xa100-40gb";
  options.settings.places.state_dir = dir.path();
  options.clock = "virtual";
  options.in_process = true;
  options.emulation_seed = 7;
  return DaemonHost::open(std::move(options));
}

TEST(Daemon, StartsWhileAGpuIsLost) {
  const TempDir dir;
  std::string uuid;
  {
    auto host = open_host(dir);
    ASSERT_TRUE(host) << host.error().what;
    (*host)->daemon().step();
    uuid = (*host)->daemon().state().boards.at(1).board.uuid;
    nvmlSimFault_t lost{};
    lost.kind = NVML_SIM_FAULT_GPU_LOST;
    lost.gpu = 1;
    lost.count = NVML_SIM_UNTIL_CLEARED;
    ASSERT_EQ((*host)->machine()->sim()->nvmlSimInjectFault(&lost), NVML_SUCCESS);
  }
  {
    auto host = open_host(dir);
    ASSERT_TRUE(host) << host.error().what;
    Daemon& daemon = (*host)->daemon();
    daemon.step();
    ASSERT_EQ(daemon.state().boards.size(), 2u);
    EXPECT_EQ(daemon.state().boards.at(1).board.uuid, uuid);
    EXPECT_FALSE(daemon.state().boards.at(1).words.empty());
    EXPECT_TRUE(daemon.cluster().gpu(GpuId(1)).blocked);
    EXPECT_TRUE(daemon.state().boards.at(0).words.empty());
    EXPECT_FALSE(daemon.drain(1, false)) << "it cannot be put back to work while it is lost";
    ASSERT_EQ((*host)->machine()->sim()->nvmlSimClearFaults(NVML_SIM_FAULT_GPU_LOST, 1), NVML_SUCCESS);
  }
  auto host = open_host(dir);
  ASSERT_TRUE(host) << host.error().what;
  if (!(*host)->daemon().state().boards.at(1).words.empty()) {
    ASSERT_TRUE((*host)->daemon().drain(1, false));
  }
  (*host)->daemon().step();
  EXPECT_TRUE((*host)->daemon().state().boards.at(1).words.empty());
  EXPECT_FALSE((*host)->daemon().cluster().gpu(GpuId(1)).blocked);
}

}  // namespace
}  // namespace smartmig
