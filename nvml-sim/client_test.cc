// Programs that know nothing of this project: plain C clients through dlopen; and the control program.
#include <nlohmann/json.hpp>

#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class Clients : public MachineTest {
 protected:
  // Sanitized builds: the plain C programs must not meet a library whose runtime came second.
  static std::string client(const std::string& name) {
    return "LD_LIBRARY_PATH=" + std::string(NVML_SIM_BINARY_DIR) + " " + program(name);
  }
};

TEST_F(Clients, NvtopsCallSequence) {
  start("8xa100-40gb");
  const Slice slice = make_slice(14, 1);
  const auto job = occupy(slice.uuid, "bert-train-8", 3000);
  const Output out = run_program(client("nvml_client"));
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NE(out.text.find("8 GPUs"), std::string::npos);
  EXPECT_NE(out.text.find("GPU 7: NVIDIA A100-SXM4-40GB, 0000:3F:00.0"), std::string::npos) << out.text;
  EXPECT_NE(out.text.find("160.0 W of 400 W"), std::string::npos) << out.text;
  EXPECT_NE(out.text.find(fmt::format("on GPU instance {}: 3000 MiB", slice.id)), std::string::npos) << out.text;
}

TEST_F(Clients, TheMigToolsCallsOnEveryModel) {
  std::string gpus;
  for (const auto& model : Catalog::builtin().models()) gpus += (gpus.empty() ? "" : ",") + model->name();
  start(gpus);
  const Output out = run_program(client("nvml_client_mig") + " cycle");
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NE(out.text.find("MIG 3g.20gb at 4:4"), std::string::npos);
  const Output list = run_program(client("nvml_client_mig") + " list");
  EXPECT_EQ(list.code, 0) << list.text;
  EXPECT_NE(list.text.find("MIG 1g.10gb        id 15  free 4/4    9984 MiB   14 SM"), std::string::npos) << list.text;
}

TEST_F(Clients, TheMigToolsSetTheMode) {
  start("1xh200-141gb", "zero", false);
  const Output out = run_program(client("nvml_client_mig") + " mode on");
  EXPECT_EQ(out.code, 0);
  EXPECT_NE(out.text.find("GPU 0: MIG on, pending on"), std::string::npos) << out.text;
}

TEST_F(Clients, EveryPublicNameAnswersWhateverItsArguments) {
  start("2xh200-141gb");
  const std::string folder = std::string(SMARTMIG_SOURCE_DIR) + "/nvml-sim/";
  const Output out =
      run_program(client("nvml_client_names") + " " + folder + "names.txt " + folder + "nvml_functions.h");
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_NE(out.text.find("423 names, "), std::string::npos) << out.text;
}

// What the four ask, in their order: with MIG on and off, with jobs, on models with GPM and without.
TEST_F(Clients, TheCallSequencesOfNvitopHwlocGoNvmlAndSlurm) {
  start("2xh200-141gb,1xa100-40gb");
  const Slice slice = make_slice(k3g, 2), other = make_slice(k1g, 0, -1, 2);
  unsigned activation = 0;
  ASSERT_EQ(nvmlDeviceSetMigMode(board(1), NVML_DEVICE_MIG_DISABLE, reinterpret_cast<nvmlReturn_t*>(&activation)),
            NVML_SUCCESS);
  const auto job = occupy(slice.uuid, "bert-train-8", 3000), whole = occupy("1");
  const std::string sequences = client("nvml_client_sequences"),
                    minors = directory_ + "/proc/driver/nvidia-caps/mig-minors";
  const auto says = [&](const std::string& name, const std::vector<std::string>& wanted) {
    const Output out = run_program(sequences + " " + name + " " + minors);
    EXPECT_EQ(out.code, 0) << name << "\n" << out.text;
    for (const std::string& words : wanted)
      EXPECT_NE(out.text.find(words), std::string::npos) << name << " does not say " << words << "\n" << out.text;
  };
  says("nvitop", {"3000 of 71424 MiB", "MIG 0 NVIDIA H200 MIG 3g.71gb", "process on GPU instance -1",
                  fmt::format("process on GPU instance {}", slice.id)});
  says("hwloc", {"nvml2 NVIDIA A100-SXM4-40GB at 0000:17:00, PCIe 4 x16"});
  says("go-nvml", {"1 processes", "1215 MHz: 81 graphics clocks", "graphics 100 %", "no GPM"});
  says("slurm", {"/dev/nvidia1 NVIDIA H200, MIG off",
                 fmt::format("3g.70gb /dev/nvidia-caps/nvidia-cap{0},/dev/nvidia-caps/nvidia-cap{1}",
                             gpu_instance_minor(0, slice.id), compute_instance_minor(0, slice.id, 0)),
                 "1g.5gb /dev/nvidia-caps/"});
  EXPECT_EQ(run_program(sequences + " nothing").code, 2);
}

TEST_F(Clients, TheControlProgram) {
  directory_ = scratch_directory();
  const std::string ctl = program("nvml-sim-ctl"), node = directory_ + "/node";
  EXPECT_EQ(run_program(ctl).code, 2);
  EXPECT_EQ(run_program(ctl + " --help").code, 0);
  EXPECT_EQ(run_program(ctl + " show " + node).code, 1);
  EXPECT_EQ(run_program(ctl + " init " + node + " --gpus 2xnothing").code, 1);
  EXPECT_EQ(run_program(ctl + " init " + node + " --gpus 99xa100-40gb").code, 2);
  EXPECT_EQ(run_program(ctl + " init " + node + " --clock lunar").code, 2);
  ASSERT_EQ(run_program(ctl + " init " + node + " --gpus 2xh200-141gb --clock virtual --seed 5").code, 0);
  EXPECT_EQ(run_program(ctl + " init " + node).code, 2);  // there is one
  EXPECT_EQ(run_program(ctl + " sleep " + node + " --s 100").code, 0);
  EXPECT_EQ(run_program(ctl + " fault " + node + " ci-refused --count 2").code, 0);
  EXPECT_EQ(run_program(ctl + " fault " + node + " in-use-lag --ms 250 --gpu 1").code, 0);
  EXPECT_EQ(run_program(ctl + " fault " + node + " gpu-lost --gpu 1").code, 0);
  EXPECT_EQ(run_program(ctl + " fault " + node + " gpu-lost").code, 2);
  EXPECT_EQ(run_program(ctl + " fault " + node + " nonsense").code, 2);
  EXPECT_EQ(run_program(ctl + " fault " + node + " slow --gpu 9").code, 2);
  EXPECT_EQ(run_program(ctl + " fault " + node + " fail --code 0").code, 2);
  const auto shown = nlohmann::json::parse(run_program(ctl + " show --json " + node).text);
  EXPECT_EQ(shown["clock"], "virtual");
  EXPECT_EQ(shown["now_s"], 100.0);
  EXPECT_NEAR(shown["gpus"][0]["energy_j"].get<double>(), 8820, 0.01);  // idle at 88.2 W
  EXPECT_TRUE(shown["gpus"][1]["lost"]);
  EXPECT_EQ(shown["faults"].size(), 2u);
  EXPECT_EQ(shown["faults"][0]["call"], "nvmlGpuInstanceCreateComputeInstance");
  EXPECT_EQ(run_program(ctl + " clear " + node).code, 0);
  const Output text = run_program(ctl + " show " + node);
  EXPECT_EQ(text.text.find("fault"), std::string::npos) << text.text;
  EXPECT_EQ(text.text.find("LOST"), std::string::npos) << text.text;
  EXPECT_EQ(run_program(ctl + " reset " + node + " --gpu 0").code, 0);
  EXPECT_TRUE(std::filesystem::exists(node + "/controller.lock"));
}

TEST_F(Clients, AMonitorHoldsADeviceUntilItIsKilled) {
  start("1xa100-40gb");
  const Slice slice = make_slice(14, 1);
  Child monitor([&] {
    ::execl(program("nvml-sim-ctl").c_str(), "nvml-sim-ctl", "hold", directory_.c_str(), "--gpu", "0", nullptr);
    return 127;
  });
  nvmlReturn_t status = NVML_SUCCESS;
  for (int tries = 0; tries < 500; ++tries) {
    bool there = false;
    machine()->read([&](const State& state) { there = state.holders[0].owner.pid == monitor.pid(); });
    if (there) break;
    ::usleep(10000);
  }
  status = nvmlComputeInstanceDestroy(slice.ci);
  EXPECT_EQ(status, NVML_ERROR_IN_USE);
  monitor.kill();
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
}

}  // namespace
}  // namespace smartmig::nvsim
