// Programs that were started before their slice was free: libsmartmig-preload.so holds them at their first CUDA call, in
// whatever way they come there, and the driver initialises with the environment of the grant.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "live/grant_format.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

const std::string kBuilt = PRELOAD_BINARY_DIR;

std::string all_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Hold : public ::testing::Test {
 protected:
  // Runs in the background, its output in a file.
  void start(const std::string& program, const std::string& more = "SMARTMIG_HOLD=1") {
    child_ = ::fork();
    if (child_ == 0) {
      const int out = ::open((dir_.path() + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      const std::string line = "exec env LD_LIBRARY_PATH=" + kBuilt + "/stub LD_PRELOAD=" + kBuilt +
                               "/libsmartmig-preload.so CUDA_VISIBLE_DEVICES=nothing SMARTMIG_HOLD_DIR=" + place() +
                               " SMARTMIG_HOLD_SINCE=1 " + more + " timeout 60 " + kBuilt + "/" + program;
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
  }
  std::string place() const {
    std::filesystem::create_directory(dir_.path() + "/hold");
    return dir_.path() + "/hold";
  }
  void grant(const std::string& device) const {
    std::ofstream(dir_.path() + "/grant.new", std::ios::binary)
        << "CUDA_VISIBLE_DEVICES=" << device << '\0' << "CUDA_MPS_PIPE_DIRECTORY=/pipe" << '\0'
        << "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=13" << '\0' << "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=16384M" << '\0';
    std::filesystem::rename(dir_.path() + "/grant.new", place() + "/" SMARTMIG_GRANT);
  }
  int calls() const {  // processes that came to CUDA
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place()))
      count += entry.path().extension() == SMARTMIG_FIRST_CALL;
    return count;
  }
  static bool soon(const std::function<bool()>& done) {
    for (int i = 0; i < 5000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return done();
  }
  std::string end() {
    int status = -1;
    if (child_ > 0) ::waitpid(child_, &status, 0);
    child_ = -1;
    return (status == 0 ? "" : "status " + std::to_string(status) + ": ") + all_of(dir_.path() + "/out");
  }
  void TearDown() override {
    if (child_ > 0) ::kill(child_, SIGKILL), end();
  }
  TempDir dir_;
  pid_t child_ = -1;
};

const std::string kSeen = "device MIG-7 pipe /pipe share 13 memory 0=16384M\n";

TEST_F(Hold, EveryWayToTheDriverIsHeldAndInitialisesOnTheGrantedSlice) {
  for (const std::string way : {"dlsym", "proc-address", "runtime", "threads"}) {
    SCOPED_TRACE(way);
    std::filesystem::remove_all(place());
    start("preload_client init " + way);
    EXPECT_TRUE(soon([&] { return calls() == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(all_of(dir_.path() + "/out"), "");
    EXPECT_EQ(::waitpid(child_, nullptr, WNOHANG), 0);
    grant("MIG-7");
    EXPECT_EQ(end(), kSeen);
  }
}

TEST_F(Hold, LinkedPrograms) {
  start("preload_linked init");
  EXPECT_TRUE(soon([&] { return calls() == 1; }));
  grant("MIG-7");
  EXPECT_EQ(end(), "code 0 device MIG-7\n");
}

TEST_F(Hold, CudaInAChildOfAProgramThatHasNone) {
  start("preload_client init child");
  EXPECT_TRUE(soon([&] { return calls() == 1; }));
  grant("MIG-7");
  EXPECT_EQ(end(), kSeen);
}

TEST_F(Hold, AllProcessesOfAJobGetTheGrant) {
  start("preload_client init held-fork");
  EXPECT_TRUE(soon([&] { return calls() == 2; }));
  grant("MIG-7");
  EXPECT_EQ(end(), kSeen + kSeen);
}

TEST_F(Hold, AnExecutedProgramKeepsItsSlice) {
  start("preload_client init exec");
  EXPECT_TRUE(soon([&] { return calls() == 1; }));
  grant("MIG-7");
  EXPECT_EQ(end(), kSeen);
}

TEST_F(Hold, AProgramWithoutCudaRunsToItsEnd) {
  start("preload_client nothing");
  EXPECT_EQ(end(), "cuda 0 0\nerror 1\nparent 1\n");
  EXPECT_EQ(calls(), 0);
}

TEST_F(Hold, AGrantThatIsThereAlreadyHoldsNobody) {
  grant("MIG-7");
  start("preload_client init dlsym");
  EXPECT_EQ(end(), kSeen);
}

TEST_F(Hold, WithoutTheWishToHoldTheFirstCallIsOnlyWrittenDown) {
  start("preload_client init dlsym", "SMARTMIG_HOLD=");
  EXPECT_EQ(end(), "device nothing pipe - share - memory -\n");
  ASSERT_EQ(calls(), 1);
  for (const auto& entry : std::filesystem::directory_iterator(place()))
    EXPECT_GT(std::strtoll(all_of(entry.path()).c_str(), nullptr, 10), 0);
}

TEST_F(Hold, AHeldProgramCanBeEnded) {
  start("preload_client init dlsym");
  EXPECT_TRUE(soon([&] { return calls() == 1; }));
  ::kill(child_, SIGTERM);
  EXPECT_NE(end(), "");
}

}  // namespace
}  // namespace smartmig
