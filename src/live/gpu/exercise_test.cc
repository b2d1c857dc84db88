// An exercise of an emulated GPU: what agrees, what does not, who is refused, and what a killed one leaves to restore.
#include "live/gpu/exercise.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/durable_file.h"
#include "support/fake_driver.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

constexpr GpuId kGpu{0};

// A process of the fake machine.
class FakeUser : public SliceUser {
 public:
  explicit FakeUser(FakeDriver& fake) : fake_(fake) {}
  Result<Ok> start(const Instance& instance, const Environment&) override {
    running_ = true;
    return fake_.start_process(kGpu, instance.placement, {77, -1, "probe", 10});
  }
  Result<Seen> look() override { return Seen{1, 0, 0, double(fake_.now().count())}; }
  void stop() override {
    if (std::exchange(running_, false)) fake_.end_process(77);
  }

 private:
  FakeDriver& fake_;
  bool running_ = false;
};

// What a machine does otherwise than the tables say.
class Distorted : public MigDriver {
 public:
  explicit Distorted(FakeDriver& fake) : fake_(fake) {}
  double watts_factor = 1;
  Time create_longer{};
  std::string name() const override { return fake_.name(); }
  bool isolated() const override { return true; }
  Result<std::vector<GpuBoard>> inventory() override { return fake_.inventory(); }
  Result<GpuBoard> read(GpuId gpu) override { return fake_.read(gpu); }
  Result<Instance> create(GpuId gpu, PlacementId where) override {
    fake_.advance(create_longer);
    return fake_.create(gpu, where);
  }
  Result<Ok> destroy(GpuId gpu, const Instance& instance) override { return fake_.destroy(gpu, instance); }
  Result<Ok> set_mig_mode(GpuId gpu, bool on) override { return fake_.set_mig_mode(gpu, on); }
  Result<double> energy(GpuId gpu) override { return fake_.energy(gpu); }
  Result<double> power(GpuId gpu) override {
    SMARTMIG_TRY(const double watts, fake_.power(gpu));
    return watts * watts_factor;
  }
  Result<std::vector<DeviceProcess>> processes(GpuId gpu) override { return fake_.processes(gpu); }
  Result<Ok> health(GpuId gpu) override { return fake_.health(gpu); }
  Result<Environment> environment(GpuId gpu, const Instance& i, std::uint32_t uid) override {
    return fake_.environment(gpu, i, uid);
  }

 private:
  FakeDriver& fake_;
};

struct World {
  TempDir dir;
  std::unique_ptr<FakeDriver> fake;
  std::unique_ptr<Distorted> driver;

  explicit World(const std::string& spec = "1xa100-40gb", FakeDriver::Options options = {}) {
    auto opened = FakeDriver::open(spec, std::move(options));
    EXPECT_TRUE(opened) << opened.error().what;
    fake = std::move(*opened);
    driver = std::make_unique<Distorted>(*fake);
  }
  Layout layout(const std::string& text) { return *parse_layout(*fake->read(kGpu)->model, text); }
  void make(const std::string& text) {
    for (PlacementId p : layout(text)) ASSERT_TRUE(fake->create(kGpu, p));
  }
  Reshaper reshaper() { return std::move(*Reshaper::open(*driver, dir.path())); }
  ExerciseOptions options() {
    ExerciseOptions out;
    out.state_dir = dir.path();
    out.version = "test";
    out.now = [this] { return fake->now(); };
    out.sleep = [this](Time t) { fake->advance(t); };
    return out;
  }
  Result<ExerciseReport> run(std::function<void(ExerciseOptions&)> change = {}) {
    Reshaper moves = reshaper();
    FakeUser user(*fake);
    ExerciseOptions asked = options();
    if (change) change(asked);
    return exercise(*driver, moves, user, kGpu, asked);
  }
};

std::string differences(const ExerciseReport& report) {
  std::string out;
  for (const ExerciseCheck& c : report.checks)
    if (!c.agrees) out += fmt::format("{} {}: {}\n", name_of(c.what), c.subject, c.words);
  return out;
}

TEST(Exercise, AMachineAsInTheTablesAgreesInAllAndIsAsItWas) {
  for (const char* spec : {"1xa100-40gb", "1xa30-24gb", "1xh100-80gb-sxm"}) {
    SCOPED_TRACE(spec);
    World w(spec);
    w.make("2g@0+1g@2");
    const auto report = w.run();
    ASSERT_TRUE(report) << report.error().what;
    EXPECT_EQ(differences(*report), "");
    EXPECT_TRUE(report->finished && report->restored);
    const GpuBoard board = *w.fake->read(kGpu);
    EXPECT_EQ(board.layout, w.layout("2g@0+1g@2"));
    int placements = 0;
    for (const ExerciseProfile& row : report->profiles) {
      EXPECT_EQ(row.worked, row.placements) << row.name;
      EXPECT_EQ(row.create_s.size(), std::size_t(row.placements)) << row.name;
      EXPECT_TRUE(row.watts) << row.name;
      placements += row.placements;
    }
    EXPECT_EQ(placements, int(board.model->placements().size()));
    EXPECT_GT(report->layouts, 4);
    EXPECT_EQ(report->layouts_reached, report->layouts);
    EXPECT_EQ(report->beside_changes, 2);
    EXPECT_TRUE(files_in(w.dir.path(), "exercise-", ".json").empty());
  }
}

TEST(Exercise, WrongSecondsAndWattsAreNamed) {
  World w;
  w.driver->watts_factor = 1.5;
  w.driver->create_longer = from_seconds(2);
  const auto report = w.run();
  ASSERT_TRUE(report) << report.error().what;
  const std::string words = differences(*report);
  EXPECT_NE(words.find("watts idle: 60 W, the table paper has 40 W"), std::string::npos) << words;
  EXPECT_NE(words.find("watts 7g.40gb: 373 W"), std::string::npos) << words;
  EXPECT_NE(words.find("seconds create 1g.5gb: 2.16 s, the table has 0.16 s"), std::string::npos) << words;
  EXPECT_EQ(words.find("seconds destroy"), std::string::npos) << words;
  EXPECT_EQ(words.find("geometry"), std::string::npos) << words;
  EXPECT_TRUE(report->finished && report->restored);
}

TEST(Exercise, WhatIsNotIdleIsRefusedAndNothingChanges) {
  World w;
  w.make("3g@4");
  const std::string before = w.fake->read(kGpu)->instances[0].uuid;
  ASSERT_TRUE(w.fake->start_process(kGpu, *w.layout("3g@4").begin(), {42, -1, "train", 10}));
  const auto busy = w.run();
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Error::kBusy);
  EXPECT_NE(busy.error().what.find("is not idle: pid 42 (train) uses it"), std::string::npos) << busy.error().what;
  EXPECT_EQ(w.fake->read(kGpu)->instances[0].uuid, before);
  w.fake->end_process(42);
  ASSERT_TRUE(w.fake->create_foreign(kGpu, *w.layout("1g@0").begin()));
  const auto foreign = w.run();
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Error::kNoPermission);
  EXPECT_EQ(w.fake->read(kGpu)->layout, w.layout("3g@4+1g@0"));
  Reshaper moves = w.reshaper();
  ASSERT_TRUE(moves.quarantine().add({w.fake->read(kGpu)->uuid, "", "broken"}));
  const auto quarantined = w.run([](ExerciseOptions& o) { o.adopt = true; });
  ASSERT_FALSE(quarantined);
  EXPECT_NE(quarantined.error().what.find("doctor --release 0"), std::string::npos) << quarantined.error().what;
}

TEST(Exercise, MigModeIsSwitchedOnAndOffAgainWithLeave) {
  FakeDriver::Options off;
  off.mig_on = false;
  World no("1xa100-40gb", off);
  const auto refused = no.run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kNoPermission);
  EXPECT_TRUE(files_in(no.dir.path(), "exercise-", ".json").empty());
  off.allow_mode_change = true;
  World yes("1xa100-40gb", off);
  const auto report = yes.run();
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(differences(*report), "");
  EXPECT_EQ(yes.fake->read(kGpu)->mode, MigMode::kOff);
}

TEST(Exercise, FaultsAreNamedAndWhatCanBeIsRestored) {
  using Fault = FakeDriver::Fault;
  for (const Fault fault : {Fault::kInUseLag, Fault::kCreateRefused, Fault::kComputeRefused, Fault::kLeftover,
                            Fault::kWrongReadBack, Fault::kLeakedHandle, Fault::kLost}) {
    SCOPED_TRACE(int(fault));
    World w;
    w.make("3g@0+3g@4");
    int steps = 0;
    const auto report = w.run([&](ExerciseOptions& o) {
      o.checkpoint = [&](std::string_view) {
        if (++steps == 12)
          w.fake->inject(fault, kGpu, fault == Fault::kLost || fault == Fault::kLeakedHandle ? 1 << 30 : 2);
      };
    });
    ASSERT_TRUE(report) << report.error().what;
    const bool heals = fault != Fault::kLost && fault != Fault::kLeakedHandle;
    if (!heals) {
      EXPECT_FALSE(report->finished);
      EXPECT_GT(report->disagreements(), 0);
      EXPECT_FALSE(report->restored);
      w.fake->clear_faults();
      if (fault == Fault::kLost) w.fake->reset(kGpu);
      Reshaper moves = w.reshaper();
      ASSERT_TRUE(moves.quarantine().release(w.fake->read(kGpu)->uuid));
      const auto again = restore_exercised(*w.driver, moves, w.dir.path(), kGpu);
      ASSERT_TRUE(again) << again.error().what;
      EXPECT_NE(*again, "");
    } else {
      EXPECT_TRUE(report->restored) << differences(*report);
    }
    EXPECT_EQ(w.fake->read(kGpu)->layout, w.layout("3g@0+3g@4"));
  }
}

TEST(Exercise, OneThatIsStoppedRestoresAtOnce) {
  World w;
  w.make("4g@0");
  int asked = 0;
  const auto report = w.run([&](ExerciseOptions& o) { o.stopped = [&] { return ++asked > 6; }; });
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_FALSE(report->finished);
  EXPECT_TRUE(report->restored);
  EXPECT_EQ(w.fake->read(kGpu)->layout, w.layout("4g@0"));
}

// Killed at its n-th step, for n up to the last: the next call restores.
TEST(Exercise, OneThatIsKilledIsRestoredByTheNextCallProcess) {
  int deaths = 0;
  for (int step = 0;; step += 7) {
    SCOPED_TRACE(step);
    TempDir dir;
    FakeDriver::Options options;
    options.file = dir.path() + "/machine.json";
    {
      World first("1xa30-24gb", options);
      first.make("2g@2+1g@0");
    }
    const pid_t child = ::fork();
    if (child == 0) {
      int left = step;
      options.after_step = [&](std::string_view) {
        if (left-- == 0) ::raise(SIGKILL);
      };
      auto fake = FakeDriver::open("1xa30-24gb", options);
      auto reshaper = Reshaper::open(**fake, dir.path());
      FakeUser user(**fake);
      ExerciseOptions asked;
      asked.state_dir = dir.path();
      asked.now = [&] { return (*fake)->now(); };
      asked.sleep = [&](Time t) { (*fake)->advance(t); };
      asked.checkpoint = options.after_step;
      (void)exercise(**fake, *reshaper, user, kGpu, asked);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    deaths += WIFSIGNALED(status);
    options.after_step = {};
    auto fake = FakeDriver::open("1xa30-24gb", options);
    ASSERT_TRUE(fake) << fake.error().what;
    (*fake)->end_process(77);
    auto reshaper = Reshaper::open(**fake, dir.path());
    ASSERT_TRUE(reshaper && reshaper->recover());
    const auto restored = restore_exercised(**fake, *reshaper, dir.path(), kGpu);
    ASSERT_TRUE(restored) << restored.error().what;
    const GpuBoard board = *(*fake)->read(kGpu);
    EXPECT_EQ(board.layout, *parse_layout(*board.model, "2g@2+1g@0"));
    EXPECT_EQ(board.instances.size(), 2u);
    EXPECT_TRUE(files_in(dir.path(), "exercise-", ".json").empty());
    if (!WIFSIGNALED(status)) break;
  }
  EXPECT_GT(deaths, 10);
}

TEST(Exercise, TheReportNamesNobody) {
  World w;
  int steps = 0;
  const auto report = w.run([&](ExerciseOptions& o) {
    o.checkpoint = [&](std::string_view) {
      if (++steps == 5) w.fake->inject(FakeDriver::Fault::kLost, kGpu);
    };
  });
  ASSERT_TRUE(report);
  const std::string text = json_dump(to_json(*report), 1);
  EXPECT_EQ(text.find(w.fake->read(kGpu) ? w.fake->read(kGpu)->uuid : "GPU-0"), std::string::npos) << text;
  EXPECT_EQ(text.find("GPU-0"), std::string::npos) << text;
  EXPECT_EQ(without_names("GPU-12ab-34cd: MIG-99-aa is in use by pid 812 (my secret) through /srv/x; stop it"),
            "GPU-?: MIG-? is in use by a process through PATH; stop it");
  EXPECT_EQ(without_names("3g.20gb@4 in 4/7 of it"), "3g.20gb@4 in 4/7 of it");
}

}  // namespace
}  // namespace smartmig
