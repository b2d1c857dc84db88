#include "live/emulation/emulated_machine.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "support/sim_world.h"

namespace smartmig {
namespace {

EmulatedMachine::Options options_in(const TempDir& dir, const char* boards, const char* clock = "zero") {
  EmulatedMachine::Options options;
  options.boards = boards;
  options.directory = dir.path() + "/deep/machine";
  options.clock = clock;
  return options;
}

class EmulatedMachineTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("NVML_SIM_STATE"); }
};

TEST_F(EmulatedMachineTest, HasNoSoftSlices) {
  const TempDir dir;
  const auto refused = EmulatedMachine::open(options_in(dir, "1xh200-141gb-soft"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("write h200-141gb"), std::string::npos) << refused.error().what;
}

TEST_F(EmulatedMachineTest, SurvivesItsMakerAndRefusesToBecomeAnother) {
  const TempDir dir;
  std::string uuid;
  {
    const auto machine = EmulatedMachine::open(options_in(dir, "2xa100-40gb"));
    ASSERT_TRUE(machine) << machine.error().what;
    EXPECT_TRUE(machine->made());
    NvmlDriver::Options driving;
    driving.library = machine->library();
    driving.lock_dir = driving.state_dir = dir.path();
    driving.control = true;
    const auto driver = NvmlDriver::open(std::move(driving));
    ASSERT_TRUE(driver) << driver.error().what;
    uuid = (*driver)->create(GpuId{1}, PlacementId{0})->uuid;
  }
  {
    const auto again = EmulatedMachine::open(options_in(dir, "1xa100-40gb,1xa100-40gb"));  // the same, said otherwise
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_FALSE(again->made());
    NvmlDriver::Options reading;
    reading.library = again->library();
    EXPECT_EQ((*NvmlDriver::open(std::move(reading)))->read(GpuId{1})->instances.at(0).uuid, uuid);
  }
  const auto other = EmulatedMachine::open(options_in(dir, "8xa100-40gb"));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("of 2xa100-40gb, not 8xa100-40gb"), std::string::npos) << other.error().what;
  const auto faster = EmulatedMachine::open(options_in(dir, "2xa100-40gb", "virtual"));
  ASSERT_FALSE(faster);
  EXPECT_NE(faster.error().what.find("zero clock, not a virtual one"), std::string::npos) << faster.error().what;
}

TEST_F(EmulatedMachineTest, IsMadeAnewAfterAStartOfTheHost) {
  const TempDir dir;
  ASSERT_TRUE(EmulatedMachine::open(options_in(dir, "2xa100-40gb")));
  {
    std::fstream file(dir.path() + "/deep/machine/state", std::ios::in | std::ios::out | std::ios::binary);
    std::string head(256, 0);
    file.read(head.data(), 256);
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    std::string id;
    boot >> id;
    const auto at = head.find(id);
    ASSERT_NE(at, head.npos);
    file.seekp(std::streamoff(at));
    file << "xxxxxxxx";
  }
  const auto anew = EmulatedMachine::open(options_in(dir, "3xa100-40gb"));
  ASSERT_TRUE(anew) << anew.error().what;
  EXPECT_TRUE(anew->made());
}

TEST_F(EmulatedMachineTest, BadWordsAreErrors) {
  const TempDir dir;
  EXPECT_FALSE(EmulatedMachine::open(options_in(dir, "2xnothing")));
  EXPECT_FALSE(EmulatedMachine::open(options_in(dir, "2xa100-40gb", "slow")));
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/deep")) << "nothing was made";
  auto nowhere = options_in(dir, "2xa100-40gb");
  nowhere.directory = "";
  EXPECT_FALSE(EmulatedMachine::open(nowhere));
  nowhere.directory = "/proc/nowhere";
  EXPECT_FALSE(EmulatedMachine::open(nowhere));
  ::setenv("SMARTMIG_NVML_SIM", "/nowhere", 1);
  const auto found = find_nvml_sim();
  ::unsetenv("SMARTMIG_NVML_SIM");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().what.find("SMARTMIG_NVML_SIM=/nowhere"), std::string::npos);
}

TEST_F(EmulatedMachineTest, AChildSeesItThroughItsEnvironment) {
  const TempDir dir;
  const auto machine = EmulatedMachine::open(options_in(dir, "5xa100-40gb"));
  ASSERT_TRUE(machine) << machine.error().what;
  const auto environment = machine->environment("/opt/lib");
  ASSERT_EQ(environment.size(), 2u);
  EXPECT_EQ(environment[0].second, machine->directory());
  EXPECT_TRUE(environment[1].second.ends_with(":/opt/lib"));
  std::string command = "env -i";
  for (const auto& [name, value] : environment) command += fmt::format(" {}={}", name, value);
  const std::string library_dir = environment[1].second.substr(0, environment[1].second.find(':'));
  EXPECT_TRUE(std::filesystem::exists(library_dir + "/libnvidia-ml.so.1"));
  // A program of the build that opens libnvidia-ml.so.1 by its name, where the build has it.
  if (const std::string client = library_dir + "/nvml_client"; std::filesystem::exists(client)) {
    FILE* pipe = ::popen((command + " " + client + " 2>&1").c_str(), "r");
    std::string text(4096, 0);
    text.resize(std::fread(text.data(), 1, text.size(), pipe));
    EXPECT_EQ(::pclose(pipe), 0) << text;
    EXPECT_NE(text.find("5 "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace smartmig
