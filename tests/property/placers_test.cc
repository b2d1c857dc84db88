// The fast placers against their definition, PlainPlacer with the plain rule. Not similar: the same slices at the same
// microseconds.
#include <gtest/gtest.h>

#include <numeric>

#include "policy/placing/fast_cedf.h"
#include "policy/placing/placing_rules.h"
#include "policy/placing/plain_placer.h"
#include "policy/placing/queue_placer.h"
#include "policy/placing/slice_rules.h"
#include "random_world.h"

namespace smartmig {
namespace {

using namespace random_world;

struct Run {
  MemoryJournal journal;
  std::unique_ptr<Session> session;
};

struct PlacerSetting {
  std::uint64_t reshape_one_in = 0;  // 0: layouts stay
  CostModel cost{};
  bool meddled = false;  // plans are changed before they are carried out
};

// Drops starts and stops jobs at random, by (seed, decision, job) alone: what a placer has kept is then not what is.
class Meddler : public Policy {
 public:
  Meddler(Policy& inner, std::uint64_t seed) : inner_(inner), seed_(seed) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    inner_.decide(cluster, plan);
    std::erase_if(plan.starts,
                  [&](const Start& s) { return Rng(mix64(seed_, cluster.decision()), index(s.job)).below(5) == 0; });
    if (Rng(seed_, cluster.decision()).below(4) != 0) return;
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
      if (cluster.refusal_of_stop(job) == Refusal::kNone &&
          std::find(plan.stops.begin(), plan.stops.end(), job) == plan.stops.end())
        return plan.stops.push_back(job);
  }

 private:
  Policy& inner_;
  std::uint64_t seed_;
};

Run run_with(const World& world, std::unique_ptr<Placer> placer, const PlacerSetting& setting) {
  std::unique_ptr<Repartitioner> shapes;
  if (setting.reshape_one_in > 0)
    shapes = std::make_unique<RandomShapes>(world, setting.reshape_one_in);
  else
    shapes = std::make_unique<FixedShapes>(world.shapes);
  PairPolicy policy(std::move(shapes), std::move(placer));
  Meddler meddler(policy, world.seed);
  Run out;
  Cluster cluster(world.platform, world.jobs, setting.cost, world.initial);
  SimFleet fleet(cluster);
  out.session = std::make_unique<Session>(fleet, std::move(cluster), &out.journal);
  Policy& decides = setting.meddled ? static_cast<Policy&>(meddler) : policy;
  Plan plan;
  for (int step = 0; step < 4000 && out.session->advance(); ++step, plan.clear()) {  // meddling may never end
    decides.decide(out.session->cluster(), plan);
    out.session->act(plan);
  }
  return out;
}

// Events in words: starts, arrivals and completions in their order; stops of one instant in any order.
std::vector<std::string> words(const MemoryJournal& journal, bool stops) {
  std::vector<std::string> out;
  for (const Event& e : journal.events())
    if ((e.kind == EventKind::kStopped) == stops)
      out.push_back(fmt::format("{:020} kind {} job {} gpu {} where {} layout {}", e.at.count(), int(e.kind),
                                index(e.job), index(e.gpu), index(e.where), e.layout.bits()));
  if (stops) std::sort(out.begin(), out.end());
  return out;
}

void expect_same(const World& world, std::unique_ptr<PlacingRule> rule, std::unique_ptr<Placer> placer,
                 const PlacerSetting& setting) {
  const Run plain = run_with(world, std::make_unique<PlainPlacer>(std::move(rule)), setting);
  const Run fast = run_with(world, std::move(placer), setting);
  if (!setting.meddled) {
    ASSERT_EQ(plain.session->refused(), 0u) << plain.session->last_refusal();
    ASSERT_EQ(fast.session->refused(), 0u) << fast.session->last_refusal();
  }
  const auto expected = words(plain.journal, false), found = words(fast.journal, false);
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i)
    ASSERT_EQ(found[i], expected[i]) << "event " << i;
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(words(fast.journal, true), words(plain.journal, true));
  const Cluster &a = plain.session->cluster(), &b = fast.session->cluster();
  for (std::size_t j = 0; j < world.jobs->size(); ++j)
    ASSERT_EQ(a.states()[j].finish, b.states()[j].finish) << "job " << j;
  ASSERT_EQ(a.total_joules(), b.total_joules());
  ASSERT_EQ(a.counters().preemptions, b.counters().preemptions);
  ASSERT_EQ(a.counters().moves, b.counters().moves);
  ASSERT_EQ(a.counters().repartitions, b.counters().repartitions);
}

TEST(PlacersProperty, FastCedfIsCedf) {
  for (int i = 0; i < cases(2000); ++i) {
    const World world = make(1000 + std::uint64_t(i), i % 4 == 3);
    SCOPED_TRACE(world.words());
    expect_same(world, make_cedf_rule(), std::make_unique<FastCedf>(), {});
    if (HasFatalFailure()) return;
  }
}

TEST(PlacersProperty, FastCedfIsCedfWhileLayoutsChange) {
  for (int i = 0; i < cases(1000); ++i) {
    const World world = make(5000 + std::uint64_t(i), i % 4 == 3);
    SCOPED_TRACE(world.words());
    expect_same(world, make_cedf_rule(), std::make_unique<FastCedf>(), {1 + std::uint64_t(i) % 6});
    if (HasFatalFailure()) return;
  }
}

// EDF and FIFO by the book: GPUs sorted anew for every job.
class PlainPacked : public PlacingRule {
 public:
  explicit PlainPacked(bool by_deadline) : by_deadline_(by_deadline) {}
  void order(const Cluster& cluster, std::vector<JobId>& jobs) override {
    if (by_deadline_) order_by_deadline(cluster, jobs);
  }
  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    std::vector<std::uint32_t> order(board.gpus().size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const PlacingState::Gpu &ga = board.gpus()[a], &gb = board.gpus()[b];
      return ga.taken_slices * std::max(1, gb.total_slices) > gb.taken_slices * std::max(1, ga.total_slices);
    });
    return first_on_time_else_earliest(cluster, board, job, order);
  }

 private:
  bool by_deadline_;
};

struct RulePair {
  const char* name;
  std::unique_ptr<PlacingRule> (*plain)();
  std::unique_ptr<TurnRule> (*fast)();
};
using PlainRule = std::unique_ptr<PlacingRule>;
const RulePair kRulePairs[] = {
    {"edf", []() -> PlainRule { return std::make_unique<PlainPacked>(true); }, [] { return make_edf_rule(); }},
    {"fifo", []() -> PlainRule { return std::make_unique<PlainPacked>(false); }, [] { return make_fifo_rule(); }},
    {"cedf", []() -> PlainRule { return make_cedf_rule(); }, [] { return make_indexed_cedf_rule(); }},
    {"met", []() -> PlainRule { return make_met_rule(3e-3); }, [] { return make_met_rule(3e-3); }},
    {"random", []() -> PlainRule { return make_random_rule(5); }, [] { return make_random_rule(5); }},
    {"dedicated", []() -> PlainRule { return make_dedicated_rule(0); }, [] { return make_dedicated_rule(0); }},
    {"edf-fast", []() -> PlainRule { return make_single_rule(false, true); },
     [] { return make_single_rule(false, true); }},
    {"edf-slow", []() -> PlainRule { return make_single_rule(false, false); },
     [] { return make_single_rule(false, false); }},
    {"llf-fast", []() -> PlainRule { return make_single_rule(true, true); },
     [] { return make_single_rule(true, true); }},
    {"llf-slow", []() -> PlainRule { return make_single_rule(true, false); },
     [] { return make_single_rule(true, false); }},
};

void expect_queue_placer_is_plain(std::uint64_t first_seed, int worlds, const CostModel& cost) {
  for (int i = 0; i < worlds; ++i) {
    const World world = make(first_seed + std::uint64_t(i), i % 4 == 3);
    for (const RulePair& rule : kRulePairs) {
      const PlacerSetting setting{std::uint64_t(i) % 5, cost, i % 3 == 2};
      SCOPED_TRACE(fmt::format("{}, {}, reshapes one in {}, meddled {}", world.words(), rule.name,
                               setting.reshape_one_in, setting.meddled));
      expect_same(world, rule.plain(), std::make_unique<QueuePlacer>(rule.fast()), setting);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(PlacersProperty, QueuePlacerIsPlainUnderPaperCosts) { expect_queue_placer_is_plain(20000, cases(60), {}); }
TEST(PlacersProperty, QueuePlacerIsPlainUnderHardwareCosts) {
  expect_queue_placer_is_plain(30000, cases(60), {CostModel::kHardware, {}});
}

}  // namespace
}  // namespace smartmig
