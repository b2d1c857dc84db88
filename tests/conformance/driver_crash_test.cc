// A process killed at every step of a reshape: the next start repairs. And nothing leaks over many cycles.
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "base/rng.h"
#include "driver_harness.h"
#include "live/gpu/intent.h"
#include "live/gpu/reshaper.h"
#include "support/cases.h"
#include "support/fake_driver.h"

namespace smartmig::conformance {
namespace {

// Runs `work` in a child that is killed without warning when `countdown` steps have passed; true: it was killed.
template <class Work>
bool killed_after(int countdown, const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work([left = countdown](std::string_view) mutable {
      if (left-- == 0) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

struct Route {
  const char *from, *to, *busy;
};
constexpr Route kRoutes[] = {{"4g@0+3g@4", "2g@0+2g@2+3g@4", "3g@4"},
                             {"empty", "4g@0+2g@4+1g@6", "empty"},
                             {"1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6", "7g@0", "empty"},
                             {"2g@0+1g@2+1g@4+1g@6", "3g@0+1g@4+1g@6", "1g@6"},
                             {"3g@0+3g@4", "empty", "empty"}};

TEST(CrashOfTheController, EveryStepOnTheFakeMachine) {
  int deaths = 0;
  for (const Route& route : kRoutes)
    for (int step = 0;; ++step) {
      SCOPED_TRACE(fmt::format("{} to {}, killed after step {}", route.from, route.to, step));
      TempDir dir;
      const std::string file = dir.path() + "/emulated.json";
      std::string busy_uuid;
      Layout from, to, busy;
      {
        auto fake = FakeDriver::open("1xa100-40gb", {file, true, false, false, {}});
        ASSERT_TRUE(fake);
        const auto model = (*fake)->read(GpuId{0})->model;
        from = *parse_layout(*model, route.from);
        to = *parse_layout(*model, route.to);
        busy = *parse_layout(*model, route.busy);
        for (PlacementId p : from) ASSERT_TRUE((*fake)->create(GpuId{0}, p));
        for (PlacementId p : busy) {
          ASSERT_TRUE((*fake)->start_process(GpuId{0}, p, {77, -1, "job", 10}));
          busy_uuid = find_instance(*(*fake)->read(GpuId{0}), p)->uuid;
        }
      }
      const bool killed = killed_after(step, [&](auto tick) {
        const auto count = std::make_shared<decltype(tick)>(tick);
        const auto hook = [count](std::string_view what) { (*count)(what); };
        auto fake = FakeDriver::open("1xa100-40gb", {file, true, false, false, hook});
        auto reshaper = Reshaper::open(**fake, dir.path(), {4, hook});
        const GpuBoard board = *(*fake)->read(GpuId{0});
        const auto plan = plan_reshape(*board.model, from, busy, to);
        if (!reshaper->execute(GpuId{0}, *plan)) ::_exit(3);
      });
      deaths += killed;
      auto fake = FakeDriver::open("1xa100-40gb", {file, true, false, false, {}});
      ASSERT_TRUE(fake) << fake.error().what;
      auto reshaper = Reshaper::open(**fake, dir.path());
      ASSERT_TRUE(reshaper);
      const auto words = reshaper->recover();
      ASSERT_TRUE(words) << words.error().what;
      const GpuBoard board = *(*fake)->read(GpuId{0});
      EXPECT_TRUE(board.layout == to || board.layout == from) << to_string(*board.model, board.layout);
      if (!words->empty()) {
        EXPECT_EQ(board.layout, to) << "an intent was there: the reshape is finished";
      }
      EXPECT_EQ(board.instances.size(), std::size_t(board.layout.size())) << "a leftover stayed";
      EXPECT_TRUE(read_intents(dir.path())->empty());
      EXPECT_TRUE(reshaper->quarantine().entries().empty());
      for (PlacementId p : busy) EXPECT_EQ(find_instance(board, p)->uuid, busy_uuid);
      if (!killed) break;
    }
  EXPECT_GT(deaths, 60);
}

TEST(CrashOfTheController, LeavesAGpuInstanceWithoutComputeInstanceOnNvml) {
  auto harness = make_sim_harness("1xa100-40gb");
  harness->open();
  const auto model = harness->driver().read(GpuId{0})->model;
  const PlacementId where = *parse_layout(*model, "3g@4")->begin();
  for (int count : {1, 2, 3}) {
    SCOPED_TRACE(count);
    harness->open();
    ASSERT_TRUE(harness->inject(Trouble::kComputeRefused, GpuId{0}, 1));
    ASSERT_TRUE(harness->inject(Trouble::kLeftover, GpuId{0}, 1));
    const auto made = harness->driver().create(GpuId{0}, where);
    EXPECT_FALSE(made);
    harness->clear_troubles();
    harness->open();
    EXPECT_TRUE(harness->driver().read(GpuId{0})->instances.empty())
        << "the next start removes what is ours and unusable";
    const auto again = harness->driver().create(GpuId{0}, where);
    ASSERT_TRUE(again) << again.error().what;
    ASSERT_TRUE(harness->driver().destroy(GpuId{0}, *again));
  }
}

TEST(CrashOfTheController, AtAnyInstantOnNvml) {
  auto harness = make_sim_harness("1xa100-40gb");
  harness->open();
  const auto model = harness->driver().read(GpuId{0})->model;
  const auto layouts = model->layouts(model->schedulable_profiles());
  harness->close();
  const std::uint64_t seed = 5;
  Rng rng(seed);
  int unfinished = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(fmt::format("seed {}, round {}", seed, round));
    const std::uint64_t child_seed = rng.next();
    const pid_t child = ::fork();
    if (child == 0) {
      Rng own(child_seed);
      harness->open();
      auto reshaper = Reshaper::open(harness->driver(), harness->state_dir());
      if (!reshaper || !reshaper->recover()) ::_exit(3);
      for (;;) {
        const auto board = harness->driver().read(GpuId{0});
        const auto plan = plan_reshape(*model, board->layout, {}, layouts[own.below(layouts.size())]);
        const auto outcome = reshaper->execute(GpuId{0}, *plan);
        if (!outcome || outcome->kind != ReshapeOutcome::kDone) ::_exit(4);
      }
    }
    ::usleep(useconds_t(15'000 + rng.below(25'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child gave up with " << WEXITSTATUS(status);
    const auto intents = read_intents(harness->state_dir());
    ASSERT_TRUE(intents);
    unfinished += !intents->empty();
    harness->open();
    auto reshaper = Reshaper::open(harness->driver(), harness->state_dir());
    ASSERT_TRUE(reshaper);
    const auto words = reshaper->recover();
    ASSERT_TRUE(words) << words.error().what;
    const auto board = harness->driver().read(GpuId{0});
    ASSERT_TRUE(board);
    EXPECT_EQ(board->instances.size(), std::size_t(board->layout.size())) << "a leftover stayed";
    for (const Instance& i : board->instances) EXPECT_TRUE(i.ours) << slice_name(*model, i.placement);
    if (!intents->empty()) {
      EXPECT_EQ(to_string(*model, board->layout), (*intents)[0].to);
    }
    EXPECT_TRUE(reshaper->quarantine().entries().empty());
    harness->close();
  }
  EXPECT_GT(unfinished, 5) << "hardly any child died in the middle of a reshape";
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

long resident_pages() {
  std::ifstream in("/proc/self/statm");
  long size = 0, resident = 0;
  in >> size >> resident;
  return resident;
}

TEST(ManyCycles, LeakNothing) {
  const int cycles = cases(10'000);
  auto harness = make_sim_harness("1xa100-40gb");
  harness->open();
  const auto model = harness->driver().read(GpuId{0})->model;
  [[maybe_unused]] long pages = 0;
  int descriptors = 0;
  for (int i = 0; i < cycles; ++i) {
    const auto made = harness->driver().create(GpuId{0}, PlacementId(std::size_t(i) % model->placements().size()));
    ASSERT_TRUE(made) << i << ": " << made.error().what;
    ASSERT_TRUE(harness->driver().destroy(GpuId{0}, *made)) << i;
    if (i == cycles / 10) {
      pages = resident_pages();
      descriptors = open_descriptors();
    }
  }
  EXPECT_TRUE(harness->driver().read(GpuId{0})->instances.empty());
  EXPECT_EQ(open_descriptors(), descriptors);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
  EXPECT_LT(resident_pages() - pages, 256) << "more than 1 MiB grew over the last nine tenths";
#endif
  std::ifstream ledger(harness->state_dir() + "/ledger.json");
  std::string text((std::istreambuf_iterator<char>(ledger)), {});
  EXPECT_EQ(text, "{\n \"owned\": [],\n \"promised\": []\n}\n");
}

TEST(ControllerLock, OneControllerPerMachine) {
  auto harness = make_sim_harness("2xa100-40gb");
  harness->open();
  const pid_t child = ::fork();
  if (child == 0) {
    // A forked child shares the parent's open lock, so it asks through a file opened anew.
    const auto path = [&] {
      for (const auto& entry :
           std::filesystem::directory_iterator(std::filesystem::path(harness->state_dir()).parent_path() / "machine"))
        if (entry.path().extension() == ".lock") return entry.path();
      return std::filesystem::path();
    }();
    ::execlp("flock", "flock", "-n", path.c_str(), "true", nullptr);
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1) << "the lock was free";
}

}  // namespace
}  // namespace smartmig::conformance
