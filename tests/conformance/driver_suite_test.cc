// One suite over every driver that can change a machine: what MigDriver promises, whatever is below it.
#include <algorithm>
#include <set>

#include "base/rng.h"
#include "driver_harness.h"
#include "live/gpu/reshaper.h"

namespace smartmig::conformance {
namespace {

struct Case {
  const char* name;
  std::unique_ptr<Harness> (*make)(const std::string&);
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Driver : public ::testing::TestWithParam<Case> {
 protected:
  void start(const std::string& spec, Opening opening = {}) {
    harness = GetParam().make(spec);
    harness->open(opening);
  }
  MigDriver& driver() { return harness->driver(); }
  GpuBoard board(GpuId gpu = GpuId{0}) {
    auto read = driver().read(gpu);
    EXPECT_TRUE(read) << read.error().what;
    return read ? *read : GpuBoard{};
  }
  PlacementId place(const char* text) {
    const auto layout = parse_layout(*board().model, text);
    EXPECT_TRUE(layout) << layout.error().what;
    return *layout->begin();
  }
  std::unique_ptr<Harness> harness;
};

TEST_P(Driver, InventoryIsTheMachine) {
  start("2xa100-40gb,1xh200-141gb");
  const auto boards = driver().inventory();
  ASSERT_TRUE(boards) << boards.error().what;
  ASSERT_EQ(boards->size(), 3u);
  std::set<std::string> uuids;
  for (const GpuBoard& b : *boards) {
    uuids.insert(b.uuid);
    EXPECT_EQ(b.mode, MigMode::kOn);
    EXPECT_TRUE(b.trouble.empty()) << b.trouble;
    EXPECT_TRUE(b.instances.empty());
    EXPECT_TRUE(b.layout.empty());
    EXPECT_GT(b.memory_mib, 0);
    EXPECT_TRUE(driver().health(GpuId(std::uint32_t(b.index))));
  }
  EXPECT_EQ(uuids.size(), 3u);
  EXPECT_EQ((*boards)[0].model->name(), "a100-40gb");
  EXPECT_EQ((*boards)[2].model->name(), "h200-141gb");
  EXPECT_FALSE(driver().read(GpuId{7}));
}

TEST_P(Driver, EveryPlacementIsCreatedAndDestroyed) {
  for (const char* spec : {"1xa100-40gb", "1xh200-141gb", "1xa30-24gb", "1xrtx-pro-6000-blackwell-96gb"}) {
    start(spec);
    const auto model = board().model;
    std::set<std::string> uuids;
    for (std::size_t i = 0; i < model->placements().size(); ++i) {
      SCOPED_TRACE(slice_name(*model, PlacementId(i)));
      const auto made = driver().create(GpuId{0}, PlacementId(i));
      ASSERT_TRUE(made) << made.error().what;
      EXPECT_TRUE(uuids.insert(made->uuid).second) << "a UUID came back";
      EXPECT_TRUE(made->ours);
      EXPECT_GE(made->gpu_instance, 0);
      EXPECT_GE(made->compute_instance, 0);
      const GpuBoard after = board();
      ASSERT_EQ(after.layout.size(), 1);
      EXPECT_TRUE(after.layout.contains(PlacementId(i)));
      EXPECT_EQ(after.instances[0].uuid, made->uuid);
      EXPECT_NEAR(after.instances[0].memory_mib, model->profile_of(PlacementId(i)).memory_mib, 64);
      ASSERT_TRUE(driver().destroy(GpuId{0}, *made));
      EXPECT_TRUE(board().instances.empty());
    }
  }
}

TEST_P(Driver, UuidChangesWhenTheSameShapeIsMadeAgain) {
  start("1xa100-40gb");
  const auto first = driver().create(GpuId{0}, place("3g@4"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(driver().destroy(GpuId{0}, *first));
  const auto second = driver().create(GpuId{0}, place("3g@4"));
  ASSERT_TRUE(second);
  EXPECT_NE(first->uuid, second->uuid);
  const auto stale = driver().destroy(GpuId{0}, *first);
  ASSERT_FALSE(stale) << "a stale instance must not destroy its successor";
  EXPECT_EQ(stale.error().code, Error::kNotFound);
  EXPECT_EQ(board().instances.size(), 1u);
}

TEST_P(Driver, OverlapIsRefusedAndChangesNothing) {
  start("1xa100-40gb");
  ASSERT_TRUE(driver().create(GpuId{0}, place("3g@4")));
  for (const char* taken : {"1g@4", "2g@4", "3g@4", "7g@0", "1g.10gb@6"}) {
    const auto made = driver().create(GpuId{0}, place(taken));
    ASSERT_FALSE(made) << taken;
    EXPECT_EQ(made.error().code, Error::kInvalid) << made.error().what;
  }
  EXPECT_EQ(board().instances.size(), 1u);
  ASSERT_TRUE(driver().create(GpuId{0}, place("4g@0")));
}

TEST_P(Driver, BusySliceStaysAndNeighboursMove) {
  start("1xa100-40gb");
  const auto busy = driver().create(GpuId{0}, place("3g@4"));
  const auto idle = driver().create(GpuId{0}, place("4g@0"));
  ASSERT_TRUE(busy && idle);
  const std::uint32_t pid = harness->run_process(GpuId{0}, *busy);
  const auto running = driver().processes(GpuId{0});
  ASSERT_TRUE(running) << running.error().what;
  ASSERT_EQ(running->size(), 1u);
  EXPECT_EQ((*running)[0].pid, pid);
  EXPECT_EQ((*running)[0].gpu_instance, busy->gpu_instance);
  const auto refused = driver().destroy(GpuId{0}, *busy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy);
  EXPECT_NE(refused.error().what.find(std::to_string(pid)), std::string::npos) << refused.error().what;
  ASSERT_TRUE(driver().destroy(GpuId{0}, *idle));
  ASSERT_TRUE(driver().create(GpuId{0}, place("2g@0")));
  EXPECT_EQ(find_instance(board(), place("3g@4"))->uuid, busy->uuid);
  harness->end_process(pid);
  EXPECT_TRUE(driver().destroy(GpuId{0}, *busy));
}

TEST_P(Driver, WhatOthersMadeIsLeftAloneUnlessAdopted) {
  start("1xa100-40gb");
  harness->create_by_hand(GpuId{0}, place("2g@2"));
  const GpuBoard before = board();
  ASSERT_EQ(before.instances.size(), 1u);
  EXPECT_FALSE(before.instances[0].ours);
  const auto refused = driver().destroy(GpuId{0}, before.instances[0]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kNoPermission);
  EXPECT_NE(refused.error().what.find("--adopt"), std::string::npos);
  harness->open({true, false});
  EXPECT_TRUE(driver().destroy(GpuId{0}, board().instances[0]));
  EXPECT_TRUE(board().instances.empty());
}

TEST_P(Driver, OwnershipSurvivesARestart) {
  start("1xa100-40gb");
  const auto made = driver().create(GpuId{0}, place("2g@2"));
  ASSERT_TRUE(made);
  harness->open();
  ASSERT_EQ(board().instances.size(), 1u);
  EXPECT_TRUE(board().instances[0].ours);
  EXPECT_EQ(board().instances[0].uuid, made->uuid);
  EXPECT_TRUE(driver().destroy(GpuId{0}, *made));
}

TEST_P(Driver, ModeChangesOnlyWithLeave) {
  start("1xa100-40gb");
  const auto refused = driver().set_mig_mode(GpuId{0}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kNoPermission);
  EXPECT_TRUE(driver().set_mig_mode(GpuId{0}, true)) << "as it is already";
  harness->open({false, true});
  ASSERT_TRUE(driver().set_mig_mode(GpuId{0}, false));
  EXPECT_EQ(board().mode, MigMode::kOff);
  const auto made = driver().create(GpuId{0}, PlacementId{0});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Error::kUnsupported);
  ASSERT_TRUE(driver().set_mig_mode(GpuId{0}, true));
  EXPECT_TRUE(driver().create(GpuId{0}, PlacementId{0}));
}

TEST_P(Driver, EnergyGrowsAndPowerIsRead) {
  start("1xa100-40gb");
  const auto before = driver().energy(GpuId{0}), watts = driver().power(GpuId{0});
  ASSERT_TRUE(before && watts);
  EXPECT_GT(*watts, 1);
  EXPECT_LT(*watts, 2000);
  ASSERT_TRUE(driver().create(GpuId{0}, place("3g@0")));
  ::usleep(50'000);
  const auto after = driver().energy(GpuId{0});
  ASSERT_TRUE(after);
  EXPECT_GT(*after, *before);
}

TEST_P(Driver, ChildSeesItsSliceAlone) {
  start("1xa100-40gb");
  const auto made = driver().create(GpuId{0}, place("3g@0"));
  ASSERT_TRUE(made);
  const auto environment = driver().environment(GpuId{0}, *made, 0);
  ASSERT_TRUE(environment);
  EXPECT_NE(std::find(environment->begin(), environment->end(),
                      std::pair<std::string, std::string>("CUDA_VISIBLE_DEVICES", made->uuid)),
            environment->end());
}

TEST_P(Driver, RandomReshapesKeepWhatIsBusy) {
  start("1xa100-40gb");
  const auto model = board().model;
  const std::uint64_t seed = 11;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  auto reshaper = Reshaper::open(driver(), harness->state_dir());
  ASSERT_TRUE(reshaper);
  const auto layouts = model->layouts(model->schedulable_profiles());
  std::uint32_t pid = 0;
  std::string busy_uuid;
  Layout busy;
  for (int i = 0; i < 40; ++i) {
    const GpuBoard now = board();
    if (pid != 0 && rng.below(3) == 0) {
      harness->end_process(pid);
      pid = 0;
      busy = Layout{};
    }
    if (pid == 0 && !now.instances.empty() && rng.below(2) == 0) {
      const Instance& chosen = now.instances[rng.below(now.instances.size())];
      pid = harness->run_process(GpuId{0}, chosen);
      busy = model->subset(now.layout, 1u << index(chosen.placement));
      busy_uuid = chosen.uuid;
    }
    const Layout to = layouts[rng.below(layouts.size())];
    const auto plan = plan_reshape(*model, now.layout, busy, to);
    EXPECT_EQ(bool(plan), to.contains(busy));
    if (!plan) continue;
    const auto outcome = reshaper->execute(GpuId{0}, *plan);
    ASSERT_TRUE(outcome) << outcome.error().what;
    EXPECT_EQ(outcome->kind, ReshapeOutcome::kDone) << outcome->words;
    EXPECT_EQ(outcome->calls, int(plan->steps.size()));
    EXPECT_EQ(board().layout, to);
    if (pid != 0) {
      EXPECT_EQ(find_instance(board(), *busy.begin())->uuid, busy_uuid);
    }
  }
  if (pid != 0) harness->end_process(pid);
}

// Every trouble, once passing and once lasting: the reshape is done, undone, or named in quarantine; the busy slice
// keeps its UUID; and when the trouble is over the GPU can be used again.
TEST_P(Driver, EveryTroubleEndsInRecoveryOrANamedQuarantine) {
  for (Trouble trouble : kTroubles)
    for (int count : {1, 0}) {
      SCOPED_TRACE(fmt::format("{}, {}", name_of(trouble), count == 0 ? "until cleared" : "once"));
      start("2xa100-40gb");
      const auto model = board().model;
      const auto busy = driver().create(GpuId{0}, place("1g@6"));
      ASSERT_TRUE(busy && driver().create(GpuId{0}, place("4g@0")));
      const std::uint32_t pid = harness->run_process(GpuId{0}, *busy);
      auto reshaper = Reshaper::open(driver(), harness->state_dir());
      ASSERT_TRUE(reshaper);
      const Layout from = board().layout, to = *parse_layout(*model, "2g@0+1g@2+1g@6");
      const auto plan = plan_reshape(*model, from, model->subset(from, 1u << index(busy->placement)), to);
      ASSERT_TRUE(plan);
      if (!harness->inject(trouble, GpuId{0}, count)) continue;
      const auto outcome = reshaper->execute(GpuId{0}, *plan);
      harness->clear_troubles();
      if (outcome && outcome->kind == ReshapeOutcome::kDone) {
        EXPECT_EQ(board().layout, to);
      } else if (outcome && outcome->kind == ReshapeOutcome::kRolledBack) {
        EXPECT_EQ(board().layout, from) << outcome->words;
        EXPECT_FALSE(outcome->words.empty());
      } else if (outcome) {
        ASSERT_FALSE(reshaper->quarantine().entries().empty());
        EXPECT_EQ(reshaper->quarantine().entries()[0].gpu, board().uuid);
        EXPECT_FALSE(reshaper->quarantine().entries()[0].reason.empty());
        EXPECT_FALSE(reshaper->execute(GpuId{0}, *plan)) << "a GPU in quarantine must not be touched";
      } else {
        EXPECT_FALSE(outcome.error().what.empty());  // refused before anything changed
        EXPECT_EQ(board().layout, from) << outcome.error().what;
      }
      if (trouble == Trouble::kSlow || (trouble == Trouble::kCreateRefused && count == 1) ||
          (trouble == Trouble::kComputeRefused && count == 1) || (trouble == Trouble::kInUseLag && count == 1)) {
        EXPECT_TRUE(outcome && outcome->kind == ReshapeOutcome::kDone)
            << (outcome ? outcome->words : outcome.error().what);
      }
      if (trouble == Trouble::kCreateRefused && count == 0) {
        EXPECT_TRUE(outcome && outcome->kind == ReshapeOutcome::kQuarantined)
            << "neither forward nor back was possible";
      }
      if (trouble == Trouble::kLost) {
        EXPECT_FALSE(outcome && outcome->kind != ReshapeOutcome::kQuarantined);
      }
      if (trouble == Trouble::kLeakedHandle) {
        EXPECT_TRUE(outcome && outcome->kind == ReshapeOutcome::kRolledBack);
      }
      ASSERT_TRUE(driver().create(GpuId{1}, place("7g@0"))) << "another GPU suffers";

      // The trouble is over; a new start, the quarantine lifted, and all is well.
      for (int tries = 0; tries < 100 && !driver().read(GpuId{0}); ++tries) ::usleep(20'000);
      harness->open();
      auto again = Reshaper::open(driver(), harness->state_dir());
      ASSERT_TRUE(again);
      ASSERT_TRUE(again->recover());
      ASSERT_TRUE(again->quarantine().release(board().uuid));
      const GpuBoard now = board();
      ASSERT_NE(find_instance(now, busy->placement), nullptr);
      EXPECT_EQ(find_instance(now, busy->placement)->uuid, busy->uuid) << "the busy slice was touched";
      harness->end_process(pid);
      const auto empty = plan_reshape(*model, now.layout, {}, Layout{});
      ASSERT_TRUE(empty);
      const auto cleared = again->execute(GpuId{0}, *empty);
      ASSERT_TRUE(cleared) << cleared.error().what;
      EXPECT_EQ(cleared->kind, ReshapeOutcome::kDone) << cleared->words;
      EXPECT_TRUE(board().instances.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(All, Driver,
                         ::testing::Values(Case{"fake", make_fake_harness}, Case{"nvml_sim", make_sim_harness}),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace smartmig::conformance
