#include "model/workload.h"

#include <gtest/gtest.h>

#include <functional>

namespace smartmig {
namespace {

Workload two_jobs() {
  Workload workload;
  workload.source = "test";
  workload.kinds = {"a", "b"};
  for (int i = 0; i < 2; ++i) {
    Job job;
    job.submit = Time(i * 10);
    job.deadline = Time(100);
    job.work[0] = Time(5);
    job.kind = i;
    workload.jobs.push_back(job);
  }
  workload.names = {"x", "y"};
  return workload;
}

TEST(Workload, SortsStablyWithNames) {
  Workload workload = two_jobs();
  workload.jobs.push_back(workload.jobs[0]);
  workload.names.push_back("z");
  workload.jobs[0].submit = Time(10);
  sort_by_submit(workload);
  EXPECT_EQ(workload.names, (std::vector<std::string>{"z", "x", "y"}));
  EXPECT_EQ(workload.jobs[1].kind, 0);
  workload.names.clear();
  workload.jobs[0].submit = Time(11);
  sort_by_submit(workload);
  EXPECT_EQ(workload.jobs[1].kind, 1);
  EXPECT_EQ(workload.jobs[2].submit, Time(11));
}

TEST(Workload, AddKindFindsOrAdds) {
  Workload workload = two_jobs();
  EXPECT_EQ(workload.add_kind("b"), 1);
  EXPECT_EQ(workload.add_kind("c"), 2);
  EXPECT_EQ(workload.kinds.size(), 3u);
}

TEST(Workload, ValidateNamesTheJob) {
  EXPECT_TRUE(validate(two_jobs()));
  const std::vector<std::function<void(Workload&)>> breaks = {
      [](Workload& w) { w.jobs[1].submit = Time(-1); },
      [](Workload& w) { w.jobs[1].submit = from_seconds(kMaxSeconds) + Time(1); },
      [](Workload& w) { w.jobs[0].submit = Time(11); },
      [](Workload& w) { w.jobs[1].work[0] = kCannotRun; },
      [](Workload& w) { w.jobs[1].work[3] = Time(-2); },
      [](Workload& w) { w.jobs[1].work[3] = from_seconds(kMaxSeconds) + Time(1); },
      [](Workload& w) { w.jobs[1].deadline = from_seconds(kMaxSeconds) + Time(1); },
      [](Workload& w) { w.jobs[1].kind = 2; },
      [](Workload& w) { w.jobs[1].mem_mib = -2; },
      [](Workload& w) { w.jobs[1].restart = kNever; }};
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    Workload workload = two_jobs();
    breaks[i](workload);
    const auto result = validate(workload);
    ASSERT_FALSE(result) << "case " << i;
    EXPECT_NE(result.error().what.find("job y"), std::string::npos) << result.error().what;
  }
  Workload workload = two_jobs();
  workload.names[1] = "x";
  EXPECT_FALSE(validate(workload));
  workload.names.pop_back();
  EXPECT_FALSE(validate(workload));
  workload = two_jobs();
  workload.days = 0;
  EXPECT_FALSE(validate(workload));
}

TEST(Workload, DeadlineBeforeSubmitAndZeroWorkAreLegal) {
  Workload workload = two_jobs();
  workload.jobs[1].deadline = Time(-5);
  workload.jobs[1].work[0] = Time(0);
  EXPECT_TRUE(validate(workload));
}

TEST(Workload, HashSeesEveryFieldOfASimulation) {
  const std::uint64_t base = hash_of(two_jobs());
  EXPECT_EQ(base, hash_of(two_jobs()));
  const std::vector<std::function<void(Workload&)>> changes = {[](Workload& w) { w.jobs[1].submit = Time(11); },
                                                               [](Workload& w) { w.jobs[1].deadline = kNever; },
                                                               [](Workload& w) { w.jobs[1].work[7] = Time(0); },
                                                               [](Workload& w) { w.jobs[1].kind = -1; },
                                                               [](Workload& w) { w.kinds[1] = "c"; },
                                                               [](Workload& w) { w.jobs[1].mem_mib = 0; },
                                                               [](Workload& w) { w.jobs[1].restart = Time(0); },
                                                               [](Workload& w) { w.reference_gpu = "a30-24gb"; },
                                                               [](Workload& w) { w.names[1] = "q"; },
                                                               [](Workload& w) { w.days = 2; },
                                                               [](Workload& w) {
                                                                 w.jobs.pop_back();
                                                                 w.names.pop_back();
                                                               }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Workload workload = two_jobs();
    changes[i](workload);
    EXPECT_NE(base, hash_of(workload)) << "change " << i;
  }
  Workload same = two_jobs();
  same.source = "elsewhere";
  same.rules = {"other words"};
  same.jobs[0].restart = Time(-7);
  std::swap(same.kinds[0], same.kinds[1]);
  std::swap(same.jobs[0].kind, same.jobs[1].kind);
  EXPECT_EQ(base, hash_of(same));
}

}  // namespace
}  // namespace smartmig
