#include "live/gpu/mps_driver.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/gpu/reshaper.h"
#include "support/fake_driver.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

// Behaves as nvidia-cuda-mps-control towards whoever starts it: a daemon is a file in its pipe directory, servers and
// clients are what the test writes there.
constexpr const char* kStub = R"(#!/bin/sh
pipe=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -d ]; then
  [ -f "$pipe/daemon" ] && exit 1
  echo "$CUDA_VISIBLE_DEVICES $*" > "$pipe/daemon"
  exit 0
fi
[ -f "$pipe/daemon" ] || { echo "Cannot find MPS control daemon process"; exit 1; }
read -r command argument
echo "$command" >> "$pipe/questions"
case $command in
  get_server_list) [ -f "$pipe/clients" ] && echo 4000; exit 0 ;;
  get_client_list) cat "$pipe/clients" ;;
  quit) rm "$pipe/daemon" ;;
  *) exit 1 ;;
esac
)";

struct MpsTest : ::testing::Test {
  MpsTest() {
    const std::string stub = dir.file("control", kStub);
    ::chmod(stub.c_str(), 0755);
    options.control = stub;
    options.state_dir = dir.path() + "/state";
    options.pipe_root = dir.path() + "/mps";
    options.proc_root = dir.path() + "/proc";
    fake = std::move(*FakeDriver::open("1xh200-141gb", {"", false, false, false, {}}));
    driver = std::move(*MpsDriver::open(fake, options));
    board = *driver->read(GpuId{0});
  }
  PlacementId place(const char* text) { return *parse_layout(*board.model, text)->begin(); }
  std::string pipe() const { return dir.path() + "/mps/" + board.uuid + "/pipe"; }
  void client(std::uint32_t pid, const std::string& slice) {
    std::ofstream(pipe() + "/clients", std::ios::app) << pid << "\n";
    dir.file(fmt::format("proc/{}/comm", pid), "trainer\n");
    dir.file(fmt::format("proc/{}/environ", pid),
             std::string("A=b\0SMARTMIG_SLICE=1g@0\0SMARTMIG_DEVICE=", 40) + slice + std::string("\0", 1));
  }
  TempDir dir;
  MpsDriver::Options options;
  std::shared_ptr<FakeDriver> fake;
  std::unique_ptr<MpsDriver> driver;
  GpuBoard board;
};

TEST_F(MpsTest, SlicesAreBooksAndTheDaemonFollowsThem) {
  EXPECT_FALSE(driver->isolated());
  ASSERT_EQ(board.notes.size(), 1u);
  EXPECT_NE(board.notes[0].find("not isolated"), std::string::npos);
  const auto made = driver->create(GpuId{0}, place("3g@4"));
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE(std::filesystem::exists(pipe() + "/daemon"));
  EXPECT_FALSE(driver->create(GpuId{0}, place("1g@5"))) << "the same rules of overlap";
  const auto second = driver->create(GpuId{0}, place("1g@0"));
  ASSERT_TRUE(second);
  EXPECT_NE(made->uuid, second->uuid);
  driver = std::move(*MpsDriver::open(fake, options));
  EXPECT_EQ(driver->read(GpuId{0})->layout.size(), 2) << "the books survive a restart";
  ASSERT_TRUE(driver->destroy(GpuId{0}, *made));
  EXPECT_TRUE(std::filesystem::exists(pipe() + "/daemon"));
  ASSERT_TRUE(driver->destroy(GpuId{0}, *second));
  EXPECT_FALSE(std::filesystem::exists(pipe() + "/daemon")) << "stopped with the last slice";
  EXPECT_FALSE(driver->destroy(GpuId{0}, *second));
}

TEST_F(MpsTest, ChildGetsItsLimits) {
  const auto made = driver->create(GpuId{0}, place("3g@4"));
  ASSERT_TRUE(made);
  const auto environment = driver->environment(GpuId{0}, *made, ::getuid());
  ASSERT_TRUE(environment) << environment.error().what;
  std::map<std::string, std::string> e(environment->begin(), environment->end());
  EXPECT_EQ(e["CUDA_VISIBLE_DEVICES"], board.uuid);
  EXPECT_EQ(e["CUDA_MPS_PIPE_DIRECTORY"], pipe());
  EXPECT_EQ(e["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "46");  // 60 of 132 SMs
  EXPECT_EQ(e["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=71424M");
  options.overlap = 2;
  driver = std::move(*MpsDriver::open(fake, options));
  const auto wider = driver->environment(GpuId{0}, *made, ::getuid());
  ASSERT_TRUE(wider) << wider.error().what;
  std::map<std::string, std::string> w(wider->begin(), wider->end());
  EXPECT_EQ(w["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "91");  // 120 of 132
  EXPECT_EQ(w["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=71424M");
  EXPECT_EQ(e["SMARTMIG_DEVICE"], made->uuid);
}

TEST_F(MpsTest, HalvesOfTheSmallestSlice) {
  options.overlap = 7;
  options.halves = true;
  driver = std::move(*MpsDriver::open(fake, options));
  board = *driver->read(GpuId{0});
  EXPECT_EQ(board.model->name(), "h200-141gb-soft");
  const auto one = driver->create(GpuId{0}, place("1g.8gb@0")), other = driver->create(GpuId{0}, place("1g.8gb@1"));
  ASSERT_TRUE(one && other);
  EXPECT_FALSE(driver->create(GpuId{0}, place("1g.18gb@0")));
  const auto environment = driver->environment(GpuId{0}, *other, ::getuid());
  ASSERT_TRUE(environment) << environment.error().what;
  std::map<std::string, std::string> e(environment->begin(), environment->end());
  EXPECT_EQ(e["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "85");  // 7 x 16 of 132 SMs
  EXPECT_EQ(e["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=8192M");
  options.halves = false;
  driver = std::move(*MpsDriver::open(fake, options));
  const GpuBoard again = *driver->read(GpuId{0});
  EXPECT_EQ(again.model->name(), "h200-141gb-soft") << "slices keep the geometry they were made in";
  EXPECT_EQ(again.layout.size(), 2);
  ASSERT_TRUE(driver->destroy(GpuId{0}, *one));
  ASSERT_TRUE(driver->destroy(GpuId{0}, *other));
  EXPECT_EQ(driver->read(GpuId{0})->model->name(), "h200-141gb-soft") << "until the driver is opened again";
  driver = std::move(*MpsDriver::open(fake, options));
  EXPECT_EQ(driver->read(GpuId{0})->model->name(), "h200-141gb");
}

TEST_F(MpsTest, WhereNothingRunsTheBookIsWrittenAnew) {
  const auto made = driver->create(GpuId{0}, place("1g@3"));
  ASSERT_TRUE(made);
  client(5001, made->uuid);
  options.halves = options.nothing_runs = true;
  driver = std::move(*MpsDriver::open(fake, options));
  EXPECT_EQ(driver->read(GpuId{0})->model->name(), "h200-141gb") << "a client is in a slice, whatever the owner thinks";
  std::filesystem::remove(pipe() + "/clients");
  driver = std::move(*MpsDriver::open(fake, options));
  board = *driver->read(GpuId{0});
  EXPECT_EQ(board.model->name(), "h200-141gb-soft");
  ASSERT_EQ(board.instances.size(), 1u);
  EXPECT_EQ(slice_name(*board.model, board.instances[0].placement), "1g.18gb@6") << "the same memory";
  EXPECT_EQ(board.instances[0].uuid, made->uuid);
  ASSERT_TRUE(driver->create(GpuId{0}, place("1g.8gb@0")));
  options.halves = false;
  driver = std::move(*MpsDriver::open(fake, options));
  board = *driver->read(GpuId{0});
  EXPECT_EQ(board.model->name(), "h200-141gb");
  ASSERT_EQ(board.instances.size(), 1u) << "there are no halves any more";
  EXPECT_EQ(slice_name(*board.model, board.instances[0].placement), "1g.18gb@3");
}

TEST_F(MpsTest, SlicesMadeBeforeThereWereHalvesStay) {
  const auto made = driver->create(GpuId{0}, place("1g@3"));
  ASSERT_TRUE(made);
  options.halves = true;
  driver = std::move(*MpsDriver::open(fake, options));
  const GpuBoard kept = *driver->read(GpuId{0});
  EXPECT_EQ(kept.model->name(), "h200-141gb");
  EXPECT_TRUE(kept.layout.contains(made->placement));
}

TEST_F(MpsTest, PercentagesGiveAtLeastTheSmsOfTheProfile) {
  for (const auto& model : Catalog::builtin().models())
    for (std::size_t i = 0; i < model->profiles().size(); ++i) {
      const int percent = MpsDriver::thread_percentage(*model, int(i), 1),
                twice = MpsDriver::thread_percentage(*model, int(i), 2);
      EXPECT_GE(twice, percent);
      EXPECT_LE(twice, std::min(100, 2 * percent));
      EXPECT_GE(percent, 1);
      EXPECT_LE(percent, 100);
      if (model->spec().sms > 0 && model->profiles()[i].sms > 0) {
        EXPECT_GE(percent * model->spec().sms, 100 * model->profiles()[i].sms) << model->name();
      }
    }
}

TEST_F(MpsTest, BusySliceStaysAndOneUserAtATime) {
  const auto made = driver->create(GpuId{0}, place("3g@4")), other = driver->create(GpuId{0}, place("3g@0"));
  ASSERT_TRUE(made && other);
  client(5001, made->uuid);
  const auto running = driver->processes(GpuId{0});
  ASSERT_TRUE(running);
  ASSERT_EQ(running->size(), 1u);
  EXPECT_EQ((*running)[0].gpu_instance, made->gpu_instance);
  EXPECT_EQ((*running)[0].name, "trainer");
  const auto refused = driver->destroy(GpuId{0}, *made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy);
  EXPECT_TRUE(driver->environment(GpuId{0}, *other, ::getuid()));
  const auto stranger = driver->environment(GpuId{0}, *other, ::getuid() + 1);
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().what.find("one user at a time"), std::string::npos);
  options.multi_user = true;
  driver = std::move(*MpsDriver::open(fake, options));
  EXPECT_TRUE(driver->environment(GpuId{0}, *other, ::getuid() + 1));
}

TEST_F(MpsTest, JobsOfOneUserStartWithoutAQuestion) {
  const auto made = driver->create(GpuId{0}, place("3g@4")), other = driver->create(GpuId{0}, place("3g@0"));
  ASSERT_TRUE(made && other);
  dir.file("mps/" + board.uuid + "/pipe/nvidia-cuda-mps-control.pid", std::to_string(::getpid()));
  const auto questions = [&] {
    std::ifstream file(pipe() + "/questions");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  client(5001, made->uuid);
  ASSERT_TRUE(driver->environment(GpuId{0}, *made, ::getuid()));
  const auto asked = questions();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver->environment(GpuId{0}, *other, ::getuid()));
  EXPECT_EQ(questions(), asked);
  EXPECT_FALSE(driver->environment(GpuId{0}, *other, ::getuid() + 1)) << "another's client is there";
  EXPECT_GT(questions(), asked);
  std::filesystem::remove(pipe() + "/clients");
  ASSERT_TRUE(driver->environment(GpuId{0}, *other, ::getuid() + 1));
  client(5002, other->uuid);  // as the test's user: not the one whom the driver let in
  ASSERT_TRUE(driver->processes(GpuId{0}));
  EXPECT_FALSE(driver->environment(GpuId{0}, *other, ::getuid() + 1)) << "a sample has seen a stranger";
}

TEST_F(MpsTest, ControlDaemonThatIsGoneIsStartedAgain) {
  ASSERT_TRUE(driver->create(GpuId{0}, place("3g@4")));
  ASSERT_TRUE(driver->health(GpuId{0}));
  std::filesystem::remove(pipe() + "/daemon");
  const auto healed = driver->health(GpuId{0});
  EXPECT_TRUE(healed) << healed.error().what;
  EXPECT_TRUE(std::filesystem::exists(pipe() + "/daemon"));
  std::filesystem::remove(pipe() + "/daemon");
  std::filesystem::remove(options.control);
  EXPECT_FALSE(driver->health(GpuId{0})) << "no program to start it with";
}

TEST_F(MpsTest, ClientsBringTheMemoryThatTheBoardKnows) {
  const auto made = driver->create(GpuId{0}, place("3g@4"));
  ASSERT_TRUE(made);
  client(5001, made->uuid);
  EXPECT_EQ((*driver->processes(GpuId{0}))[0].memory_mib, 0);
  ASSERT_TRUE(fake->start_process(GpuId{0}, kNoPlacement, {5001, -1, "trainer", 4711}));
  EXPECT_EQ((*driver->processes(GpuId{0}))[0].memory_mib, 4711);
}

TEST_F(MpsTest, FatalFaultIsAttributedAndNeighboursAreCollateral) {
  ASSERT_TRUE(driver->create(GpuId{0}, place("3g@4")));
  const std::string log = dir.path() + "/mps/" + board.uuid + "/log/server.log";
  std::ofstream(log) << "[2026-11-15 10:00:00.000 Server 4000] Client {5001, 1} connected\n";
  EXPECT_FALSE(*driver->fault(GpuId{0}, {5001, 5002, 5003}));
  std::ofstream(log, std::ios::app)
      << "[2026-11-15 10:00:01.000 Server 4000] Client {5002, 1} raised a fatal exception\n";
  const auto fault = driver->fault(GpuId{0}, {5001, 5002, 5003});
  ASSERT_TRUE(fault && *fault);
  EXPECT_EQ((*fault)->culprit, 5002u);
  EXPECT_EQ((*fault)->collateral, (std::vector<std::uint32_t>{5001, 5003}));
  EXPECT_FALSE(*driver->fault(GpuId{0}, {5001})) << "each fault once";
  EXPECT_EQ(find_fault("a fatal exception somewhere\n", {7})->culprit, 0u);
}

TEST_F(MpsTest, ReshapesLikeAnyOtherDriver) {
  auto reshaper = Reshaper::open(*driver, dir.path() + "/reshapes");
  ASSERT_TRUE(reshaper);
  const auto plan = plan_reshape(*board.model, {}, {}, *parse_layout(*board.model, "4g@0+2g@4"));
  const auto outcome = reshaper->execute(GpuId{0}, *plan);
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->kind, ReshapeOutcome::kDone) << outcome->words;
  EXPECT_EQ(driver->read(GpuId{0})->layout, plan->to);
}

TEST_F(MpsTest, MissingControlProgramIsNamed) {
  options.control = dir.path() + "/nothing";
  driver = std::move(*MpsDriver::open(fake, options));
  const auto made = driver->create(GpuId{0}, place("3g@4"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("/nothing"), std::string::npos) << made.error().what;
  EXPECT_TRUE(driver->read(GpuId{0})->instances.empty()) << "nothing stands in the books";
}

TEST(MpsOnMigBoards, AreRefused) {
  const TempDir dir;
  std::shared_ptr<FakeDriver> fake = std::move(*FakeDriver::open("1xa100-40gb", {}));
  MpsDriver::Options options;
  options.state_dir = dir.path();
  auto driver = MpsDriver::open(fake, options);
  ASSERT_TRUE(driver);
  EXPECT_NE((*driver)->read(GpuId{0})->trouble.find("MIG mode is on"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
