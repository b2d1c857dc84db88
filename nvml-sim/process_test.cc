#include <thread>

#include "model/power.h"
#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class Processes : public MachineTest {};

TEST_F(Processes, AProcessOnASliceIsSeenByOthersAndKeepsItInUse) {
  start("1xa100-40gb");
  const Slice slice = make_slice(k2g, 1), idle = make_slice(k1g, 0);
  const auto job = occupy(slice.uuid, "bert-train-8", 1000);
  nvmlProcessInfo_t infos[4];
  unsigned count = 4;
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(slice.device, &count, infos), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, unsigned(job->pid()));
  EXPECT_EQ(infos[0].usedGpuMemory, 1000ull << 20);
  EXPECT_EQ(infos[0].gpuInstanceId, slice.id);
  EXPECT_EQ(infos[0].computeInstanceId, 0u);
  count = 4;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(board(), &count, infos), NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  count = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(board(), &count, nullptr), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 1u);
  nvmlProcessInfo_v1_t old[4];
  count = 4;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses(slice.device, &count, old), NVML_SUCCESS);
  EXPECT_EQ(old[0].pid, unsigned(job->pid()));
  count = 4;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(idle.device, &count, infos), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
  nvmlMemory_t memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(slice.device, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 9984ull << 20);
  EXPECT_EQ(memory.used, 1000ull << 20);
  EXPECT_EQ(memory.free + memory.used, memory.total);
  char name[256];
  EXPECT_EQ(nvmlSystemGetProcessName(unsigned(job->pid()), name, sizeof name), NVML_SUCCESS);
  EXPECT_NE(std::string(name).find("nvml_sim_tests"), std::string::npos);

  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_ERROR_IN_USE);
  EXPECT_EQ(nvmlComputeInstanceDestroy(idle.ci), NVML_SUCCESS);  // a neighbour does not mind
  job->kill();
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_SUCCESS);
}

TEST_F(Processes, AHolderShowsInProcByItsOpenDeviceFiles) {
  start("1xa100-40gb");
  const Slice slice = make_slice(k3g, 2);
  const auto job = occupy(slice.uuid);
  std::set<std::string> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(job->pid()) + "/fd"))
    open.insert(std::filesystem::read_symlink(entry.path()).string());
  const std::string dev = std::filesystem::canonical(directory_).string() + "/dev/";
  EXPECT_TRUE(open.count(dev + "nvidia0"));
  EXPECT_TRUE(open.count(dev + gpu_instance_node(0, slice.id)));
  EXPECT_TRUE(open.count(dev + compute_instance_node(0, slice.id, 0)));
  EXPECT_EQ(gpu_instance_node(1, 0), "nvidia-caps/nvidia-cap138");  // as mig-minors of a real host
}

TEST_F(Processes, MemoryIsLimitedByTheSliceAndSharedInAGpuInstance) {
  start("1xa100-40gb");
  nvmlGpuInstance_t gi = nullptr;
  ASSERT_EQ(make_gi(gi, k3g), NVML_SUCCESS);
  nvmlComputeInstance_t a = nullptr, b = nullptr;
  ASSERT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 0, &a), NVML_SUCCESS);
  ASSERT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 0, &b), NVML_SUCCESS);
  const auto uuid_of = [](nvmlComputeInstance_t ci) {
    nvmlComputeInstanceInfo_t info{};
    EXPECT_EQ(nvmlComputeInstanceGetInfo_v2(ci, &info), NVML_SUCCESS);
    char uuid[96];
    EXPECT_EQ(nvmlDeviceGetUUID(info.device, uuid, sizeof uuid), NVML_SUCCESS);
    return std::string(uuid);
  };
  const auto neighbour = occupy(uuid_of(b), "", 15000);
  EXPECT_EQ(nvmlSimSetMemory(1), NVML_ERROR_NOT_FOUND);  // not registered
  ASSERT_EQ(nvmlSimRegisterProcess(uuid_of(a).c_str(), ""), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimRegisterProcess(uuid_of(a).c_str(), ""), NVML_ERROR_IN_USE);
  EXPECT_EQ(nvmlSimSetMemory(5096ull << 20), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimSetMemory(5097ull << 20), NVML_ERROR_MEMORY);
  EXPECT_EQ(nvmlSimSetMemory(~0ull), NVML_ERROR_MEMORY);
  nvmlMemory_t memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(board(), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.used, 20096ull << 20);
  EXPECT_EQ(nvmlSimUnregisterProcess(), NVML_SUCCESS);
  EXPECT_EQ(nvmlSimUnregisterProcess(), NVML_ERROR_NOT_FOUND);
}

TEST_F(Processes, DevicesAreFoundAsCudaFindsThem) {
  start("2xa100-40gb", "zero", true);
  nvmlSimSlice_t slice{};
  EXPECT_EQ(nvmlSimGetSlice("1", &slice), NVML_ERROR_NOT_SUPPORTED);  // a board in MIG mode
  EXPECT_EQ(nvmlSimGetSlice("MIG-none", &slice), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlSimGetSlice("7", &slice), NVML_ERROR_NOT_FOUND);
  const Slice made = make_slice(k2g, 1, -1, 1);
  ::setenv("CUDA_VISIBLE_DEVICES", made.uuid.c_str(), 1);
  ASSERT_EQ(nvmlSimGetSlice(nullptr, &slice), NVML_SUCCESS);
  EXPECT_STREQ(slice.gpuModel, "a100-40gb");
  EXPECT_STREQ(slice.profile, "2g.10gb");
  EXPECT_EQ(slice.gpuIndex, 1u);
  EXPECT_EQ(slice.memoryBytes, 9984ull << 20);
}

TEST_F(Processes, ThreadsShareOneSession) {
  start("4xa100-40gb");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned gpu = 0; gpu < 4; ++gpu)
    threads.emplace_back([gpu, &wrong] {
      for (int i = 0; i < 50; ++i) {
        nvmlGpuInstance_t gi = nullptr;
        nvmlDevice_t device = nullptr;
        unsigned mw = 0;
        wrong += nvmlInit_v2() != NVML_SUCCESS;
        wrong += nvmlDeviceGetHandleByIndex_v2(gpu % 2, &device) != NVML_SUCCESS;
        wrong += nvmlDeviceCreateGpuInstance(device, k1g, &gi) != NVML_SUCCESS;
        wrong += nvmlDeviceGetPowerUsage(device, &mw) != NVML_SUCCESS;
        wrong += nvmlGpuInstanceDestroy(gi) != NVML_SUCCESS;
        wrong += nvmlShutdown() != NVML_SUCCESS;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(instances(0) + instances(1), 0);
}

// Energy must be the integral of the power model over what ran. On the virtual clock that is exact.
TEST_F(Processes, EnergyIsTheIntegralOfThePowerModel) {
  for (const std::string power : {"paper", "a100-jobs", "a100-sxm"}) {
    start("1xa100-40gb", "virtual", true, false, power);
    const auto model = Catalog::builtin().find("a100-40gb");
    const auto watts_of = PowerModel::named(power, **model);
    ASSERT_TRUE(watts_of);
    const Slice a = make_slice(k3g, 2), b = make_slice(k2g, 1);
    unsigned long long began = 0, now = 0;
    nvmlSimNow(&began);
    const double before = joules();
    const auto run = [](std::string uuid, const char* kind, unsigned long long wait_s, unsigned long long run_s) {
      return std::make_unique<Child>([=] {
        nvmlSimClockJoin(0);
        Child::ready();
        nvmlSimSleep(wait_s * 1000000);
        if (nvmlSimRegisterProcess(uuid.c_str(), kind) != NVML_SUCCESS) return 1;
        nvmlSimSleep(run_s * 1000000);
        return int(nvmlSimUnregisterProcess());
      });
    };
    nvmlSimClockJoin(0);  // holds the clock until both children are on it
    auto first = run(a.uuid, "bert-train-8", 10, 100);
    auto second = run(b.uuid, "mobilenet-train-64", 50, 100);
    ASSERT_TRUE(first->await_ready() && second->await_ready());
    EXPECT_EQ(nvmlSimSleep(200000000), NVML_SUCCESS);
    EXPECT_EQ(first->wait(), 0);
    EXPECT_EQ(second->wait(), 0);
    nvmlSimNow(&now);
    EXPECT_EQ(now - began, 200000000u);
    const Profile& three = (*model)->profiles()[std::size_t((*model)->find_profile("3g.20gb"))];
    const Profile& two = (*model)->profiles()[std::size_t((*model)->find_profile("2g.10gb"))];
    const double add_a = watts_of->added("bert-train-8", three), add_b = watts_of->added("mobilenet-train-64", two);
    const double expected = 60 * watts_of->watts(0, 0) + 40 * watts_of->watts(3, add_a) +
                            60 * watts_of->watts(5, add_a + add_b) + 40 * watts_of->watts(2, add_b);
    EXPECT_NEAR(joules() - before, expected, 0.002) << power;
    EXPECT_NEAR(watts(), watts_of->idle(), 0.001);
    nvmlSimClockLeave();
    TearDown();
  }
}

TEST_F(Processes, FieldsAgreeWithTheirCalls) {
  start("1xh200-141gb", "virtual");
  const Slice slice = make_slice(k3g, 2);
  const auto job = occupy(slice.uuid);
  nvmlFieldValue_t fields[4] = {};
  fields[0].fieldId = NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION;
  fields[1].fieldId = NVML_FI_DEV_POWER_INSTANT;
  fields[2].fieldId = NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED;
  fields[3].fieldId = 1;
  ASSERT_EQ(nvmlDeviceGetFieldValues(board(), 4, fields), NVML_SUCCESS);
  EXPECT_NEAR(double(fields[0].value.ullVal) / 1000, joules(), 0.001);
  EXPECT_NEAR(fields[1].value.uiVal / 1000.0, watts(), 0.001);
  EXPECT_GT(watts(), 100);
  EXPECT_EQ(fields[2].value.uiVal, 1u);
  EXPECT_EQ(fields[3].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  // An idle process draws nothing; a lower limit caps.
  const double busy = watts();
  EXPECT_EQ(nvmlDeviceSetPowerManagementLimit(board(), 100000), NVML_SUCCESS);
  EXPECT_NEAR(watts(), 100, 0.001);
  EXPECT_LT(watts(), busy);
  EXPECT_EQ(nvmlDeviceSetPowerManagementLimit(board(), 1), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace smartmig::nvsim
