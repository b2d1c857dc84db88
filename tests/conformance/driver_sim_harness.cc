// NVML on the emulated library: loaded by path from the build folder, on a machine of its own in a temporary directory.
#include <dlfcn.h>
#include <signal.h>
#include <sim_api.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "driver_harness.h"
#include "live/gpu/nvml_driver.h"
#include "live/gpu/watched_driver.h"
#include "live/jobs/run_program.h"

namespace smartmig::conformance {
namespace {

const std::string kLibrary = std::string(NVML_SIM_BINARY_DIR) + "/libnvidia-ml.so.1";

// A forked child must neither outlive the test nor share its controller locks (a started job shares none: they close on
// exec).
void become_stranger() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<int> locks;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(fd.path(), gone).extension() == ".lock")
      locks.push_back(std::atoi(fd.path().filename().c_str()));
  }
  for (int fd : locks) ::close(fd);
}

class SimHarness : public Harness {
 public:
  explicit SimHarness(const std::string& spec) {
    const auto made = run_program(
        {{std::string(NVML_SIM_BINARY_DIR) + "/nvml-sim-ctl", "init", machine(), "--gpus", spec, "--clock", "zero"},
         {},
         "",
         true,
         Time(20'000'000)});
    EXPECT_TRUE(made && made->status == 0) << (made ? made->output : made.error().what);
  }
  ~SimHarness() override {
    control({"clear", machine()});
    for (pid_t pid : children_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    watched_.reset();
  }
  std::string name() const override { return "nvml-sim"; }
  void open(Opening opening) override {
    close();
    ::setenv("NVML_SIM_STATE", machine().c_str(), 1);
    NvmlDriver::Options options;
    options.library = kLibrary;
    options.state_dir = state_dir();
    options.lock_dir = machine();
    options.control = true;
    options.adopt = opening.adopt;
    options.allow_mode_change = opening.allow_mode_change;
    options.patience = Time(200'000);
    options.first_pause = Time(1'000);
    auto opened = NvmlDriver::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().what;
    watched_ = std::make_unique<WatchedDriver>(std::move(*opened), Time(1'500'000));
  }
  void close() override { watched_.reset(); }
  MigDriver& driver() override { return *watched_; }
  std::string state_dir() const override { return dir_.path() + "/state"; }

  // A child of its own that registers on the slice and then does nothing until it is killed.
  std::uint32_t run_process(GpuId, const Instance& instance) override {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      become_stranger();
      void* library = ::dlopen(kLibrary.c_str(), RTLD_NOW);
      const auto init = reinterpret_cast<decltype(&nvmlInit_v2)>(::dlsym(library, "nvmlInit_v2"));
      const auto on = reinterpret_cast<decltype(&nvmlSimRegisterProcess)>(::dlsym(library, "nvmlSimRegisterProcess"));
      const bool ok = init() == NVML_SUCCESS && on(instance.uuid.c_str(), nullptr) == NVML_SUCCESS;
      const char word = ok ? 'y' : 'n';
      if (::write(ready[1], &word, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char word = 0;
    EXPECT_EQ(::read(ready[0], &word, 1), 1);
    EXPECT_EQ(word, 'y') << "the process could not register on " << instance.uuid;
    ::close(ready[0]);
    ::close(ready[1]);
    children_.push_back(child);
    return std::uint32_t(child);
  }
  void end_process(std::uint32_t pid) override {
    ::kill(pid_t(pid), SIGKILL);
    ::waitpid(pid_t(pid), nullptr, 0);
    std::erase(children_, pid_t(pid));
  }
  void create_by_hand(GpuId gpu, PlacementId where) override {
    const auto board = driver().read(gpu);
    ASSERT_TRUE(board);
    auto nvml = NvmlApi::open(kLibrary);
    ASSERT_TRUE(nvml);
    nvmlDevice_t device = nullptr;
    nvmlGpuInstance_t gi = nullptr;
    nvmlComputeInstance_t ci = nullptr;
    const Profile& profile = board->model->profile_of(where);
    const nvmlGpuInstancePlacement_t at{board->model->placement(where).start, unsigned(profile.memory_slices)};
    ASSERT_EQ((*nvml)->nvmlDeviceGetHandleByIndex_v2(index(gpu), &device), NVML_SUCCESS);
    ASSERT_EQ((*nvml)->nvmlDeviceCreateGpuInstanceWithPlacement(device, unsigned(profile.nvml_id), &at, &gi),
              NVML_SUCCESS);
    for (unsigned int i = 0; !ci && i < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++i) {
      nvmlComputeInstanceProfileInfo_t info{};
      if ((*nvml)->nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, i, 0, &info) == NVML_SUCCESS &&
          int(info.sliceCount) == profile.compute_slices) {
        ASSERT_EQ((*nvml)->nvmlGpuInstanceCreateComputeInstance(gi, info.id, &ci), NVML_SUCCESS);
      }
    }
  }
  bool inject(Trouble trouble, GpuId gpu, int count) override {
    std::vector<std::string> common = {"--gpu", std::to_string(index(gpu))};
    if (count > 0) common.insert(common.end(), {"--count", std::to_string(count)});
    const auto fault = [&](std::vector<std::string> words) {
      words.insert(words.begin(), {"fault", machine()});
      words.insert(words.end(), common.begin(), common.end());
      control(words);
      return true;
    };
    switch (trouble) {
      case Trouble::kInUseLag:
        return fault({"in-use-lag", "--ms", "20"});
      case Trouble::kLeakedHandle:
        return fault({"leaked-handle", "--pid", std::to_string(holder())});
      case Trouble::kCreateRefused:
        return fault({"create-fail", "--code", "23"});
      case Trouble::kComputeRefused:
        return fault({"ci-refused", "--code", "23"});
      case Trouble::kLeftover:
        return fault({"ci-refused", "--code", "23"}) && fault({"destroy-fail", "--code", "999"});
      case Trouble::kLost:
        return fault({"gpu-lost"});
      case Trouble::kHang:
        return fault({"hang", "--call", "nvmlDeviceCreateGpuInstance"});
      case Trouble::kWrongReadBack:
        return fault({"wrong-readback"});
      case Trouble::kCreateLies:
        return fault({"create-lies"});
      case Trouble::kDestroyLies:
        return fault({"destroy-lies"});
      case Trouble::kSlow:
        return fault({"slow", "--ms", "30", "--call", "nvmlDeviceCreateGpuInstance"});
    }
    return false;
  }
  void clear_troubles() override { control({"clear", machine()}); }

 private:
  std::string machine() const { return dir_.path() + "/machine"; }
  void control(std::vector<std::string> words) {
    words.insert(words.begin(), std::string(NVML_SIM_BINARY_DIR) + "/nvml-sim-ctl");
    const auto ran = run_program({words, {}, "", true, Time(20'000'000)});
    EXPECT_TRUE(ran && ran->status == 0) << fmt::format("{}: ", fmt::join(words, " "))
                                         << (ran ? ran->output : ran.error().what);
  }
  pid_t holder() {  // a process that lives and holds what a fault says it holds
    const pid_t child = ::fork();
    if (child == 0) {
      become_stranger();
      for (;;) ::pause();
    }
    children_.push_back(child);
    return child;
  }

  TempDir dir_;
  std::unique_ptr<WatchedDriver> watched_;
  std::vector<pid_t> children_;
};

}  // namespace

std::unique_ptr<Harness> make_sim_harness(const std::string& spec) { return std::make_unique<SimHarness>(spec); }

}  // namespace smartmig::conformance
