#include "serve/attempts/attempt_table.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace smartmig {
namespace {

TEST(AttemptTable, AStartWaitsUntilItsSliceAndItsOwnAreLeft) {
  const TempDir dir;
  auto store = Store::open(dir.path() + "/queue.db");
  ASSERT_TRUE(store);
  LiveJobs book(**store);
  const auto platform = std::make_shared<const Platform>(Platform::parse("1xa100-40gb", "auto").value());
  Belief belief(platform, UnixTime{}, 64);
  const auto accept = [&]() -> JobRecord& {
    JobRecord job;
    job.spec.command = {"x"};
    job.work.estimate = std::chrono::minutes(1);
    JobRecord& taken = book.accept(std::move(job));
    EXPECT_TRUE(belief.put(taken, kNeverUnix));
    return taken;
  };
  JobRecord &a = accept(), &b = accept(), &c = accept();
  AttemptTable table;
  const SliceKey slice{0, 0};
  a.attempt = 1;
  table.take(slice, a.id);
  table.began(a);
  EXPECT_TRUE(table.must_wait(b, slice)) << "the slice is held";
  EXPECT_TRUE(table.must_wait(a, {0, 1})) << "its own attempt is under way";
  for (const JobRecord* job : {&b, &c})
    table.postpone(job->id, {LiveFleet::Effect::kStart, belief.row(job->id), GpuId(0), PlacementId(0)});
  EXPECT_TRUE(table.take_ready(book, belief).empty());
  EXPECT_TRUE(table.ended({number(a.id), 1}));
  EXPECT_FALSE(table.ended({number(a.id), 1})) << "once";
  table.leave(a.id);
  const auto ready = table.take_ready(book, belief);
  ASSERT_EQ(ready.size(), 1u) << "one of the two that want it";
  EXPECT_EQ(ready[0].first, &b);
  table.take(slice, b.id);
  EXPECT_TRUE(table.postponed(c.id));
  EXPECT_EQ(table.holder(slice), b.id);
  EXPECT_EQ(table.on_gpu(0), std::vector<QueueId>{b.id});
  ASSERT_EQ(table.running(book, *platform).size(), 1u);
  EXPECT_EQ(table.running(book, *platform)[0].job, &b);
}

TEST(AttemptTable, AStartOfAJobThatHasLeftTheBeliefIsDropped) {
  const TempDir dir;
  auto store = Store::open(dir.path() + "/queue.db");
  ASSERT_TRUE(store);
  LiveJobs book(**store);
  const Belief belief(std::make_shared<const Platform>(Platform::parse("1xa100-40gb", "auto").value()), UnixTime{}, 64);
  JobRecord job;
  job.spec.command = {"x"};
  const QueueId id = book.accept(std::move(job)).id;
  AttemptTable table;
  table.postpone(id, {LiveFleet::Effect::kStart, JobId(0), GpuId(0), PlacementId(0)});
  EXPECT_TRUE(table.take_ready(book, belief).empty());
  EXPECT_FALSE(table.postponed(id));
}

}  // namespace
}  // namespace smartmig
