#include "driver_harness.h"
#include "live/gpu/watched_driver.h"
#include "support/fake_driver.h"

namespace smartmig::conformance {
namespace {

class FakeHarness : public Harness {
 public:
  explicit FakeHarness(std::string spec) : spec_(std::move(spec)) {}
  ~FakeHarness() override {
    if (fake_) fake_->clear_faults();
  }
  std::string name() const override { return "fake"; }
  void open(Opening opening) override {
    close();
    FakeDriver::Options options;
    options.file = dir_.path() + "/emulated.json";
    options.adopt = opening.adopt;
    options.allow_mode_change = opening.allow_mode_change;
    auto opened = FakeDriver::open(spec_, std::move(options));
    ASSERT_TRUE(opened) << opened.error().what;
    fake_ = std::move(*opened);
    watched_ = std::make_unique<WatchedDriver>(fake_, Time(300'000));
  }
  void close() override {
    if (fake_) fake_->clear_faults();
    watched_.reset();
    fake_.reset();
  }
  MigDriver& driver() override { return *watched_; }
  std::string state_dir() const override { return dir_.path(); }
  std::uint32_t run_process(GpuId gpu, const Instance& instance) override {
    const std::uint32_t pid = ++pid_;
    EXPECT_TRUE(fake_->start_process(gpu, instance.placement, {pid, -1, "job", 100}));
    return pid;
  }
  void end_process(std::uint32_t pid) override { fake_->end_process(pid); }
  void create_by_hand(GpuId gpu, PlacementId where) override { EXPECT_TRUE(fake_->create_foreign(gpu, where)); }
  bool inject(Trouble trouble, GpuId gpu, int count) override {
    using Fault = FakeDriver::Fault;
    const int times = count > 0 ? count : 1 << 30;
    switch (trouble) {
      case Trouble::kInUseLag:
        fake_->inject(Fault::kInUseLag, gpu, times);
        return true;
      case Trouble::kLeakedHandle:
        fake_->inject(Fault::kLeakedHandle, gpu, times);
        return true;
      case Trouble::kCreateRefused:
        fake_->inject(Fault::kCreateRefused, gpu, times);
        return true;
      case Trouble::kComputeRefused:
        fake_->inject(Fault::kComputeRefused, gpu, times);
        return true;
      case Trouble::kLeftover:
        fake_->inject(Fault::kLeftover, gpu, times);
        return true;
      case Trouble::kLost:
        fake_->inject(Fault::kLost, gpu, times);
        return true;
      case Trouble::kHang:
        fake_->inject(Fault::kHang, gpu, times);
        return true;
      case Trouble::kWrongReadBack:
        fake_->inject(Fault::kWrongReadBack, gpu, times);
        return true;
      default:
        return false;
    }
  }
  void clear_troubles() override { fake_->clear_faults(); }

 private:
  TempDir dir_;
  std::string spec_;
  std::shared_ptr<FakeDriver> fake_;
  std::unique_ptr<WatchedDriver> watched_;
  std::uint32_t pid_ = 100;
};

}  // namespace

std::unique_ptr<Harness> make_fake_harness(const std::string& spec) { return std::make_unique<FakeHarness>(spec); }

}  // namespace smartmig::conformance
