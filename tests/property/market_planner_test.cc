// The market against brute force, the size planner against all partitions of small fleets, and the planner as a policy
// in random worlds: legal plans, every job done, exact and mean-field forms close.
#include "policy/planner/market_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/rng.h"
#include "eval/experiment.h"
#include "random_world.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

// Greatest total gain of items on the slots, each item and slot used at most once, by trying everything.
double brute_force(const std::vector<std::vector<double>>& gain, std::vector<int> slots, std::size_t item = 0) {
  if (item == gain.size()) return 0;
  double best = brute_force(gain, slots, item + 1);
  for (std::size_t t = 0; t < slots.size(); ++t)
    if (slots[t] > 0 && gain[item][t] > SlotMarket::kImpossible) {
      --slots[t];
      best = std::max(best, gain[item][t] + brute_force(gain, slots, item + 1));
      ++slots[t];
    }
  return best;
}

TEST(SlotMarketProperty, EqualsBruteForceThroughAnySequenceOfChanges) {
  for (int c = 0; c < cases(300); ++c) {
    SCOPED_TRACE("case " + std::to_string(c));
    Rng rng(std::uint64_t(c), 77);
    const int types = 1 + int(rng.below(4));
    const std::size_t items = rng.below(7);
    SlotMarket market;
    market.reset(types);
    std::vector<std::vector<double>> gain(items, std::vector<double>(std::size_t(types)));
    for (auto& row : gain) {
      for (double& g : row)
        g = rng.below(6) == 0 ? SlotMarket::kImpossible : double(rng.below(2000)) / 100 - (rng.below(4) == 0 ? 10 : 0);
      market.add_item(row, 1);
    }
    std::vector<int> slots(std::size_t(types), 0);
    double total = 0;
    for (int step = 0; step < 12; ++step) {
      const int t = int(rng.below(std::uint64_t(types)));
      const int n = 1 + int(rng.below(3));
      const std::size_t mark = market.mark();
      double change;
      if (rng.below(3) > 0) {
        change = market.add_slots(t, n);
        slots[std::size_t(t)] += n;
      } else {
        if (slots[std::size_t(t)] < n) continue;
        change = market.remove_slots(t, n);
        slots[std::size_t(t)] -= n;
      }
      ASSERT_NEAR(total + change, brute_force(gain, slots), 1e-6);
      if (rng.below(4) == 0) {
        market.undo(mark);
        slots[std::size_t(t)] = int(market.slots(t));
        ASSERT_NEAR(total, brute_force(gain, slots), 1e-6);
      } else {
        total += change;
      }
      double held = 0;
      for (std::size_t i = 0; i < items; ++i) {
        std::int64_t places = 0;
        for (int k = 0; k <= types; ++k) places += market.assigned(i, k);
        ASSERT_EQ(places, 1);
        for (int k = 0; k < types; ++k) held += double(market.assigned(i, k)) * gain[i][std::size_t(k)];
      }
      for (int k = 0; k < types; ++k) ASSERT_EQ(market.slots(k), slots[std::size_t(k)]);
      ASSERT_NEAR(held, total, 1e-6);
    }
  }
}

TEST(SlotMarketProperty, AClassEqualsItsMembers) {
  for (int c = 0; c < cases(100); ++c) {
    SCOPED_TRACE("case " + std::to_string(c));
    Rng rng(std::uint64_t(c), 78);
    const int types = 1 + int(rng.below(4));
    SlotMarket one, many;
    one.reset(types);
    many.reset(types);
    for (int i = 0; i < 5; ++i) {
      std::vector<double> row(static_cast<std::size_t>(types));
      for (double& g : row) g = double(rng.below(1000)) / 100;
      const int count = 1 + int(rng.below(6));
      many.add_item(row, count);
      for (int k = 0; k < count; ++k) one.add_item(row, 1);
    }
    for (int step = 0; step < 8; ++step) {
      const int t = int(rng.below(std::uint64_t(types))), n = 1 + int(rng.below(5));
      if (rng.below(3) > 0) {
        ASSERT_NEAR(one.add_slots(t, n), many.add_slots(t, n), 1e-6);
      } else if (one.slots(t) >= n) {
        ASSERT_NEAR(one.remove_slots(t, n), many.remove_slots(t, n), 1e-6);
      }
    }
  }
}

// The best partition of a small group by trying all, against what the planner finds from nothing.
TEST(SizePlannerProperty, IsNearTheBestOfAllPartitions) {
  double found_sum = 0, best_sum = 0;
  for (int c = 0; c < cases(150); ++c) {
    SCOPED_TRACE("case " + std::to_string(c));
    Rng rng(std::uint64_t(c), 79);
    std::vector<std::vector<double>> gain(2 + rng.below(6), std::vector<double>(3));
    for (auto& row : gain) {
      row[0] = double(rng.below(300)) / 100;
      row[1] = row[0] + double(rng.below(200)) / 100;
      row[2] = row[1] + double(rng.below(200)) / 100;
    }
    SizeGroup group;  // slots of 1, 2 and 4 units on a GPU of 4
    for (int a = 0; a <= 4; ++a)
      for (int b = 0; a + 2 * b <= 4; ++b) {
        SlotConfiguration configuration;
        configuration.slots[0] = std::uint8_t(a);
        configuration.slots[1] = std::uint8_t(b);
        configuration.cost = 0.3 * (a + 2 * b > 0) + 0.05 * (a + 2 * b);
        group.configurations.push_back(configuration);
      }
    SlotConfiguration whole;
    whole.slots[2] = 1;
    whole.cost = 0.5;
    group.configurations.push_back(whole);
    group.gpus.assign(group.configurations.size(), 0);
    group.gpus[0] = 2;  // a = b = 0: nothing
    const auto value = [&](const std::vector<int>& chosen) {
      std::vector<int> slots(3, 0);
      double cost = 0;
      for (const int k : chosen) {
        for (std::size_t t = 0; t < 3; ++t) slots[t] += group.configurations[std::size_t(k)].slots[t];
        cost += group.configurations[std::size_t(k)].cost;
      }
      return brute_force(gain, slots) - cost;
    };
    double best = 0;
    for (int a = 0; a < int(group.configurations.size()); ++a)
      for (int b = a; b < int(group.configurations.size()); ++b) best = std::max(best, value({a, b}));

    SlotMarket market;
    market.reset(3);
    for (const auto& row : gain) market.add_item(row, 1);
    std::vector<SizeGroup> groups{group};
    SizePlanner().optimise(market, groups);
    std::vector<int> chosen;
    for (std::size_t k = 0; k < groups[0].gpus.size(); ++k)
      for (std::int64_t n = 0; n < groups[0].gpus[k]; ++n) chosen.push_back(int(k));
    ASSERT_EQ(chosen.size(), 2u);
    const double found = value(chosen);
    ASSERT_LE(found, best + 1e-9);
    ASSERT_GE(found, 0.8 * best - 1e-9);
    found_sum += found;
    best_sum += best;
  }
  EXPECT_GE(found_sum, 0.99 * best_sum);
}

TEST(MarketPlannerProperty, PlansAreLegalAndEveryJobIsDone) {
  for (const char* gpus : {"2xa100-40gb", "1xa100-40gb,1xa30-24gb", "2xh200-141gb"})
    for (const std::size_t exact_jobs : {std::size_t(512), std::size_t(0)})
      for (int c = 0; c < cases(2); ++c) {
        SCOPED_TRACE(fmt::format("{} exact {} seed {}", gpus, exact_jobs, c));
        Setting setting;
        setting.platform = fixture::platform(
            gpus, std::string_view(gpus).find("a30") != std::string_view::npos ? "linear:50:30:250" : "auto");
        setting.workload = "paper:4x";
        const auto day = make_day(setting, std::uint64_t(c) + 1);
        ASSERT_TRUE(day) << day.error().what;
        MarketOptions options;
        options.w = per_job_weight(setting, day->jobs->workload());
        options.exact_jobs = exact_jobs;
        MarketPlanner planner(options);
        const std::vector<Shape> whole = [&] {
          auto named = make_policy("market", {}, setting.cost, *setting.platform);
          return named.value().initial;
        }();
        const SimSetup setup{setting.platform, day->jobs, setting.cost,
                             initial_layouts(*setting.platform, whole).value(),
                             energy_weight(setting, day->jobs->workload())};
        const auto result = simulate(setup, planner);
        ASSERT_TRUE(result) << result.error().what;
        EXPECT_EQ(result->refused, 0u) << result->last_refusal;
        EXPECT_EQ(result->final.unfinished(), 0u);
      }
}

TEST(MarketPlannerProperty, RandomWorldsEndWithEveryJobDone) {
  for (int c = 0; c < cases(400); ++c) {
    const random_world::World world = random_world::make(std::uint64_t(c) + 9000);
    SCOPED_TRACE(world.words());
    MarketOptions options;
    options.w = c % 2 ? 1e-3 : 1;
    options.exact_jobs = c % 5 == 0 ? 0 : 512;
    MarketPlanner planner(options);
    const auto result = simulate({world.platform, world.jobs, {}, world.initial, 1e-4}, planner);
    if (!result) {  // the only reason to end early: a job that no slice of the fleet can hold
      ASSERT_NE(result.error().what.find("can never"), std::string::npos) << result.error().what;
      continue;
    }
    ASSERT_EQ(result->refused, 0u) << result->last_refusal;
    ASSERT_EQ(result->final.unfinished(), 0u);
  }
}

TEST(MarketPlannerProperty, MeanFieldFormIsCloseToTheExactOne) {
  Setting setting;
  setting.platform = fixture::platform("8xa100-40gb");
  setting.workload = "paper:18x";
  double exact = 0, mean_field = 0;
  for (int c = 0; c < cases(3); ++c) {
    const auto day = make_day(setting, std::uint64_t(c) + 50);
    ASSERT_TRUE(day);
    for (const bool is_exact : {true, false}) {
      MarketOptions options;
      options.w = per_job_weight(setting, day->jobs->workload());
      options.exact_jobs = is_exact ? 1'000'000 : 0;
      MarketPlanner planner(options);
      const std::vector<Shape> whole = make_policy("market", {}, {}, *setting.platform).value().initial;
      const SimSetup setup{setting.platform,
                           day->jobs,
                           {},
                           initial_layouts(*setting.platform, whole).value(),
                           energy_weight(setting, day->jobs->workload())};
      const auto result = simulate(setup, planner);
      ASSERT_TRUE(result);
      (is_exact ? exact : mean_field) += result->summary.et;
    }
  }
  EXPECT_NEAR(mean_field / exact, 1, 0.15) << "exact " << exact << " mean field " << mean_field;
}

// Few jobs on many GPUs: nobody waits for the next event, which may be hours away.
TEST(MarketPlannerProperty, NoJobIsLateOnAnIdleFleetOfAnySize) {
  for (const char* costs : {"paper", "hardware"})
    for (const int gpus : {8, 9, 33, 64}) {
      SCOPED_TRACE(fmt::format("{} GPUs, {} costs", gpus, costs));
      const auto platform = fixture::platform(fmt::format("{}xa100-40gb", gpus));
      std::vector<Job> jobs;
      for (const auto& [submit, hours] : {std::pair{0, 10.0}, std::pair{5, 10.0}, std::pair{8, 1.0}})
        jobs.push_back(fixture::job(submit / 60.0, submit / 60.0 + hours * 67, fixture::linear(hours * 60)));
      const CostModel cost = *CostModel::parse(costs);
      auto named = make_policy(cost.free() ? "market" : "planner", {}, cost, *platform);
      ASSERT_TRUE(named) << named.error().what;
      const SimSetup setup{platform, fixture::bind(jobs, *platform), cost,
                           initial_layouts(*platform, named->initial).value(), 2e-7};
      const auto result = simulate(setup, *named->policy);
      ASSERT_TRUE(result) << result.error().what;
      EXPECT_EQ(result->summary.late_jobs, 0u);
      EXPECT_LT(result->summary.mean_wait_min, 0.1);
    }
}

}  // namespace
}  // namespace smartmig
