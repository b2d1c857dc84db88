// nvml-sim-ctl run: what a program finds below /proc, /sys and /dev, as root and as an ordinary user.
#include <grp.h>

#include <fstream>

#include "driver_files.h"
#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class Run : public MachineTest {
 protected:
  static std::string run(const std::string& directory, const std::string& shell) {
    return program("nvml-sim-ctl") + " run " + directory + " -- sh -c '" + shell + "'";
  }
  // Why no program can be run so here; empty where one can.
  static std::string refusal(const std::string& prefix = "") {
    const Output out = run_program(prefix + program("nvml-sim-ctl") + " run --gpus a100-40gb -- true");
    return out.code == 0 && out.text.empty() ? "" : "the kernel refuses: " + out.text;
  }
};

TEST_F(Run, AProgramFindsTheBoardsInTheirPlaces) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  start("2xh200-141gb,1xa100-40gb");
  const Slice slice = make_slice(k3g, 2);
  const Output out =
      run_program(run(directory_,
                      "grep -c \"^nvidia \" /proc/modules; grep nvidia-caps /proc/devices;"
                      "cd /sys/bus/pci/devices; cat 0000:07:00.0/device 0000:17:00.0/device 0000:07:00.0/class;"
                      "basename $(readlink -f 0000:0f:00.0/driver); wc -c <0000:07:00.0/config;"
                      "grep Minor /proc/driver/nvidia/gpus/0000:17:00.0/information;"
                      "ls -d /proc/driver/nvidia/capabilities/gpu0/mig/gi*/ci0/access;"
                      "cat /proc/driver/nvidia-caps/mig-minors | head -n 1;"
                      "test -e /dev/nvidia2 && test -e /dev/nvidia-caps/nvidia-cap3 && test ! -e /dev/nvidia3 && "
                      "echo nodes; echo nothing >/dev/null; exit 9"));
  EXPECT_EQ(out.code, 9) << out.text;
  EXPECT_EQ(out.text.substr(0, 2), "1\n") << out.text;
  EXPECT_NE(out.text.find(" nvidia-caps\n0x2335\n0x20b0\n0x030200\nnvidia\n256\nDevice Minor: \t 2\n"),
            std::string::npos)
      << out.text;
  EXPECT_NE(out.text.find(fmt::format("/gi{}/ci0/access\nconfig 1\nnodes\n", slice.id)), std::string::npos) << out.text;
}

TEST_F(Run, CapabilitiesFollowTheInstances) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  start("1xa100-40gb");
  const std::string folder = directory_ + "/proc/driver/nvidia/capabilities/gpu0/mig";
  const Slice before = make_slice(k1g, 0);
  EXPECT_FALSE(std::filesystem::exists(folder));  // nobody has asked for them
  ASSERT_EQ(run_program(run(directory_, "true")).code, 0);
  const std::string kept = fmt::format("{}/gi{}/ci0/access", folder, before.id);
  EXPECT_TRUE(std::filesystem::exists(kept));
  const Slice slice = make_slice(k3g, 2);
  std::ifstream access(fmt::format("{}/gi{}/access", folder, slice.id));
  std::string line;
  std::getline(access, line);
  EXPECT_EQ(line, fmt::format("DeviceFileMinor: {}", gpu_instance_minor(0, slice.id)));
  ASSERT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}/gi{}/ci0", folder, slice.id)));
  ASSERT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_SUCCESS);
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}/gi{}", folder, slice.id)));
  EXPECT_TRUE(std::filesystem::exists(kept));
  ASSERT_EQ(nvmlSimResetGpu(0), NVML_SUCCESS);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Run, AMachineMadeAnewShowsItsOwnBoards) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  directory_ = scratch_directory();
  const std::string ctl = program("nvml-sim-ctl") + " ", node = directory_ + "/node";
  for (const int boards : {3, 1}) {
    ASSERT_EQ(run_program(fmt::format("{} init {} --force --gpus {}xa100-40gb", ctl, node, boards)).code, 0);
    EXPECT_EQ(
        run_program(run(node, "cd /proc/driver/nvidia; ls gpus capabilities | grep -c ^gpu[0-9]; ls gpus | wc -l"))
            .text,
        fmt::format("{0}\n{0}\n", boards));
  }
}

TEST_F(Run, WhatIsRefusedReplacesNothing) {
  directory_ = scratch_directory();
  const std::string ctl = program("nvml-sim-ctl") + " ", node = directory_ + "/node";
  ASSERT_EQ(run_program(ctl + "init " + node + " --gpus 2xa100-40gb").code, 0);
  const Output refused = run_program(ctl + "init " + node + " --force --gpus 2xnothing");
  EXPECT_NE(refused.code, 0) << refused.text;
  EXPECT_NE(run_program(ctl + "show " + node).text.find("a100-40gb"), std::string::npos) << "the machine is gone";
}

TEST_F(Run, NobodyElseSeesIt) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  const bool there = std::filesystem::exists("/sys/bus/pci/devices/0000:07:00.0");
  start("1xa100-40gb");
  ASSERT_EQ(run_program(run(directory_, "test -d /sys/bus/pci/devices/0000:07:00.0")).code, 0);
  EXPECT_EQ(std::filesystem::exists("/sys/bus/pci/devices/0000:07:00.0"), there);
}

TEST_F(Run, TheLibraryIsFoundByBothNames) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  start("1xa100-40gb");
  const Output out =
      run_program(program("nvml-sim-ctl") + " run " + directory_ + " -- " + program("nvml_client_mig") + " list");
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/lib/libnvidia-ml.so"));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/lib/libnvidia-ml.so.1"));
}

TEST_F(Run, WithoutAMachineOneIsMadeAndRemoved) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  const Output out = run_program(
      program("nvml-sim-ctl") +
      " run --gpus 3xa30-24gb -- sh -c 'ls /proc/driver/nvidia/gpus | wc -l; echo $NVML_SIM_STATE; kill -9 $$'");
  EXPECT_EQ(out.code, 128 + SIGKILL) << out.text;
  EXPECT_EQ(out.text.substr(0, 2), "3\n") << out.text;
  const std::string directory = out.text.substr(2, out.text.size() - 3);
  EXPECT_NE(directory.find("nvml-sim-"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_EQ(run_program(program("nvml-sim-ctl") + " run --gpus 2xnothing -- true").code, 1);
}

TEST_F(Run, WrongCalls) {
  const std::string ctl = program("nvml-sim-ctl");
  EXPECT_EQ(run_program(ctl + " run").code, 2);
  EXPECT_EQ(run_program(ctl + " run --").code, 2);
  EXPECT_EQ(run_program(ctl + " run a b -- true").code, 2);
  EXPECT_EQ(run_program(ctl + " show /tmp -- true").code, 2);
  EXPECT_EQ(run_program(ctl + " run /nothing/here -- true").code, 1);
}

// The program stays who it is, has no capabilities, and finds plain files where it may make no device nodes.
TEST_F(Run, AnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "this test is not run by root, so the others are of an ordinary user";
  const std::string as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  if (run_program(as_nobody + "test -x " + program("nvml-sim-ctl")).code != 0)
    GTEST_SKIP() << "user 65534 may not run " << program("nvml-sim-ctl");
  if (const std::string why = refusal(as_nobody); !why.empty()) GTEST_SKIP() << why;
  const Output out =
      run_program(as_nobody + program("nvml-sim-ctl") +
                  " run --gpus 2xa100-40gb -- sh -c 'id -u; grep CapEff /proc/self/status; cat "
                  "/sys/bus/pci/devices/0000:0f:00.0/vendor; grep -c \"^nvidia \" /proc/modules; test -e "
                  "/dev/nvidia-caps/nvidia-cap3 && test -w /dev/nvidia1 && test -c /dev/null && echo nodes'");
  EXPECT_EQ(out.text, "65534\nCapEff:\t0000000000000000\n0x10de\n1\nnodes\n");
}

}  // namespace
}  // namespace smartmig::nvsim
