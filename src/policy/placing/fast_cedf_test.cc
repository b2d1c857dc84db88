// FastCedf where rounding decides. tests/property/placers_test.cc shows that it equals CEDF in general.
#include "policy/placing/fast_cedf.h"

#include <gtest/gtest.h>

#include "support/placing_scene.h"

namespace smartmig {
namespace {

using Plans = std::vector<std::string>;

TEST(FastCedf, NoticesTheInstantASlowerSliceSuffices) {
  // 4g+3g. On 4g the job takes 1000 s, on 3g 1000.2 s; due 100 us after its end on 4g, it is late on 3g at first. With
  // x us left on 4g it needs 1.0002 x on 3g: on time as soon as 0.0002 x rounds to 100, which is at x = 502,499.
  Job nearly = fixture::job(0, -1, {});
  nearly.work[2] = Time(1'000'200'000);
  nearly.work[3] = Time(1'000'000'000);
  nearly.deadline = Time(1'000'000'100);
  for (const auto& [left, moves] :
       {std::pair{510'000, false}, std::pair{502'501, false}, std::pair{502'490, true}, std::pair{400'000, true}}) {
    Job later = fixture::job(0, -1, {-1, -1, -1, -1, 5});  // runs on 7g only; its arrival is an occasion to decide
    later.submit = Time(1'000'000'000 - left);
    const auto platform = fixture::platform("1xa100-40gb");
    Cluster cluster(platform, fixture::bind({nearly, later}, *platform), {},
                    fixture::layouts(*platform, {"4g@0+3g@4"}));
    FastCedf fast;
    PlainPlacer plain(make_cedf_rule());
    const UsableSlices usable{fixture::layouts(*platform, {"4g@0+3g@4"}), 1};
    const auto decide = [&](Placer& placer) {
      Plan plan;
      placer.place(cluster, usable, plan);
      Plans words;
      for (JobId job : plan.stops) words.push_back(fmt::format("stop {}", index(job)));
      for (const Start& s : plan.starts)
        words.push_back(fmt::format("{}>{}", index(s.job), fixture::name(*platform, s.gpu, s.where)));
      return words;
    };
    cluster.begin_decision();
    cluster.apply(Event::submitted(Time{0}, JobId(0)));
    ASSERT_EQ(decide(fast), (Plans{"0>0:4g.20gb@0"}));
    cluster.apply(Event::started(Time{0}, JobId(0), GpuId(0), fixture::slice(*platform, 0, "4g@0")));
    cluster.end_decision(false);
    cluster.begin_decision();
    cluster.apply(Event::submitted(later.submit, JobId(1)));
    const Plans expected = moves ? Plans{"stop 0", "0>0:3g.20gb@4"} : Plans{};
    EXPECT_EQ(decide(plain), expected) << left;
    EXPECT_EQ(decide(fast), expected) << left;
  }
}

TEST(FastCedfDeathTest, PlacesUnderPaperCostsOnly) {
  fixture::PlacingScene d("1xa100-40gb", {"7g@0"}, {fixture::job(0, 1, fixture::linear(1))},
                          {CostModel::kHardware, {}});
  FastCedf fast;
  EXPECT_DEATH(d.plan_of(fast), "paper costs only");
}

}  // namespace
}  // namespace smartmig
