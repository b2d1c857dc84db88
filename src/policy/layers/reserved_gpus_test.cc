#include "policy/layers/reserved_gpus.h"

#include <gtest/gtest.h>

#include <map>

#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

// Each waiting job on the first free slice that takes it, in the order of the GPUs.
struct FirstFree : Policy {
  void decide(const Cluster& cluster, Plan& plan) override {
    std::vector<Layout> free;
    for (const GpuState& gpu : cluster.gpus()) free.push_back(gpu.free());
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
      if (cluster.state(job).phase != JobPhase::kQueued) continue;
      [&] {
        for (std::size_t g = 0; g < free.size(); ++g)
          for (const PlacementId p : free[g])
            if (cluster.jobs().work(job, cluster.platform().type_of(GpuId(g), p)) >= Time{0}) {
              plan.starts.push_back({job, GpuId(g), p});
              free[g] = free[g].without(p);
              return;
            }
      }();
    }
  }
};

struct Reserved {
  static Job tagged(Job job, std::uint64_t tag) {
    job.reservation = tag;
    return job;
  }
  explicit Reserved(GpuWindows given, std::vector<Job> list)
      : fleet(platform("2xa100-40gb")),
        jobs(bind(list, *fleet)),
        cluster(fleet, jobs, {CostModel::kHardware, {}}, layouts(*fleet, {"7g@0", "7g@0"})),
        windows(std::make_shared<GpuWindows>(std::move(given))),
        policy(std::make_unique<FirstFree>(), windows, [] { return std::make_unique<FirstFree>(); }) {
    for (std::size_t j = 0; j < list.size(); ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
  }
  std::map<std::uint32_t, std::uint32_t> decide(Time now = Time{0}) {  // job -> GPU
    if (now > cluster.now()) cluster.pass(now);
    plan.clear();
    cluster.begin_decision();
    policy.decide(cluster, plan);
    std::map<std::uint32_t, std::uint32_t> out;
    for (const Start& start : plan.starts) {
      EXPECT_EQ(cluster.refusal_of_start(start), Refusal::kNone);
      out[index(start.job)] = index(start.gpu);
    }
    return out;
  }
  std::shared_ptr<const Platform> fleet;
  std::shared_ptr<const JobTable> jobs;
  Cluster cluster;
  std::shared_ptr<GpuWindows> windows;
  ReservedGpus policy;
  Plan plan;
};

using Places = std::map<std::uint32_t, std::uint32_t>;

Job whole(double minutes) { return job(0, 1000, {-1, -1, -1, -1, minutes}); }

TEST(ReservedGpus, WithoutWindowsThePlanIsTheInnerOnes) {
  Reserved r({}, {whole(60), whole(60)});
  EXPECT_EQ(r.decide(), (Places{{0, 0}, {1, 1}}));
  EXPECT_EQ(r.plan.look_again, kNever);
}

TEST(ReservedGpus, BeforeAWindowOnlyWhatEndsInTime) {
  Reserved r({{7, {GpuId(0)}, min(30), min(90)}}, {whole(60), whole(60), whole(30)});
  EXPECT_EQ(r.decide(), (Places{{0, 1}, {2, 0}})) << "a long one elsewhere, a short one in the time before";
  EXPECT_EQ(r.plan.look_again, min(30));
  EXPECT_EQ(r.decide(min(1)), (Places{{0, 1}})) << "now it would be late";
}

TEST(ReservedGpus, InAWindowItsJobsAlone) {
  Reserved r({{7, {GpuId(0)}, min(30), min(90)}}, {whole(10), whole(10), Reserved::tagged(whole(10), 7)});
  EXPECT_EQ(r.decide().count(2), 0u) << "not before";
  EXPECT_EQ(r.decide(min(30)), (Places{{0, 1}, {2, 0}}));
  EXPECT_EQ(r.plan.look_again, min(90));
  EXPECT_EQ(r.decide(min(90)), (Places{{0, 0}, {1, 1}})) << "the window is over; its job has no place";
}

TEST(ReservedGpus, AWindowThatIsRemovedIsForgotten) {
  Reserved r({{7, {GpuId(0), GpuId(1)}, min(0), min(90)}}, {whole(10)});
  EXPECT_EQ(r.decide(), Places{});
  r.windows->clear();
  EXPECT_EQ(r.decide(), (Places{{0, 0}}));
}

TEST(ReservedGpus, AnIdleGpuIsCutForAJobThatEndsInTimeOnAnotherSlice) {
  // 20 minutes on the whole GPU, 60 on a small slice, and the inner policy takes what is there.
  Reserved r({{7, {GpuId(0)}, min(30), min(90)}, {8, {GpuId(1)}, min(0), min(90)}},
             {job(0, 1000, {60, 50, 40, 40, 20})});
  r.cluster.apply(Event::reshape_asked(Time{0}, GpuId(0), {}));
  r.cluster.apply(Event::destroyed(Time{0}, GpuId(0), r.cluster.gpu(GpuId(0)).layout));
  const Layout small = layouts(*r.fleet, {"1g@0", "7g@0"})[0];
  r.cluster.apply(Event::reshape_asked(Time{0}, GpuId(0), small));
  r.cluster.apply(Event::created(Time{0}, GpuId(0), small));
  EXPECT_EQ(r.decide(), Places{});
  ASSERT_EQ(r.plan.reshapes.size(), 1u);
  EXPECT_EQ(r.plan.reshapes[0].gpu, GpuId(0));
  EXPECT_EQ(r.plan.reshapes[0].to, layouts(*r.fleet, {"7g@0", "7g@0"})[0]);
}

}  // namespace
}  // namespace smartmig
