// What the tests here share: a machine in a scratch directory that this process is attached to, child processes, and
// programs run to their end.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "machine_init.h"
#include "session.h"
#include "sim_api.h"

namespace smartmig::nvsim {

// Profile ids of the A100, as its driver gives them.
inline constexpr unsigned k1g = 19, k1g_media = 20, k2g = 14, k3g = 9, k4g = 5, k7g = 0;

inline std::string scratch_directory() {
  std::string name = ::testing::TempDir() + "nvml_sim_XXXXXX";
  return ::mkdtemp(name.data());
}

inline int wait_for_ever() {
  for (;;) ::pause();
}

// A child process; its function's value is its exit code. Killed and awaited at the latest by the destructor.
class Child {
 public:
  explicit Child(const std::function<int()>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) ::abort();
    std::fflush(nullptr);  // or the child would print it again
    pid_ = ::fork();
    if (pid_ == 0) {
      ready_ = ends[1];
      current() = this;
      ::_exit(body());
    }
    ::close(ends[1]);
    ready_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(ready_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }
  static void ready() {  // in the child: lets await_ready() return
    if (::write(current()->ready_, "x", 1) != 1) ::_exit(99);
  }
  bool await_ready() {
    char byte;
    return ::read(ready_, &byte, 1) == 1;
  }
  int wait() {  // exit code, or 1000 + signal
    if (pid_ <= 0) return code_;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  static Child*& current() {
    static Child* only = nullptr;
    return only;
  }
  int pid_ = 0, ready_ = -1, code_ = -1;
};

struct Output {
  int code = -1;
  std::string text;  // both streams
};
inline Output run_program(const std::string& command) {
  Output out;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) out.text.append(buffer, got);
  const int status = ::pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return out;
}
inline std::string program(const std::string& name) { return std::string(NVML_SIM_BINARY_DIR) + "/" + name; }

class MachineTest : public ::testing::Test {
 protected:
  void TearDown() override {
    while (machine()) nvmlShutdown();
    ::unsetenv("NVML_SIM_STATE");
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::unsetenv("NVML_SIM_UNPRIVILEGED");
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  void start(const std::string& gpus, const std::string& clock = "zero", bool mig = true, bool require_root = false,
             const std::string& power = "auto") {
    directory_ = scratch_directory();
    MachineSpec spec;
    spec.gpus = gpus;
    spec.clock = clock;
    spec.mig = mig;
    spec.require_root = require_root;
    spec.power = power;
    spec.seed = 7;
    const auto made = Store::create(directory_, spec);
    ASSERT_TRUE(made) << made.error().what;
    ::setenv("NVML_SIM_STATE", directory_.c_str(), 1);
    ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS) << nvmlSimLastError();
  }

  static nvmlDevice_t board(unsigned index = 0) {
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &device), NVML_SUCCESS);
    return device;
  }
  static nvmlReturn_t make_gi(nvmlGpuInstance_t& gi, unsigned profile_id, int start = -1, unsigned gpu = 0) {
    if (start < 0) return nvmlDeviceCreateGpuInstance(board(gpu), profile_id, &gi);
    nvmlGpuInstancePlacement_t placements[16], at{unsigned(start), 0};
    unsigned count = 16;
    const nvmlReturn_t status =
        nvmlDeviceGetGpuInstancePossiblePlacements_v2(board(gpu), profile_id, placements, &count);
    if (status != NVML_SUCCESS) return status;
    at.size = placements[0].size;
    return nvmlDeviceCreateGpuInstanceWithPlacement(board(gpu), profile_id, &at, &gi);
  }
  struct Slice {
    nvmlGpuInstance_t gi = nullptr;
    nvmlComputeInstance_t ci = nullptr;
    nvmlDevice_t device = nullptr;
    std::string uuid;
    unsigned id = 0;
  };
  // A GPU instance with the compute instance that fills it.
  static Slice make_slice(unsigned profile_id, unsigned ci_profile, int start = -1, unsigned gpu = 0) {
    Slice slice;
    EXPECT_EQ(make_gi(slice.gi, profile_id, start, gpu), NVML_SUCCESS);
    EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(slice.gi, ci_profile, &slice.ci), NVML_SUCCESS);
    nvmlComputeInstanceInfo_t info{};
    EXPECT_EQ(nvmlComputeInstanceGetInfo_v2(slice.ci, &info), NVML_SUCCESS);
    slice.device = info.device;
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    EXPECT_EQ(nvmlDeviceGetUUID(slice.device, uuid, sizeof uuid), NVML_SUCCESS);
    slice.uuid = uuid;
    EXPECT_EQ(nvmlDeviceGetGpuInstanceId(slice.device, &slice.id), NVML_SUCCESS);
    return slice;
  }
  static unsigned start_of(nvmlGpuInstance_t gi) {
    nvmlGpuInstanceInfo_t info{};
    EXPECT_EQ(nvmlGpuInstanceGetInfo(gi, &info), NVML_SUCCESS);
    return info.placement.start;
  }
  static int instances(unsigned gpu = 0) {
    int count = 0;
    machine()->read([&](const State& state) {
      for (const GpuInstance& gi : state.gpus[gpu].gpu_instances) count += gi.generation != 0;
    });
    return count;
  }
  static double joules(unsigned gpu = 0) {
    unsigned long long mj = 0;
    EXPECT_EQ(nvmlDeviceGetTotalEnergyConsumption(board(gpu), &mj), NVML_SUCCESS);
    return double(mj) / 1000;
  }
  static double watts(unsigned gpu = 0) {
    unsigned mw = 0;
    EXPECT_EQ(nvmlDeviceGetPowerUsage(board(gpu), &mw), NVML_SUCCESS);
    return mw / 1000.0;
  }
  // A child registered on the slice until it is killed.
  static std::unique_ptr<Child> occupy(const std::string& uuid, const std::string& kind = "",
                                       unsigned long long mib = 0) {
    auto child = std::make_unique<Child>([&] {
      if (nvmlSimRegisterProcess(uuid.c_str(), kind.c_str()) != NVML_SUCCESS) return 1;
      if (nvmlSimSetMemory(mib << 20) != NVML_SUCCESS) return 2;
      Child::ready();
      return wait_for_ever();
    });
    EXPECT_TRUE(child->await_ready());
    return child;
  }
  std::string directory_;
};

}  // namespace smartmig::nvsim
