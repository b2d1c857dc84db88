#include "queue/belief/belief.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

Belief belief_of(const char* fleet, BoardSharing sharing) {
  auto platform = Platform::parse(fleet);
  SMARTMIG_CHECK(bool(platform), "{}", platform ? "" : platform.error().what);
  Belief belief(std::make_shared<const Platform>(std::move(*platform)), UnixTime{}, 4);
  belief.set_sharing(sharing);
  return belief;
}

JobRecord an_hour_of(const char* kind) {
  JobRecord record;
  record.spec.kind = kind;
  record.work.estimate = std::chrono::hours(1);
  return record;
}

double seconds_on(const Belief& belief, const char* kind, int slices) {
  return seconds(belief.time_on(an_hour_of(kind), slices));
}

TEST(Belief, ASoftSliceTakesTheTimeOfWhatItMayUse) {
  const Belief mig = belief_of("1xh200-141gb", {}), apart = belief_of("1xh200-141gb", {true, 1}),
               twice = belief_of("1xh200-141gb", {true, 2}), all = belief_of("1xh200-141gb", {true, 7});
  for (const char* kind : {"", "bert-train-32"}) {
    SCOPED_TRACE(kind);
    EXPECT_GT(seconds_on(mig, kind, 1), 1.2 * seconds_on(mig, kind, 7));
    EXPECT_DOUBLE_EQ(seconds_on(apart, kind, 1), seconds_on(mig, kind, 1));
    EXPECT_DOUBLE_EQ(seconds_on(twice, kind, 1), seconds_on(mig, kind, 2));
    EXPECT_DOUBLE_EQ(seconds_on(twice, kind, 2), seconds_on(mig, kind, 4));
    EXPECT_DOUBLE_EQ(seconds_on(twice, kind, 4), seconds_on(mig, kind, 7));
    for (const int slices : {1, 2, 3, 4, 7}) EXPECT_DOUBLE_EQ(seconds_on(all, kind, slices), 3600);
  }
}

TEST(Belief, WhatALikeCommandTookIsTakenAsItWas) {
  const Belief all = belief_of("1xh200-141gb", {true, 7});
  JobRecord record = an_hour_of("");
  record.work.shape.fill(1);
  record.work.shape[0] = 1.5;
  EXPECT_DOUBLE_EQ(seconds(all.time_on(record, 1)), 5400) << "history knows what slices may use";
}

TEST(Belief, NeighboursCountWhereTheyUseTheSameSms) {
  JobRecord record = an_hour_of("");
  record.work.log_slowdown = 0.7;
  for (const BoardSharing sharing : {BoardSharing{}, BoardSharing{true, 1}})
    EXPECT_EQ(belief_of("1xh200-141gb", sharing).job_of(record, kNeverUnix).crowding.log_slowdown, 0);
  const Belief shared = belief_of("1xh200-141gb", {true, 7});
  EXPECT_EQ(shared.job_of(record, kNeverUnix).crowding.log_slowdown, 0.7);
  EXPECT_NEAR(seconds(shared.time_on(record, 7)), 3600, 1e-6) << "a guess is taken as it is";
  record.work.source = EstimateSource::kGiven;
  const Job told = shared.job_of(record, kNeverUnix);
  EXPECT_NEAR(seconds(told.work_on(7)) * told.crowding.factor(0), 3600, 1e-5) << "what its owner told is a time alone";
  EXPECT_GT(seconds(told.work_on(7)), 1.8 * 3600);
}

}  // namespace
}  // namespace smartmig
