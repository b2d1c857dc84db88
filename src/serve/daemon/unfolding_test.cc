#include "serve/daemon/unfolding.h"

#include "queue/store/sqlite_db.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;
using J = Service::Json;

constexpr int kTasks = 1'700;

void large_array(JobSpec& spec) {
  for (int i = 0; i < kTasks; ++i) spec.array.push_back(3 * i);
  spec.environment = {"A=1"};
}

// Every task once, with the number that follows from its place.
void expect_all(Queue& q, QueueId first) {
  ASSERT_EQ(q.daemon().live_jobs().size(), std::size_t(kTasks));
  std::uint64_t n = 0;
  for (const auto& [id, job] : q.daemon().live_jobs()) {
    ASSERT_EQ(number(id), number(first) + n);
    ASSERT_EQ(job.array.index, int(3 * n));
    ASSERT_EQ(job.array.id, first);
    ASSERT_EQ(job.launch.id, number(first));
    ASSERT_EQ(job.array.count, kTasks);
    ++n;
  }
}

void let_all_in_by_parts(Queue& q) {
  do {
    const std::size_t before = q.daemon().live_jobs().size();
    q.daemon().step();
    ASSERT_LE(q.daemon().live_jobs().size() - before, Unfolding::kMostInStep);
  } while (!q.daemon().jobs().unfolding().empty());
}

TEST(DaemonUnfolding, ALargeArrayEntersInParts) {
  Queue q;
  q.daemon().pause(true);
  const auto first = q.submit(q.alice, 10, large_array);
  EXPECT_EQ(q.daemon().live_jobs().size(), Unfolding::kMostInStep);
  EXPECT_TRUE(q.daemon().jobs().unfolding().has(QueueId(number(first) + kTasks - 1)));
  EXPECT_LE(q.daemon().next_due(), q.daemon().now()) << "it goes on at once";
  const auto other = q.submit(q.bob, 10);
  EXPECT_EQ(number(other), number(first) + kTasks);
  EXPECT_TRUE(q.daemon().jobs().cancel(other, "cancelled by its owner"));
  let_all_in_by_parts(q);
  expect_all(q, first);
}

TEST(DaemonUnfolding, TasksThatAreToComeCountForTheLimits) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.limits.user_queued = kTasks; });
  q.daemon().pause(true);
  q.submit(q.alice, 10, large_array);
  JobSpec more;
  more.command = {"train"};
  more.directory = "/";
  EXPECT_EQ(q.daemon().jobs().submit(q.alice, {more}, q.warnings).error().code, Error::kBusy);
}

TEST(DaemonUnfolding, AfterACrashAllTasksComeEachOnce) {
  for (int steps = 1; steps <= 3; ++steps) {
    Queue q;
    q.daemon().pause(true);
    const auto first = q.submit(q.alice, 10, large_array);
    for (int i = 0; i < steps; ++i) q.daemon().step();
    const std::size_t stored = q.daemon().live_jobs().size();
    q.host.reset();  // it commits nothing
    q.open("1xa100-40gb");
    EXPECT_EQ(q.daemon().live_jobs().size(), stored);
    let_all_in_by_parts(q);
    expect_all(q, first);
    q.host.reset();
    q.open("1xa100-40gb");
    expect_all(q, first);
    EXPECT_EQ(number(q.submit(q.bob, 1)), number(first) + kTasks);
  }
}

TEST(DaemonUnfolding, ACrashBeforeTheFirstCommitLeavesNone) {
  Queue q;
  q.daemon().pause(true);
  q.submit(q.alice, 10, large_array);
  q.host.reset();
  q.open("1xa100-40gb");
  q.daemon().step();
  EXPECT_TRUE(q.daemon().live_jobs().empty());
  EXPECT_TRUE(q.daemon().jobs().unfolding().empty());
}

TEST(DaemonUnfolding, AnArrayThatTheDiskDoesNotTakeIsGoneAsAWhole) {
  Queue q;
  q.daemon().pause(true);
  q.daemon().step();
  auto db = SqliteDb::open(q.dir.path() + "/queue.db", SqliteDb::kReadWrite);
  ASSERT_TRUE(db) << db.error().what;
  ASSERT_TRUE(db->run("CREATE TRIGGER full BEFORE INSERT ON specs BEGIN SELECT RAISE(ABORT, 'full'); END"));
  const auto first = q.submit(q.alice, 10, large_array);
  q.daemon().step();
  EXPECT_FALSE(q.daemon().state().book.disk_trouble().empty());
  EXPECT_TRUE(q.daemon().live_jobs().empty());
  EXPECT_TRUE(q.daemon().jobs().unfolding().empty());
  ASSERT_TRUE(db->run("DROP TRIGGER full"));
  q.host->clock().wait_until(q.daemon().next_due());
  q.daemon().step();
  EXPECT_TRUE(q.daemon().state().book.disk_trouble().empty());
  EXPECT_TRUE(q.daemon().live_jobs().empty());
  EXPECT_GT(number(q.submit(q.alice, 10)), number(first)) << "numbers are given once";
}

TEST(DaemonUnfolding, TasksOfAnAcceptedArrayOutlastAFullDisk) {
  Queue q;
  q.daemon().pause(true);
  const auto first = q.submit(q.alice, 10, large_array);
  q.daemon().step();
  auto db = SqliteDb::open(q.dir.path() + "/queue.db", SqliteDb::kReadWrite);
  ASSERT_TRUE(db) << db.error().what;
  ASSERT_TRUE(db->run("CREATE TRIGGER full BEFORE INSERT ON specs BEGIN SELECT RAISE(ABORT, 'full'); END"));
  q.daemon().step();
  EXPECT_FALSE(q.daemon().state().book.disk_trouble().empty());
  ASSERT_TRUE(db->run("DROP TRIGGER full"));
  q.host->clock().wait_until(q.daemon().next_due());
  let_all_in_by_parts(q);
  expect_all(q, first);
  q.host.reset();
  q.open("1xa100-40gb");
  expect_all(q, first);
}

TEST(DaemonUnfolding, TheAnswerHasAllTasks) {
  Queue q;
  q.daemon().pause(true);
  J array = J::array();
  for (int i = 0; i < kTasks; ++i) array.push_back(i);
  const J body = {{"command", {"train"}}, {"directory", "/"}, {"array", array}};
  const auto answer = answered<J>(q, [&](DaemonService& s) { return s.submit(q.alice, body, {}); });
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ((*answer)["ids"].size(), std::size_t(kTasks));
  EXPECT_EQ((*answer)["jobs"].size(), std::size_t(kTasks));
}

// What is asked for while tasks are still entering the queue reaches them, too.
TEST(DaemonUnfolding, OrdersReachTasksThatAreStillEntering) {
  const auto changed = [](Queue& q, JobVerb verb, const J& which) {
    const auto answer = answered<J>(q, [&](DaemonService& s) { return s.change_jobs(q.alice, verb, which); });
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ((*answer)["jobs"].size(), std::size_t(kTasks)) << which.dump();
    EXPECT_EQ((*answer)["refused"].size(), 0u) << which.dump();
  };
  const auto of_array = [](QueueId first) { return J{{"array", number(first)}}; };
  const auto by_numbers = [](QueueId first) {
    J ids = J::array();
    for (std::uint64_t i = 0; i < kTasks; ++i) ids.push_back(number(first) + i);
    return J{{"ids", std::move(ids)}};
  };
  const std::vector<std::function<J(QueueId)>> ways = {of_array, by_numbers,
                                                       [](QueueId) {
                                                         return J{{"all", true}};
                                                       },
                                                       [](QueueId) {
                                                         return J{{"name", "train"}};
                                                       }};
  for (const auto& way : ways) {
    Queue q;
    q.daemon().pause(true);
    const auto first = q.submit(q.alice, 10, large_array);
    changed(q, JobVerb::kCancel, way(first));
    let_all_in_by_parts(q);
    EXPECT_TRUE(q.daemon().live_jobs().empty()) << way(first).dump();
  }
  Queue q;
  q.daemon().pause(true);
  const auto first = q.submit(q.alice, 10, large_array);
  changed(q, JobVerb::kHold, of_array(first));
  for (const auto& [id, job] : q.daemon().live_jobs()) EXPECT_EQ(job.status, JobStatus::kHeld) << number(id);
  changed(q, JobVerb::kUpdate, {{"array", number(first)}, {"set", {{"priority", -3}}}});
  for (const auto& [id, job] : q.daemon().live_jobs()) EXPECT_EQ(job.spec.priority, -3) << number(id);
}

TEST(DaemonUnfolding, ATaskThatIsStillEnteringIsFoundByItsNumber) {
  Queue q;
  q.daemon().pause(true);
  const std::uint64_t last = number(q.submit(q.alice, 10, large_array)) + kTasks - 1;
  const auto after = answered<J>(q, [&](DaemonService& s) {
    return s.submit(q.alice,
                    {{"command", {"train"}}, {"directory", "/"}, {"dependencies", {fmt::format("afterany:{}", last)}}},
                    {});
  });
  ASSERT_TRUE(after) << after.error().what;
  const auto cancelled = answered<J>(q, [&](DaemonService& s) { return s.cancel(q.alice, last); });
  ASSERT_TRUE(cancelled) << cancelled.error().what;
  EXPECT_EQ((*cancelled)["state"], "cancelled");
  const auto gone = answered<J>(q, [&](DaemonService& s) { return s.job(q.alice, last + 7); });
  EXPECT_EQ(gone.error().code, Error::kNotFound);
}

TEST(DaemonUnfolding, AnOrderThatAFullDiskKeepsFromTheTasksIsRefused) {
  Queue q;
  q.daemon().pause(true);
  const auto first = q.submit(q.alice, 10, large_array);
  q.daemon().step();
  auto db = SqliteDb::open(q.dir.path() + "/queue.db", SqliteDb::kReadWrite);
  ASSERT_TRUE(db) << db.error().what;
  ASSERT_TRUE(db->run("CREATE TRIGGER full BEFORE INSERT ON specs BEGIN SELECT RAISE(ABORT, 'full'); END"));
  q.daemon().step();
  const auto refused = answered<J>(q, [&](DaemonService& s) {
    return s.change_jobs(q.alice, JobVerb::kCancel, {{"array", number(first)}});
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kIo);
  ASSERT_TRUE(db->run("DROP TRIGGER full"));
  q.host->clock().wait_until(q.daemon().next_due());
  let_all_in_by_parts(q);
  expect_all(q, first);
}

TEST(DaemonUnfolding, ADamagedListIsPutAside) {
  Queue q;
  q.daemon().state().book.pending().set_value("unfolding", R"([{"id":7}])");
  q.daemon().step();
  q.host.reset();
  q.open("1xa100-40gb");
  q.daemon().step();
  const auto damaged = q.host->store().damaged(10);
  ASSERT_TRUE(damaged);
  ASSERT_EQ(damaged->size(), 1u);
  EXPECT_EQ((*damaged)[0].what, "value unfolding");
}

}  // namespace
}  // namespace smartmig
