// Death at any point leaves a machine that others go on using.
#include "base/rng.h"
#include "test_machine.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NVML_SIM_SANITIZED 1
#endif
#endif

namespace smartmig::nvsim {
namespace {

#if defined(NVML_SIM_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class Crash : public MachineTest {
 protected:
  // Every instance fits, every compute instance has its GPU instance, names are unique, nothing is owned by the dead.
  static void expect_consistent() {
    const auto m = machine();
    m->refresh();
    m->read([&](const State& state) {
      std::set<std::uint64_t> generations;
      for (int gpu = 0; gpu < state.gpu_count; ++gpu) {
        EXPECT_EQ(state.gpus[gpu].changing.pid, 0);
        m->layout(state, gpu);  // checks that the instances fit together
        std::set<std::uint32_t> ids, indices;
        for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
          if (gi.generation != 0) {
            EXPECT_TRUE(generations.insert(gi.generation).second);
            EXPECT_TRUE(ids.insert(gi.id).second);
            EXPECT_LT(gi.generation, state.next_generation);
          }
        for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
          if (ci.generation != 0) {
            EXPECT_TRUE(generations.insert(ci.generation).second);
            EXPECT_TRUE(indices.insert(ci.mig_index).second);
            EXPECT_NE(find_gpu_instance(state, gpu, ci.gpu_instance), nullptr);
          }
      }
      for (const Process& process : state.processes) EXPECT_EQ(process.owner.pid, 0);
    });
  }
  static void clear_instances() {
    for (const unsigned profile : {19u, 20u, 15u, 14u, 9u, 5u, 0u}) {
      nvmlGpuInstance_t list[16];
      unsigned count = 0;
      ASSERT_EQ(nvmlDeviceGetGpuInstances(board(), profile, list, &count), NVML_SUCCESS);
      for (unsigned i = 0; i < count; ++i) {
        for (unsigned ci_profile = 0; ci_profile < 5; ++ci_profile) {
          nvmlComputeInstance_t cis[8];
          unsigned ci_count = 0;
          if (nvmlGpuInstanceGetComputeInstances(list[i], ci_profile, cis, &ci_count) != NVML_SUCCESS) continue;
          for (unsigned j = 0; j < ci_count; ++j) ASSERT_EQ(nvmlComputeInstanceDestroy(cis[j]), NVML_SUCCESS);
        }
        ASSERT_EQ(nvmlGpuInstanceDestroy(list[i]), NVML_SUCCESS);
      }
    }
  }
  static int churn(unsigned long long run_us = 1000) {  // a life of a slice with a process on it
    nvmlGpuInstance_t gi = nullptr;
    nvmlComputeInstance_t ci = nullptr;
    if (make_gi(gi, 14) != NVML_SUCCESS) return 1;
    if (nvmlGpuInstanceCreateComputeInstance(gi, 1, &ci) != NVML_SUCCESS) return 2;
    nvmlComputeInstanceInfo_t info{};
    nvmlComputeInstanceGetInfo_v2(ci, &info);
    char uuid[96];
    nvmlDeviceGetUUID(info.device, uuid, sizeof uuid);
    if (nvmlSimRegisterProcess(uuid, "") != NVML_SUCCESS) return 3;
    if (nvmlSimSetMemory(1 << 20) != NVML_SUCCESS) return 4;
    if (nvmlSimSleep(run_us) != NVML_SUCCESS) return 5;
    if (nvmlSimUnregisterProcess() != NVML_SUCCESS) return 6;
    if (nvmlComputeInstanceDestroy(ci) != NVML_SUCCESS) return 7;
    return nvmlGpuInstanceDestroy(gi) != NVML_SUCCESS ? 8 : 0;
  }
};

TEST_F(Crash, KilledAtEveryPointOfALifeCycle) {
  for (const char* clock : {"zero", "virtual"}) {
    start("1xa100-40gb", clock);
    int killed = 0;
    for (int point = 1; point < 500; ++point) {
      ::setenv("NVML_SIM_CRASH_AT", std::to_string(point).c_str(), 1);
      Child child([] { return churn(); });
      ::unsetenv("NVML_SIM_CRASH_AT");
      const int code = child.wait();
      expect_consistent();
      clear_instances();
      if (code == 0) break;
      ASSERT_EQ(code, 1000 + SIGKILL) << point;
      ++killed;
    }
    EXPECT_GE(killed, 20) << clock;
    EXPECT_EQ(instances(), 0);
    TearDown();
  }
}

TEST_F(Crash, KilledAtRandomTimes) {
  start("1xa100-40gb", "zero");
  Rng rng(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 3; ++i)
      children.push_back(std::make_unique<Child>([]() -> int {
        Child::ready();
        for (;;) churn();
      }));
    for (const auto& child : children) ASSERT_TRUE(child->await_ready());
    ::usleep(useconds_t(rng.below(4000)));
    for (const auto& child : children) child->kill();
    expect_consistent();
    clear_instances();
    ASSERT_EQ(instances(), 0);
    ASSERT_EQ(churn(), 0);
  }
}

TEST_F(Crash, AChangeCutShortByDeathDoesNotHappen) {
  start("1xa100-40gb", "real");
  Child child([] {
    Child::ready();
    nvmlGpuInstance_t gi = nullptr;
    return int(make_gi(gi, 0));  // takes 0.12 s
  });
  ASSERT_TRUE(child.await_ready());
  ::usleep(30000);
  child.kill();
  expect_consistent();
  EXPECT_EQ(instances(), 0);
  nvmlGpuInstance_t gi = nullptr;
  EXPECT_EQ(make_gi(gi, 0), NVML_SUCCESS);
}

TEST_F(Crash, TenThousandCyclesDoNotGrow) {
  start("1xa100-40gb", "zero");
  const auto pages = [] {
    long total = 0, resident = 0;
    FILE* statm = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(statm, "%ld %ld", &total, &resident), 2);
    std::fclose(statm);
    return resident;
  };
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto size = std::filesystem::file_size(directory_ + "/state");
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(churn(0), 0);
  const long before = pages();
  const auto open = descriptors();
  for (int i = 0; i < 9000; ++i) ASSERT_EQ(churn(0), 0);
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/state"), size);
  EXPECT_EQ(descriptors(), open);
  if (!kSanitized) {
    EXPECT_LE(pages(), before + 64);  // 256 KiB; the sanitizers keep what was freed
  }
  EXPECT_EQ(instances(), 0);
  machine()->read([](const State& state) {
    for (const Process& process : state.processes) EXPECT_EQ(process.owner.pid, 0);
  });
}

TEST_F(Crash, ProcessesThatRaceToMakeAMachineGetOne) {
  for (int round = 0; round < 10; ++round) {
    const std::string directory = scratch_directory();
    ::setenv("NVML_SIM_STATE", directory.c_str(), 1);
    ::setenv("NVML_SIM_GPUS", "3xa30-24gb", 1);
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 4; ++i)
      children.push_back(std::make_unique<Child>([] {
        if (nvmlInit_v2() != NVML_SUCCESS) return 1;
        nvmlGpuInstance_t gi = nullptr;
        return make_gi(gi, 14) == NVML_SUCCESS ? 0 : 2;
      }));
    for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
    ::unsetenv("NVML_SIM_GPUS");
    ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
    EXPECT_EQ(instances(), 4);
    nvmlShutdown();
    std::filesystem::remove_all(directory);
  }
}

TEST_F(Crash, ADirectoryThatHoldsNoMachineIsRefusedInWords) {
  directory_ = scratch_directory();
  ::setenv("NVML_SIM_STATE", directory_.c_str(), 1);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
  EXPECT_NE(std::string(nvmlSimLastError()).find("nvml-sim-ctl init"), std::string::npos);
  FILE* file = std::fopen((directory_ + "/state").c_str(), "w");
  std::fputs("not a machine", file);
  std::fclose(file);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_UNKNOWN);
  EXPECT_NE(std::string(nvmlSimLastError()).find("not a machine of this version"), std::string::npos);
}

TEST_F(Crash, ADamagedMachineIsRefusedInWords) {
  directory_ = scratch_directory();
  ::setenv("NVML_SIM_STATE", directory_.c_str(), 1);
  MachineSpec spec;
  ASSERT_TRUE(Store::create(directory_, spec));
  ASSERT_TRUE(Store::open(directory_));
  FILE* file = std::fopen((directory_ + "/state").c_str(), "r+");
  std::fseek(file, long(sizeof(Header)), SEEK_SET);
  for (std::size_t i = 0; i < sizeof(State); ++i) std::fputc(0x5a, file);
  std::fclose(file);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_UNKNOWN);
  EXPECT_NE(std::string(nvmlSimLastError()).find("is damaged"), std::string::npos) << nvmlSimLastError();
}

TEST_F(Crash, WithoutADirectoryTheMachineIsPrivate) {
  ::setenv("NVML_SIM_GPUS", "2xh200-141gb", 1);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS) << nvmlSimLastError();
  ::unsetenv("NVML_SIM_GPUS");
  unsigned count = 0;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_STREQ(nvmlSimStateDirectory(), "");
  nvmlShutdown();
}

}  // namespace
}  // namespace smartmig::nvsim
