// Any command is busy on its emulated slice from before it runs until it ends, whoever runs it.
#include <dlfcn.h>
#include <nvml_abi.h>
#include <pwd.h>

#include "support/process_runner_harness.h"

namespace smartmig {
namespace {

// The library as a client opens it, on a machine of its own.
class ProcessEmulatedTest : public ProcessRunnerTest {
 protected:
  void SetUp() override {
    ProcessRunnerTest::SetUp();
    if (IsSkipped()) return;
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    options_.sim_library = (here / "nvml-sim" / "libnvidia-ml.so.1").string();
    if (!std::filesystem::exists(options_.sim_library)) GTEST_SKIP() << "no " << options_.sim_library;
    options_.sim_state = spool_.path() + "/node";
    ::chmod(spool_.path().c_str(), 0755);
    ::setenv("NVML_SIM_STATE", options_.sim_state.c_str(), 1);
    ::setenv("NVML_SIM_GPUS", "1xa100-40gb", 1);
    ::setenv("NVML_SIM_MIG", "off", 1);
    library_ = ::dlopen(options_.sim_library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library_) << ::dlerror();
    ASSERT_EQ(call<decltype(nvmlInit_v2)>("nvmlInit_v2")(), NVML_SUCCESS);
    ASSERT_EQ(call<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2")(0, &board_), NVML_SUCCESS);
    char uuid[96] = {};
    ASSERT_EQ(call<decltype(nvmlDeviceGetUUID)>("nvmlDeviceGetUUID")(board_, uuid, sizeof uuid), NVML_SUCCESS);
    device_ = uuid;
    reopen();
  }
  void TearDown() override {
    if (library_) {
      call<decltype(nvmlShutdown)>("nvmlShutdown")();
      ::dlclose(library_);
    }
    for (const char* name : {"NVML_SIM_STATE", "NVML_SIM_GPUS", "NVML_SIM_MIG"}) ::unsetenv(name);
  }
  template <class F>
  F* call(const char* name) {
    return reinterpret_cast<F*>(::dlsym(library_, name));
  }
  std::vector<unsigned> busy_pids() {
    unsigned count = 32;
    nvmlProcessInfo_t infos[32];
    const nvmlReturn_t status = call<decltype(nvmlDeviceGetComputeRunningProcesses_v3)>(
        "nvmlDeviceGetComputeRunningProcesses_v3")(board_, &count, infos);
    std::vector<unsigned> pids;
    for (unsigned i = 0; status == NVML_SUCCESS && i < count; ++i) pids.push_back(infos[i].pid);
    return pids;
  }
  unsigned milliwatts() {
    unsigned mw = 0;
    call<decltype(nvmlDeviceGetPowerUsage)>("nvmlDeviceGetPowerUsage")(board_, &mw);
    return mw;
  }
  Launch emulated(std::uint64_t job, const std::string& text) {
    Launch launch = shell(job, text);
    launch.device = device_;
    launch.emulated_kind = "bert-train-8";
    return launch;
  }

  void* library_ = nullptr;
  nvmlDevice_t board_ = nullptr;
  std::string device_;
};

TEST_F(ProcessEmulatedTest, APlainCommandIsBusyWhileItRuns) {
  const unsigned idle = milliwatts();
  Launch launch = emulated(1, "echo $$ $NVML_SIM_STATE; exec sleep 1000");
  if (const passwd* nobody = ::getpwnam("nobody"); ::geteuid() == 0 && nobody) {
    launch.uid = nobody->pw_uid;
    launch.gid = nobody->pw_gid;
  }
  start(launch);
  ASSERT_TRUE(wait_until([&] { return log({1, 1}).ends_with("\n"); }));
  const std::string text = log({1, 1});
  EXPECT_NE(text.find(options_.sim_state), std::string::npos);
  const unsigned pid = unsigned(std::atoi(text.c_str()));
  ASSERT_TRUE(wait_until([&] { return text_of(fmt::format("/proc/{}/comm", pid)) == "sleep\n"; }));
  EXPECT_EQ(busy_pids(), std::vector<unsigned>{pid});
  EXPECT_GT(milliwatts(), idle);
  ASSERT_TRUE(runner_->stop({1, 1}, SIGTERM, Time(5'000'000)));
  EXPECT_EQ(wait_for({1, 1}).signal, SIGTERM);
  EXPECT_TRUE(busy_pids().empty());
  EXPECT_EQ(milliwatts(), idle);
}

TEST_F(ProcessEmulatedTest, ASliceThatIsGoneIsNamed) {
  Launch launch = emulated(1, "true");
  launch.device = "MIG-00000000-0000-0000-0000-000000000000";
  const AttemptExit exit = run(launch);
  EXPECT_TRUE(exit.never_started);
  EXPECT_TRUE(exit.words.starts_with("cannot take the emulated slice MIG-0000")) << exit.words;
  options_.sim_library.clear();
  reopen();
  launch.id.job = 2;
  EXPECT_EQ(runner_->start(launch).error().code, Error::kInvalid);
}

TEST_F(ProcessEmulatedTest, TheEmulatedJobCopesWithBeingRegistered) {
  const std::string program =
      std::filesystem::path(options_.sim_library).parent_path().string() + "/smartmig-emulated-job";
  if (::access(program.c_str(), X_OK) != 0) GTEST_SKIP() << "no " << program;
  Launch launch = emulated(1, "exec " + program + " --kind bert-train-8 --work-s 0.2 --steps 2");
  launch.slice = {{"CUDA_VISIBLE_DEVICES", device_}};
  const AttemptExit exit = run(launch);
  EXPECT_EQ(exit.code, 0) << exit.words << "\n" << log({1, 1});
  EXPECT_NE(log({1, 1}).find("step 2/2"), std::string::npos) << log({1, 1});
}

}  // namespace
}  // namespace smartmig
