// What the simulator did is what a replay of its journal says, for a policy that moves, preempts and repartitions at
// random.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "report/journal.h"
#include "report/summary_text.h"
#include "sim/simulate.h"
#include "sim/workload_spec.h"

namespace smartmig {
namespace {

// Does everything that is legal, without aim: stops and moves jobs, asks for layouts, starts what fits. Never stops a
// job under costs that make it pay, so that the run ends.
class Wanderer : public Policy {
 public:
  explicit Wanderer(std::uint64_t seed) : rng_(seed) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    std::vector<GpuState> gpus = cluster.gpus();
    std::vector<JobId> waiting;
    const bool calm = cluster.decision() > 4 * cluster.jobs().size();  // towards the end it only finishes
    for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
      const JobState& job = cluster.state(id);
      const bool stop = job.phase == JobPhase::kRunning && cluster.cost().free() && !calm && rng_.below(6) == 0;
      if (stop) {
        plan.stops.push_back(id);
        gpus[index(job.gpu)].busy = gpus[index(job.gpu)].busy.without(job.where);
      }
      if (stop || job.phase == JobPhase::kQueued) waiting.push_back(id);
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const ShapeTable& shapes = *cluster.platform().model(GpuId(g)).shapes;
      const std::vector<Layout> layouts = shapes.layouts_of(shapes.shapes()[rng_.below(shapes.shapes().size())]);
      if (calm || rng_.below(4) != 0 || layouts.empty()) continue;
      const Layout to = layouts[rng_.below(layouts.size())];
      if (!to.contains(gpus[g].busy)) continue;
      plan.reshapes.push_back({GpuId(g), to});
      if (cluster.cost().free()) gpus[g].layout = to;
      gpus[g].target = to;
    }
    if (calm && cluster.running() == 0 &&
        !waiting.empty())  // whatever came of the layouts, the whole GPU takes every job
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        const GpuModel& model = *cluster.platform().model(GpuId(g)).gpu;
        const Layout whole = *model.with({}, model.find_placement(model.find_profile("7g"), 0));
        if (gpus[g].target == whole) continue;
        plan.reshapes.push_back({GpuId(g), whole});
        if (cluster.cost().free()) gpus[g].layout = whole;
        gpus[g].target = whole;
      }
    for (const JobId id : waiting)
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        bool placed = false;
        for (PlacementId p : gpus[g].free()) {
          if (cluster.jobs().work(id, cluster.platform().type_of(GpuId(g), p)) < Time{0}) continue;
          plan.starts.push_back({id, GpuId(g), p});
          gpus[g].busy = *cluster.platform().model(GpuId(g)).gpu->with(gpus[g].busy, p);
          placed = true;
          break;
        }
        if (placed) break;
      }
  }

 private:
  Rng rng_;
};

void expect_equal_replay(const char* spec, const char* gpus, CostModel cost, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("{} on {}, {} costs, seed {}", spec, gpus, cost.name(), seed));
  RunRecord record;
  record.platform = std::make_shared<const Platform>(*Platform::parse(gpus));
  const auto workload = load_workload(spec);
  ASSERT_TRUE(workload) << workload.error().what;
  auto jobs = JobTable::bind(std::make_shared<const Workload>(*workload), *record.platform);
  ASSERT_TRUE(jobs) << jobs.error().what;
  record.jobs = std::make_shared<const JobTable>(std::move(*jobs));
  record.cost = cost;
  record.initial.assign(record.platform->gpus(), Layout{});
  MemoryJournal journal;
  Wanderer policy(seed);
  const auto result = simulate({record.platform, record.jobs, cost, record.initial, 2e-7}, policy, &journal);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->refused, 0u) << result->last_refusal;
  EXPECT_GT(result->summary.repartitions, 0u);
  EXPECT_EQ(result->summary.preemptions > 0 && result->summary.moves > 0, cost.free());
  record.events = &journal.events();
  record.final = &result->final;
  record.summary = result->summary;
  const std::string text = journal_text(record);
  const auto replayed = replay_journal(LineReader::over("journal", text));
  ASSERT_TRUE(replayed) << replayed.error().what;
  EXPECT_EQ(summary_fields((*replayed)->record.summary), summary_fields(result->summary));
  EXPECT_EQ((*replayed)->final.decision(), result->final.decision());
  EXPECT_EQ(journal_text((*replayed)->record), text);
  for (std::size_t j = 0; j < record.jobs->size(); ++j) {
    EXPECT_EQ((*replayed)->final.states()[j].finish, result->final.states()[j].finish) << j;
    EXPECT_EQ((*replayed)->final.states()[j].stops, result->final.states()[j].stops) << j;
    EXPECT_EQ((*replayed)->final.states()[j].joules, result->final.states()[j].joules) << j;
  }
}

TEST(Replay, GivesTheSimulatorsOwnSummary) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    expect_equal_replay("paper:2x,seed=3,hours=8-12", "2xa100-40gb", {}, seed);
    expect_equal_replay("paper:2x,seed=3,hours=8-12", "2xa100-40gb", {CostModel::kHardware, {}}, seed);
    expect_equal_replay("miso:1x,seed=5,hours=9-12", "1xa100-40gb,1xh200-141gb", {}, seed);
    expect_equal_replay("paper:2x,seed=4,hours=8-12", "2xa100-40gb", {CostModel::kHardware, from_seconds(3)}, seed);
  }
}

}  // namespace
}  // namespace smartmig
