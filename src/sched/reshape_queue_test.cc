#include "sched/reshape_queue.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

struct Reshaping {
  CostModel cost;
  std::shared_ptr<const Platform> platform = fixture::platform("2xa100-40gb");
  std::shared_ptr<const JobTable> jobs = fixture::bind({fixture::job(0, 9, fixture::linear(5))}, *platform);
  Cluster cluster{platform, jobs, cost, fixture::layouts(*platform, {"4g@0+3g@4", "7g@0"})};
  ReshapeQueue queue{cluster};

  void ask(unsigned gpu, const char* layout) {
    cluster.apply(Event::reshape_asked(cluster.now(), GpuId(gpu), fixture::layout(*platform, gpu, layout)));
    queue.asked(GpuId(gpu));
  }
  // What begins now: "0 -4g.20gb@0", "1 +7g.40gb@0". Destroys are gone at once, as both fleets tell of them.
  std::vector<std::string> begin(bool stop_at_destroy = false) {
    std::vector<std::string> out;
    const auto words = [&](GpuId gpu, Layout layout) { return to_string(*platform->model(gpu).gpu, layout); };
    queue.begin_operations(
        cluster, [](GpuId) { return true; },
        [&](const InstanceChange& change) {
          out.push_back(fmt::format("{}", index(change.gpu)));
          if (!change.destroys.empty()) out.back() += " -" + words(change.gpu, change.destroys);
          if (!change.creates.empty()) out.back() += " +" + words(change.gpu, change.creates);
          if (!change.destroys.empty()) cluster.apply(Event::destroyed(cluster.now(), change.gpu, change.destroys));
          return stop_at_destroy && !change.destroys.empty();
        });
    return out;
  }
  void created(unsigned gpu, const char* layout) {
    cluster.apply(Event::created(cluster.now(), GpuId(gpu), fixture::layout(*platform, gpu, layout)));
    queue.ended(GpuId(gpu));
  }
};
using Words = std::vector<std::string>;

TEST(ReshapeQueue, OneOperationAtATimeInOrderOfAsking) {
  Reshaping w{{CostModel::kHardware, {}}};
  w.ask(1, "4g@0+3g@4");
  w.ask(0, "7g@0");
  w.ask(1, "4g@0+3g@4");
  EXPECT_EQ(w.begin(true), (Words{"1 -7g.40gb@0"}));
  EXPECT_EQ(w.begin(), (Words{"0 -3g.20gb@4"})) << "GPU 1 is in its operation";
  EXPECT_TRUE(w.queue.operating(GpuId(0)));
  EXPECT_EQ(w.begin(), Words{});
  w.queue.ended(GpuId(1));
  w.queue.ended(GpuId(0));
  EXPECT_EQ(w.begin(), (Words{"1 +3g.20gb@4", "0 -4g.20gb@0"}));
  w.created(1, "3g@4");
  w.queue.ended(GpuId(0));
  EXPECT_EQ(w.begin(), (Words{"1 +4g.20gb@0", "0 +7g.40gb@0"}));
  w.created(1, "4g@0");
  w.created(0, "7g@0");
  EXPECT_EQ(w.begin(), Words{});
  EXPECT_TRUE(w.queue.under_way().empty());
}

TEST(ReshapeQueue, ABusySliceIsWaitedFor) {
  Reshaping w{{CostModel::kHardware, {}}};
  w.cluster.apply(Event::submitted({}, JobId(0)));
  w.cluster.apply(Event::started({}, JobId(0), GpuId(1), fixture::slice(*w.platform, 1, "7g@0")));
  w.ask(1, "4g@0+3g@4");
  EXPECT_EQ(w.begin(), Words{});
  EXPECT_EQ(w.queue.under_way().size(), 1u);
  w.cluster.apply(Event::finished(min(5), JobId(0)));
  EXPECT_EQ(w.begin(), (Words{"1 -7g.40gb@0"}));
}

TEST(ReshapeQueue, WithOneTimeForAChangeAllGoesAtOnce) {
  Reshaping w{{CostModel::kHardware, from_seconds(2)}};
  w.ask(0, "2g@0+2g@2+3g@4");
  EXPECT_EQ(w.begin(), (Words{"0 -4g.20gb@0 +2g.10gb@0+2g.10gb@2"}));
}

TEST(ReshapeQueue, PicksUpWhatIsUnderWay) {
  Reshaping w{{CostModel::kHardware, {}}};
  w.ask(0, "7g@0");
  ReshapeQueue other(w.cluster);
  EXPECT_EQ(other.under_way(), (std::vector<GpuId>{GpuId(0)}));
  EXPECT_FALSE(other.operating(GpuId(0)));
}

}  // namespace
}  // namespace smartmig
