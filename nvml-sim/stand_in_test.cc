#include <fstream>

#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class StandIns : public MachineTest {
 protected:
  static unsigned processes(unsigned gpu = 0) {
    unsigned count = 32;
    nvmlProcessInfo_t infos[32] = {};
    EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(board(gpu), &count, infos), NVML_SUCCESS);
    return count;
  }
};

TEST_F(StandIns, OneProcessKeepsSeveralSlicesBusyAtTheirKindsWatts) {
  start("1xa100-40gb");
  const Slice large = make_slice(9, 2, 4), small = make_slice(19, 0, 0);
  const double idle = watts();
  ASSERT_EQ(nvmlSimStandIn(large.uuid.c_str(), "bert-train-8", 1), NVML_SUCCESS);
  const double one = watts();
  ASSERT_EQ(nvmlSimStandIn(small.uuid.c_str(), "", 2), NVML_SUCCESS);
  const double two = watts();
  EXPECT_GT(one, idle + 10);
  EXPECT_GT(two, one + 1);
  EXPECT_EQ(processes(), 2u);
  EXPECT_EQ(nvmlComputeInstanceDestroy(large.ci), NVML_ERROR_IN_USE);

  // The same watts as a process of that kind draws.
  EXPECT_EQ(nvmlSimStandDown(1), NVML_SUCCESS);
  const double only_small = watts();
  const auto child = occupy(large.uuid, "bert-train-8");
  EXPECT_DOUBLE_EQ(watts(), two);
  child->kill();
  EXPECT_EQ(processes(), 1u);
  EXPECT_DOUBLE_EQ(watts(), only_small);
  EXPECT_EQ(nvmlSimStandDown(2), NVML_SUCCESS);
  EXPECT_DOUBLE_EQ(watts(), idle);
  EXPECT_EQ(nvmlSimStandDown(2), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlComputeInstanceDestroy(large.ci), NVML_SUCCESS);
}

TEST_F(StandIns, TokensAreApartFromEachOtherAndFromTheProcessItself) {
  start("1xa100-40gb");
  const Slice slice = make_slice(9, 2, 0), other = make_slice(9, 2, 4);
  EXPECT_EQ(nvmlSimStandIn(slice.uuid.c_str(), "", 0), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlSimStandIn("MIG-none", "", 5), NVML_ERROR_NOT_FOUND);
  ASSERT_EQ(nvmlSimStandIn(slice.uuid.c_str(), "", 5), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimStandIn(other.uuid.c_str(), "", 5), NVML_ERROR_IN_USE);
  ASSERT_EQ(nvmlSimRegisterProcess(other.uuid.c_str(), ""), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimStandInMemory(5, 3ull << 30), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimStandInMemory(5, 30ull << 30), NVML_ERROR_MEMORY);
  EXPECT_EQ(nvmlSimSetMemory(1ull << 30), NVML_SUCCESS);
  nvmlMemory_t memory{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(slice.device, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.used, 3ull << 30);
  EXPECT_EQ(nvmlSimUnregisterProcess(), NVML_SUCCESS);
  EXPECT_EQ(processes(), 1u);
  EXPECT_EQ(nvmlSimStandInMemory(6, 0), NVML_ERROR_NOT_FOUND);
}

TEST_F(StandIns, VanishWithTheirProcess) {
  start("1xa100-40gb");
  const Slice slice = make_slice(0, 4);
  Child keeper([&] {
    for (unsigned token = 1; token <= 20; ++token)
      if (nvmlSimStandIn(slice.uuid.c_str(), "", token) != NVML_SUCCESS) return 1;
    Child::ready();
    return wait_for_ever();
  });
  ASSERT_TRUE(keeper.await_ready());
  EXPECT_EQ(processes(), 20u);
  keeper.kill();
  EXPECT_EQ(processes(), 0u);
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
}

TEST_F(StandIns, EnergyIsExactOnTheVirtualClock) {
  start("1xa100-40gb", "virtual");
  const Slice slice = make_slice(0, 4);
  nvmlSimClockJoin(0);
  const double before = joules();
  ASSERT_EQ(nvmlSimStandIn(slice.uuid.c_str(), "", 1), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSleep(10000000), NVML_SUCCESS);
  ASSERT_EQ(nvmlSimStandDown(1), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSleep(20000000), NVML_SUCCESS);
  EXPECT_NEAR(joules() - before, 10 * 248.5 + 20 * 40, 0.002);
  nvmlSimClockLeave();
}

class Making : public MachineTest {
 protected:
  nvmlReturn_t make(const char* gpus, const char* clock = nullptr) {
    return nvmlSimMakeMachine(directory_.c_str(), gpus, clock, nullptr, 3, &made_);
  }
  int made_ = -1;
};

TEST_F(Making, MakesLeavesAndNamesAMachine) {
  directory_ = scratch_directory();
  EXPECT_EQ(make("2xnothing"), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(nvmlSimLastError()).find("nothing"), std::string::npos) << nvmlSimLastError();
  ASSERT_EQ(make("2xa100-40gb,1xh200-141gb,1xa100-40gb", "zero"), NVML_SUCCESS) << nvmlSimLastError();
  ::setenv("NVML_SIM_STATE", directory_.c_str(), 1);
  EXPECT_EQ(made_, 1);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  char boards[128];
  ASSERT_EQ(nvmlSimGetBoards(boards, sizeof boards), NVML_SUCCESS);
  EXPECT_STREQ(boards, "2xa100-40gb,1xh200-141gb,1xa100-40gb");
  EXPECT_EQ(nvmlSimGetBoards(boards, 5), NVML_ERROR_INSUFFICIENT_SIZE);
  make_slice(19, 0);
  EXPECT_EQ(make("8xa30-24gb"), NVML_SUCCESS) << "the one that is there stays";
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(instances(), 1);
}

TEST_F(Making, ReplacesAMachineFromBeforeTheLastStartOfTheHostOnly) {
  directory_ = scratch_directory();
  ASSERT_EQ(make("2xa100-40gb"), NVML_SUCCESS);
  ::setenv("NVML_SIM_STATE", directory_.c_str(), 1);
  {
    std::fstream file(directory_ + "/state", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(Header, boot_id));
    file << "another-boot";
  }
  EXPECT_NE(nvmlInit_v2(), NVML_SUCCESS);
  EXPECT_NE(std::string(nvmlSimLastError()).find("before the last start"), std::string::npos) << nvmlSimLastError();
  ASSERT_EQ(make("1xa100-40gb"), NVML_SUCCESS);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS) << nvmlSimLastError();
  EXPECT_EQ(machine()->gpu_count(), 1);
  nvmlShutdown();
  std::ofstream(directory_ + "/state", std::ios::binary) << "something else";
  EXPECT_EQ(make("1xa100-40gb"), NVML_SUCCESS);
  EXPECT_NE(nvmlInit_v2(), NVML_SUCCESS) << "a file that is not ours is never removed";
}

}  // namespace
}  // namespace smartmig::nvsim
