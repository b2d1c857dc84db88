#include <cstring>
#include <thread>

#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class Faults : public MachineTest {
 protected:
  static nvmlSimFault_t fault(nvmlSimFaultKind_t kind, const char* call = "", unsigned count = NVML_SIM_UNTIL_CLEARED) {
    nvmlSimFault_t out{};
    out.kind = kind;
    out.gpu = -1;
    out.count = count;
    out.code = NVML_ERROR_UNKNOWN;
    out.gpuInstanceId = NVML_NO_INSTANCE_ID;
    std::strncpy(out.call, call, sizeof out.call - 1);
    return out;
  }
};

TEST_F(Faults, CountedFailuresStrikeThatOftenAndOnlyThatCall) {
  start("2xa100-40gb");
  nvmlSimFault_t create = fault(NVML_SIM_FAULT_FAIL, "nvmlDeviceCreateGpuInstance", 2);
  create.code = NVML_ERROR_INSUFFICIENT_RESOURCES;
  create.gpu = 1;
  ASSERT_EQ(nvmlSimInjectFault(&create), NVML_SUCCESS);
  nvmlGpuInstance_t gi = nullptr;
  EXPECT_EQ(make_gi(gi, k1g, -1, 0), NVML_SUCCESS);  // another board
  EXPECT_EQ(make_gi(gi, k1g, -1, 1), NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(make_gi(gi, k1g, 0, 1), NVML_ERROR_INSUFFICIENT_RESOURCES);  // the call with a placement begins alike
  EXPECT_EQ(make_gi(gi, k1g, -1, 1), NVML_SUCCESS);
  EXPECT_EQ(instances(1), 1);
}

TEST_F(Faults, AComputeInstanceMayBeRefusedAfterItsGpuInstanceWasMade) {
  start("1xa100-40gb");
  const nvmlSimFault_t refuse = fault(NVML_SIM_FAULT_FAIL, "nvmlGpuInstanceCreateComputeInstance", 1);
  ASSERT_EQ(nvmlSimInjectFault(&refuse), NVML_SUCCESS);
  nvmlGpuInstance_t gi = nullptr;
  nvmlComputeInstance_t ci = nullptr;
  ASSERT_EQ(make_gi(gi, k2g), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 1, &ci), NVML_ERROR_UNKNOWN);
  EXPECT_EQ(instances(), 1);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(board(), 0, &device), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
}

TEST_F(Faults, AnInstanceStaysInUseForAWhileAfterItsProcess) {
  start("1xa100-40gb", "virtual");
  const Slice slice = make_slice(k1g, 0);
  nvmlSimFault_t lag = fault(NVML_SIM_FAULT_IN_USE_LAG, "", 2);
  lag.delayUs = 3000000;
  ASSERT_EQ(nvmlSimInjectFault(&lag), NVML_SUCCESS);
  occupy(slice.uuid)->kill();
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_ERROR_IN_USE);
  EXPECT_EQ(nvmlSimSleep(3000000), NVML_SUCCESS);
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_ERROR_IN_USE);  // the second hit
  EXPECT_EQ(nvmlSimSleep(3000000), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_SUCCESS);
}

TEST_F(Faults, ALeakedHandleKeepsAnInstanceUntilItsHolderDies) {
  start("1xa100-40gb");
  const Slice held_slice = make_slice(k1g, 0), free_slice = make_slice(k1g, 0);
  Child monitor([] {
    Child::ready();
    return wait_for_ever();
  });
  ASSERT_TRUE(monitor.await_ready());
  nvmlSimFault_t leak = fault(NVML_SIM_FAULT_LEAKED_HANDLE);
  leak.gpu = 0;
  leak.gpuInstanceId = held_slice.id;
  leak.pid = 999999999;
  EXPECT_EQ(nvmlSimInjectFault(&leak), NVML_ERROR_NOT_FOUND);
  leak.pid = unsigned(monitor.pid());
  ASSERT_EQ(nvmlSimInjectFault(&leak), NVML_SUCCESS);
  EXPECT_EQ(nvmlComputeInstanceDestroy(free_slice.ci), NVML_SUCCESS);
  EXPECT_EQ(nvmlComputeInstanceDestroy(held_slice.ci), NVML_ERROR_IN_USE);
  monitor.kill();
  EXPECT_EQ(nvmlComputeInstanceDestroy(held_slice.ci), NVML_SUCCESS);
}

TEST_F(Faults, MemoryOfADeadProcessStaysUntilItIsClearedOrTheBoardIsReset) {
  start("1xa100-40gb");
  const Slice slice = make_slice(k1g, 0), other = make_slice(k1g, 0);
  nvmlSimFault_t stick = fault(NVML_SIM_FAULT_STUCK_MEMORY);
  stick.gpu = 0;
  stick.count = 2;
  ASSERT_EQ(nvmlSimInjectFault(&stick), NVML_SUCCESS);
  occupy(other.uuid, "", 0)->kill();  // held nothing: nothing stays
  EXPECT_EQ(nvmlComputeInstanceDestroy(other.ci), NVML_SUCCESS);
  const auto leaves_memory = [&] {
    const auto job = occupy(slice.uuid, "bert-train-8", 1000);
    const unsigned pid = unsigned(job->pid());
    job->kill();
    nvmlProcessInfo_t infos[4];
    unsigned count = 4;
    EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(slice.device, &count, infos), NVML_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(infos[0].pid, pid);
    EXPECT_EQ(infos[0].usedGpuMemory, 1000ull << 20);
    EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_ERROR_IN_USE);
  };
  leaves_memory();
  ASSERT_EQ(nvmlSimClearFaults(NVML_SIM_FAULT_STUCK_MEMORY, 0), NVML_SUCCESS);
  unsigned count = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(slice.device, &count, nullptr), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(nvmlSimInjectFault(&stick), NVML_SUCCESS);
  leaves_memory();
  EXPECT_EQ(nvmlSimResetGpu(0), NVML_SUCCESS);
  nvmlMemory_t memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(board(0), &memory), NVML_SUCCESS);
  EXPECT_LT(memory.used, 1000ull << 20);
}

TEST_F(Faults, ALostBoardAnswersNothingElseAndSendsAnXid) {
  start("2xa100-40gb");
  nvmlEventSet_t set = nullptr;
  ASSERT_EQ(nvmlEventSetCreate(&set), NVML_SUCCESS);
  unsigned long long types = 0;
  EXPECT_EQ(nvmlDeviceGetSupportedEventTypes(board(0), &types), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceRegisterEvents(board(0), nvmlEventTypeXidCriticalError, set), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceRegisterEvents(board(0), 1ull << 40, set), NVML_ERROR_NOT_SUPPORTED);
  nvmlEventData_t data{};
  EXPECT_EQ(nvmlEventSetWait_v2(set, &data, 10), NVML_ERROR_TIMEOUT);
  const nvmlDevice_t lost = board(0);
  nvmlSimFault_t lose = fault(NVML_SIM_FAULT_GPU_LOST);
  EXPECT_EQ(nvmlSimInjectFault(&lose), NVML_ERROR_INVALID_ARGUMENT);  // which board?
  lose.gpu = 0;
  std::thread later([&] {
    ::usleep(20000);
    EXPECT_EQ(nvmlSimInjectFault(&lose), NVML_SUCCESS);
  });
  EXPECT_EQ(nvmlEventSetWait_v2(set, &data, 5000), NVML_SUCCESS);
  later.join();
  EXPECT_EQ(data.device, lost);
  EXPECT_EQ(data.eventData, 79u);
  unsigned value = 0;
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetPowerUsage(lost, &value), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(board(1), &value), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&value), NVML_SUCCESS);
  EXPECT_EQ(value, 2u);
  EXPECT_EQ(nvmlSimClearFaults(NVML_SIM_FAULT_GPU_LOST, 0), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(lost, &value), NVML_SUCCESS);
  EXPECT_EQ(nvmlEventSetFree(set), NVML_SUCCESS);
  EXPECT_EQ(nvmlEventSetFree(set), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Faults, SlowCallsTakeTheMachinesTime) {
  start("1xa100-40gb", "virtual");
  nvmlSimFault_t slow = fault(NVML_SIM_FAULT_SLOW, "nvmlDeviceGetPowerUsage", 1);
  slow.delayUs = 7000000;
  ASSERT_EQ(nvmlSimInjectFault(&slow), NVML_SUCCESS);
  watts();
  watts();
  unsigned long long now = 0;
  nvmlSimNow(&now);
  EXPECT_EQ(now, 7000000u);
}

TEST_F(Faults, AHangingCallReturnsWhenTheFaultIsCleared) {
  start("1xa100-40gb");
  const nvmlSimFault_t hang = fault(NVML_SIM_FAULT_HANG, "nvmlDeviceGetPowerUsage", 1);
  ASSERT_EQ(nvmlSimInjectFault(&hang), NVML_SUCCESS);
  std::atomic<bool> returned{false};
  std::thread caller([&] {
    watts();
    returned = true;
  });
  ::usleep(100000);
  EXPECT_FALSE(returned);
  EXPECT_EQ(nvmlSimClearFaults(NVML_SIM_FAULT_HANG, -1), NVML_SUCCESS);
  caller.join();
  EXPECT_TRUE(returned);
}

TEST_F(Faults, TheDriverMayLie) {
  start("1xa100-40gb");
  nvmlGpuInstance_t gi = nullptr;
  const nvmlSimFault_t nothing = fault(NVML_SIM_FAULT_CREATE_LIES, "", 1);
  ASSERT_EQ(nvmlSimInjectFault(&nothing), NVML_SUCCESS);
  EXPECT_EQ(make_gi(gi, k1g, 0), NVML_SUCCESS);
  EXPECT_EQ(instances(), 0);
  nvmlGpuInstanceInfo_t info{};
  EXPECT_EQ(nvmlGpuInstanceGetInfo(gi, &info), NVML_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(make_gi(gi, k1g, 0), NVML_SUCCESS);
  const nvmlSimFault_t wrong = fault(NVML_SIM_FAULT_WRONG_READBACK, "", 1);
  ASSERT_EQ(nvmlSimInjectFault(&wrong), NVML_SUCCESS);
  EXPECT_NE(start_of(gi), 0u);
  EXPECT_EQ(start_of(gi), 0u);
  const nvmlSimFault_t remains = fault(NVML_SIM_FAULT_DESTROY_LIES, "", 1);
  ASSERT_EQ(nvmlSimInjectFault(&remains), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
  EXPECT_EQ(instances(), 1);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
  EXPECT_EQ(instances(), 0);
}

TEST_F(Faults, XidsAndMemoryErrorsAreTold) {
  start("2xa100-40gb");
  nvmlEventSet_t set = nullptr;
  ASSERT_EQ(nvmlEventSetCreate(&set), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceRegisterEvents(board(1), nvmlEventTypeXidCriticalError, set), NVML_SUCCESS);
  nvmlSimFault_t xid = fault(NVML_SIM_FAULT_XID);
  xid.code = 74;
  EXPECT_EQ(nvmlSimInjectFault(&xid), NVML_ERROR_INVALID_ARGUMENT) << "of one board";
  xid.gpu = 1;
  EXPECT_EQ(nvmlSimInjectFault(&xid), NVML_SUCCESS);
  nvmlSimFault_t ecc = fault(NVML_SIM_FAULT_ECC, "", 3);
  ecc.gpu = 1;
  EXPECT_EQ(nvmlSimInjectFault(&ecc), NVML_SUCCESS);
  nvmlEventData_t event{};
  ASSERT_EQ(nvmlEventSetWait_v2(set, &event, 0), NVML_SUCCESS);
  EXPECT_EQ(event.eventData, 74u);
  ASSERT_EQ(nvmlEventSetWait_v2(set, &event, 0), NVML_SUCCESS);
  EXPECT_EQ(event.eventData, 48u);
  EXPECT_EQ(nvmlEventSetWait_v2(set, &event, 0), NVML_ERROR_TIMEOUT);
  unsigned long long errors = 0;
  ASSERT_EQ(nvmlDeviceGetTotalEccErrors(board(1), NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &errors),
            NVML_SUCCESS);
  EXPECT_EQ(errors, 3u);
  ASSERT_EQ(nvmlDeviceGetTotalEccErrors(board(1), NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, &errors),
            NVML_SUCCESS);
  EXPECT_EQ(errors, 0u);
  nvmlEventSetFree(set);
}

}  // namespace
}  // namespace smartmig::nvsim
