#include "model/job_table.h"

#include <gtest/gtest.h>

#include "model/speed.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

TypeId type_named(const Platform& platform, std::string_view gpu, std::string_view profile) {
  for (std::size_t t = 0; t < platform.types().size(); ++t)
    if (platform.models()[std::size_t(platform.types()[t].model)].gpu->name() == gpu &&
        platform.profile(TypeId(t)).name == profile)
      return TypeId(t);
  return kNoType;
}

TEST(JobTable, TimesOnTheReferenceModelAreTheJobsOwn) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto table = fixture::bind({fixture::job(0, 1, {70, 40, -1, 20, 10})}, *platform);
  const auto work = [&](const char* profile) {
    return table->work(JobId(0), type_named(*platform, "a100-40gb", profile));
  };
  EXPECT_EQ(work("1g.5gb"), min(70));
  EXPECT_EQ(work("1g.10gb"), min(70));  // as many SMs: the same speed
  EXPECT_EQ(work("2g.10gb"), min(40));
  EXPECT_EQ(work("3g.20gb"), kCannotRun);
  EXPECT_EQ(work("7g.40gb"), min(10));
  EXPECT_EQ(table->mem_mib(JobId(0)), -1);
  EXPECT_EQ(table->added_watts(JobId(0), TypeId(0)), 0);
}

// 1g.20gb of an H100 has more SMs than 1g.10gb: its time follows from 2g, its size does not.
TEST(JobTable, ASliceOfMoreSmsIsOfItsOwnSize) {
  const auto platform = fixture::platform("1xh100-80gb-sxm");
  auto table = JobTable::growing(*platform, "h100-80gb-sxm", 2, true);
  ASSERT_TRUE(table) << table.error().what;
  ASSERT_TRUE(table->put(JobId(0), fixture::job(0, 1, {-1, 40, -1, -1, -1}), "two", "", *platform));
  ASSERT_TRUE(table->put(JobId(1), fixture::job(0, 1, {70, -1, -1, -1, -1}), "one", "", *platform));
  const auto runs = [&](unsigned job, const char* profile) {
    return table->work(JobId(job), type_named(*platform, "h100-80gb-sxm", profile)) >= Time{0};
  };
  EXPECT_FALSE(runs(0, "1g.20gb"));
  EXPECT_TRUE(runs(0, "2g.20gb"));
  EXPECT_TRUE(runs(1, "1g.20gb"));
  EXPECT_FALSE(runs(1, "2g.20gb"));
}

TEST(JobTable, SoftSlicesTakeTheTimesOfTheModelItself) {
  const auto platform = fixture::platform("1xh200-141gb-soft");
  auto workload = std::make_shared<Workload>();
  workload->reference_gpu = "h200-141gb";
  workload->kinds = {"llm-decode-8"};
  workload->jobs = {fixture::job(0, 1, {70, 40, 30, 20, 10}, 0)};
  workload->jobs[0].mem_mib = 5000;
  const auto table = JobTable::bind(workload, *platform);
  ASSERT_TRUE(table) << table.error().what;
  const auto work = [&](const char* profile) {
    return table->work(JobId(0), type_named(*platform, "h200-141gb-soft", profile));
  };
  EXPECT_EQ(work("1g.18gb"), min(70));
  EXPECT_EQ(work("1g.8gb"), min(70));
  EXPECT_EQ(work("3g.71gb"), min(30));
}

TEST(JobTable, OtherModelsBySmsWhenTheKindIsNotMeasured) {
  const auto platform = fixture::platform("1xh200-141gb,1xa30-24gb", "linear:40:30:250");
  const auto table = fixture::bind({fixture::job(0, 1, {70, 40, 30, 20, 10})}, *platform);
  const auto work = [&](const char* gpu, const char* profile) {
    return table->work(JobId(0), type_named(*platform, gpu, profile));
  };
  // The reference has 14, 28, 42, 56 and 98 SMs; the nearest size counts.
  EXPECT_EQ(work("h200-141gb", "1g.18gb"), min(70 * 14.0 / 16));
  EXPECT_EQ(work("h200-141gb", "1g.35gb"), min(40 * 28.0 / 26));
  EXPECT_EQ(work("h200-141gb", "3g.71gb"), min(20 * 56.0 / 60));
  EXPECT_EQ(work("h200-141gb", "7g.141gb"), min(10 * 98.0 / 132));
  EXPECT_EQ(work("a30-24gb", "1g.6gb"), min(70));
  EXPECT_EQ(work("a30-24gb", "4g.24gb"), min(20));
}

TEST(JobTable, OtherModelsByMeasuredSpeeds) {
  const char* kind = "resnet50-infer-8";
  const auto platform = fixture::platform("1xh200-141gb");
  auto workload = std::make_shared<Workload>();
  workload->reference_gpu = "a100-80gb";
  workload->kinds = {kind};
  workload->jobs = {fixture::job(0, 1, {70, 40, 30, 20, 10}, 0)};
  const auto table = JobTable::bind(workload, *platform);
  ASSERT_TRUE(table) << table.error().what;
  const auto& speeds = SpeedTable::builtin();
  const double whole = speeds.throughput(kind, "a100-80gb", "7g.80gb").value();
  for (const char* profile : {"1g.18gb", "1g.35gb", "3g.71gb", "7g.141gb"}) {
    const double here = speeds.throughput(kind, "h200-141gb", profile).value();
    EXPECT_EQ(table->work(JobId(0), type_named(*platform, "h200-141gb", profile)), min(10 * whole / here)) << profile;
  }
}

TEST(JobTable, MemoryDecidesWhereAJobFits) {
  const auto platform = fixture::platform("1xa100-40gb");
  Job own = fixture::job(0, 1, {70, 40, 30, 20, 10}), by_kind = fixture::job(0, 1, {70, 40, 30, 20, 10}, 0);
  own.mem_mib = 4865;  // one MiB more than 1g.5gb has
  Job both = by_kind;
  both.mem_mib = 100;  // its own figure goes before the kind's
  const auto table = fixture::bind({own, by_kind, both}, *platform, {"bert-train-4"});
  const auto fits = [&](unsigned job, const char* profile) {
    return table->work(JobId(job), type_named(*platform, "a100-40gb", profile)) >= Time{0};
  };
  EXPECT_FALSE(fits(0, "1g.5gb"));
  EXPECT_TRUE(fits(0, "1g.10gb"));
  EXPECT_TRUE(fits(0, "2g.10gb"));
  EXPECT_EQ(table->mem_mib(JobId(1)), SpeedTable::builtin().mem_mib("bert-train-4"));  // 9984 MiB: just fits 2g.10gb
  EXPECT_FALSE(fits(1, "1g.5gb"));
  EXPECT_TRUE(fits(1, "2g.10gb"));
  EXPECT_TRUE(fits(2, "1g.5gb"));
}

TEST(JobTable, AJobThatFitsNowhereIsNamed) {
  const auto platform = fixture::platform("2xa100-40gb");
  auto workload = std::make_shared<Workload>();
  workload->names = {"small", "huge"};
  workload->jobs = {fixture::job(0, 1, fixture::linear(1)), fixture::job(0, 1, fixture::linear(1))};
  workload->jobs[1].mem_mib = 50000;
  const auto table = JobTable::bind(workload, *platform);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().what,
            "job huge needs 50000 MiB of GPU memory; the largest slice of 2xa100-40gb, 7g.40gb, has 40320 MiB");
}

TEST(JobTable, AddedWattsFollowTheKind) {
  const auto platform = fixture::platform("1xa100-40gb", "a100-jobs");  // 30 W per slice x utilisation
  const auto table = fixture::bind({fixture::job(0, 1, fixture::linear(1)), fixture::job(0, 1, fixture::linear(1), 0)},
                                   *platform, {"bert-train-2"});
  const TypeId three = type_named(*platform, "a100-40gb", "3g.20gb"),
               whole = type_named(*platform, "a100-40gb", "7g.40gb");
  EXPECT_NEAR(table->added_watts(JobId(0), three), 90, 1e-12);          // unknown kind: fully used
  EXPECT_NEAR(40 + table->added_watts(JobId(1), whole), 160.56, 1e-9);  // what was measured for it on the whole GPU
  EXPECT_NEAR(table->added_watts(JobId(1), three), 120.56 * 3 / 7, 1e-9);
}

}  // namespace
}  // namespace smartmig
