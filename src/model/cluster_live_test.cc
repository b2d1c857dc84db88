// How live worlds change the belief: withdrawals, overruns, blocked GPUs, resumption, growth and renumbering.
#include <gtest/gtest.h>

#include "model/cluster.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;
constexpr CostModel kLiveCosts{CostModel::kHardware, {}};

struct Live {
  std::shared_ptr<const Platform> platform = fixture::platform("2xa100-40gb");
  std::shared_ptr<JobTable> table =
      std::make_shared<JobTable>(std::move(JobTable::growing(*platform, "a100-40gb", 8).value()));
  Cluster cluster{platform, table, kLiveCosts, fixture::layouts(*platform, {"4g@0+3g@4", "7g@0"})};
  JobId put(unsigned row, double minutes, const std::string& kind = "") {
    table->put(JobId(row), fixture::job(0, 99, fixture::linear(minutes)), "j" + std::to_string(row), kind, *platform)
        .value();
    return JobId(row);
  }
  void tell(const Event& event) { cluster.apply(event); }
  PlacementId slice(unsigned gpu, const char* text) const { return fixture::slice(*platform, gpu, text); }
};

TEST(LiveCluster, AWithdrawnJobLeavesItsSliceAndTheQueue) {
  Live w;
  const JobId a = w.put(0, 5), b = w.put(1, 5);
  w.tell(Event::submitted(min(0), a));
  w.tell(Event::submitted(min(0), b));
  w.tell(Event::started(min(0), a, GpuId(0), w.slice(0, "4g@0")));
  const auto before = w.cluster.identity();
  w.tell(Event::withdrawn(min(1), a));
  EXPECT_NE(w.cluster.identity(), before);  // incremental policies begin anew
  EXPECT_EQ(w.cluster.state(a).phase, JobPhase::kWithdrawn);
  EXPECT_TRUE(w.cluster.gpu(GpuId(0)).busy.empty());
  EXPECT_EQ(w.cluster.unfinished(), 1u);
  w.tell(Event::withdrawn(min(1), b));
  EXPECT_EQ(w.cluster.unfinished(), 0u);
  EXPECT_EQ(w.cluster.first_unfinished(), kNoJob);
  EXPECT_GT(w.cluster.attributed_joules(a), 0);
}

TEST(LiveCluster, AnOverrunAddsHalfOfWhatHasRun) {
  Live w;
  const JobId a = w.put(0, 7);
  w.tell(Event::submitted(min(0), a));
  w.tell(Event::started(min(0), a, GpuId(1), w.slice(1, "7g@0")));
  EXPECT_EQ(w.cluster.state(a).finish, min(7));
  w.tell(Event::overrun(min(8), a));
  EXPECT_EQ(w.cluster.state(a).finish, min(12));
  EXPECT_EQ(w.cluster.remaining_on(a, w.cluster.state(a).type), min(4));
}

TEST(LiveCluster, ABlockedGpuOffersNothingAndRunsOn) {
  Live w;
  const JobId a = w.put(0, 5), b = w.put(1, 5);
  w.tell(Event::submitted(min(0), a));
  w.tell(Event::submitted(min(0), b));
  w.tell(Event::started(min(0), a, GpuId(0), w.slice(0, "4g@0")));
  w.tell(Event::blocked(min(1), GpuId(0)));
  EXPECT_TRUE(w.cluster.gpu(GpuId(0)).free().empty());
  EXPECT_EQ(w.cluster.refusal_of_start({b, GpuId(0), w.slice(0, "3g@4")}), Refusal::kGpuBlocked);
  EXPECT_EQ(w.cluster.refusal_of_reshape({GpuId(0), fixture::layout(*w.platform, 0, "7g@0")}), Refusal::kGpuBlocked);
  EXPECT_NE(explain(w.cluster, Refusal::kGpuBlocked, b, GpuId(0), kNoPlacement).find("GPU 0"), std::string::npos);
  w.tell(Event::unblocked(min(2), GpuId(0)));
  EXPECT_EQ(w.cluster.refusal_of_start({b, GpuId(0), w.slice(0, "3g@4")}), Refusal::kNone);
  w.tell(Event::finished(min(30), a));
}

TEST(LiveCluster, TheTableTakesRowsAndKindsAsTheyCome) {
  Live w;
  const JobId a = w.put(0, 5), b = w.put(1, 5, "bert-train-8");
  EXPECT_EQ(w.table->job(a).kind, -1);
  EXPECT_EQ(w.table->workload().kind_of(w.table->job(b)), "bert-train-8");
  EXPECT_EQ(w.table->work(b, w.platform->type_of(GpuId(1), w.slice(1, "7g@0"))), min(5));
  const auto refused = w.table->put(JobId(2), Job{}, "none", "", *w.platform);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("none"), std::string::npos) << refused.error().what;
  EXPECT_EQ(w.cluster.state(JobId(2)).phase, JobPhase::kAbsent);
}

TEST(LiveCluster, FoundRunningAndRenumberedItGoesOnAsBefore) {
  Live w;
  Cluster fresh(w.platform, w.table, kLiveCosts, fixture::layouts(*w.platform, {"4g@0+3g@4", "7g@0"}), min(60));
  const JobId gone = w.put(0, 5), run = w.put(1, 7), queued = w.put(2, 3);
  fresh.apply(Event::submitted(min(60), gone));
  fresh.apply(Event::submitted(min(60), run));
  const auto before = fresh.identity();
  fresh.apply(Event::found_running(min(60), run, GpuId(1), w.slice(1, "7g@0"), min(4)));
  EXPECT_NE(fresh.identity(), before);
  fresh.apply(Event::submitted(min(60), queued));
  fresh.apply(Event::withdrawn(min(61), gone));
  EXPECT_EQ(fresh.state(run).finish, min(64));
  EXPECT_EQ(fresh.state(run).first_start, min(57));
  const double joules = fresh.total_joules();
  EXPECT_NEAR(joules, 60 * (fresh.gpu(GpuId(0)).watts + fresh.gpu(GpuId(1)).watts), 1e-6);  // from minute 60 on

  Live other;
  other.put(0, 7);
  other.put(1, 3);
  const JobId keep[] = {run, queued};
  Cluster again = fresh.renumbered(other.table, keep);
  EXPECT_NE(again.identity(), fresh.identity());
  EXPECT_EQ(again.unfinished(), 2u);
  EXPECT_EQ(again.first_unfinished(), JobId(0));
  EXPECT_EQ(again.next_unfinished(JobId(0)), JobId(1));
  EXPECT_EQ(again.gpu(GpuId(1)).job_at[index(w.slice(1, "7g@0"))], JobId(0));
  for (Cluster* cluster : {&fresh, &again}) {
    const JobId id = cluster == &fresh ? run : JobId(0);
    cluster->apply(Event::finished(min(64), id));
  }
  EXPECT_EQ(again.total_joules(), fresh.total_joules());
  EXPECT_EQ(again.attributed_joules(JobId(0)), fresh.attributed_joules(run));
}

TEST(LiveCluster, AFoundJobKeepsWhatItHasDone) {
  Live w;
  Cluster cluster(w.platform, w.table, kLiveCosts, fixture::layouts(*w.platform, {"4g@0+3g@4", "7g@0"}), min(60));
  const JobId runs = w.put(0, 7), waits = w.put(1, 7), longer = w.put(2, 7);
  for (const JobId job : {runs, waits, longer}) cluster.apply(Event::submitted(min(60), job));
  EXPECT_EQ(cluster.total_joules(), 0);
  cluster.apply(Event::found_running(min(60), runs, GpuId(1), w.slice(1, "7g@0"), min(3)));
  EXPECT_EQ(cluster.state(runs).since, min(56));
  EXPECT_EQ(cluster.state(runs).finish, min(63));
  cluster.apply(Event::overrun(min(64), runs));
  EXPECT_EQ(cluster.state(runs).finish, min(68)) << "half of the 8 minutes since it began";

  // Progress counted on a slice that does not exist now, and stated in time on others.
  const TypeId one = w.platform->type_of(GpuId(0), w.slice(0, "1g@6")), whole = cluster.state(runs).type;
  cluster.apply(Event::found_waiting(min(64), waits, GpuId(0), w.slice(0, "1g@6"), min(7)));
  EXPECT_EQ(cluster.state(waits).phase, JobPhase::kQueued);
  EXPECT_EQ(cluster.remaining_on(waits, one), min(7));
  EXPECT_EQ(cluster.remaining_on(waits, whole), min(1));
  EXPECT_EQ(cluster.running(), 1u);

  // More than the whole job is left where it has overrun before.
  cluster.apply(Event::found_running(min(64), longer, GpuId(0), w.slice(0, "4g@0"), min(100)));
  EXPECT_EQ(cluster.state(longer).since, min(64));
  EXPECT_EQ(cluster.state(longer).finish, min(164));
  cluster.apply(Event::stopped(min(65), longer));
  EXPECT_EQ(cluster.state(longer).remaining, min(99));
}

}  // namespace
}  // namespace smartmig
