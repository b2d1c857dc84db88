// Starts over a store that is damaged in places, or gone.
#include "serve/daemon/damaged_rows.h"

#include <unistd.h>

#include "base/json.h"
#include "live/jobs/spool.h"
#include "serve/daemon/lost_store.h"
#include "serve/daemon/reconcile.h"
#include "serve/daemon/recovery.h"
#include "support/daemon_parts.h"
#include "support/daemon_queue.h"
#include "support/store_rows.h"

namespace smartmig {
namespace {

TEST(DamagedRows, AreNamedAndKeptAndTheRestGoesOn) {
  TestQueue q;
  q.daemon().pause(true);
  const auto good = q.submit(q.alice, 5), bad = q.submit(q.alice, 5), worse = q.submit(q.bob, 5),
             after = q.submit(q.alice, 5, [&](JobSpec&s) {
               s.dependencies = {{Dependency::kAfterOk, number(bad)}};
             });
  q.daemon().step();
  q.host.reset();
  const std::string path = q.dir.path() + "/queue.db";
  store_test::run_sql(path, fmt::format("UPDATE jobs SET state='{{broken' WHERE id={}", number(bad)).c_str());
  store_test::run_sql(path, fmt::format("UPDATE jobs SET status=77 WHERE id={}", number(worse)).c_str());
  store_test::run_sql(path, fmt::format("UPDATE specs SET spec='[]' WHERE job={}", number(worse)).c_str());
  store_test::run_sql(path, "UPDATE named SET value='?' WHERE name IN ('energy','history','origin_us')");
  store_test::run_sql(path, "INSERT OR IGNORE INTO named VALUES('history','?')");
  q.open("1xa100-40gb");
  ASSERT_TRUE(q.host);
  q.daemon().pause(false);
  q.run();
  EXPECT_EQ(q.ended(good).status, JobStatus::kDone);
  EXPECT_EQ(q.ended(after).status, JobStatus::kCancelled) << "what it waited for has not succeeded";
  for (const QueueId id : {bad, worse}) {
    const JobRecord job = q.ended(id);
    EXPECT_EQ(job.status, JobStatus::kFailed);
    EXPECT_NE(job.reason.find("damaged"), std::string::npos) << job.reason;
  }
  EXPECT_EQ(q.ended(bad).owner.uid, q.alice.uid);
  EXPECT_EQ(q.ended(bad).spec.command, std::vector<std::string>{"train"});
  std::set<std::string> kept;
  const auto rows = q.host->store().damaged(100);
  ASSERT_TRUE(rows);
  for (const DamagedRow& row : *rows) {
    kept.insert(row.what);
    EXPECT_FALSE(row.why.empty());
    if (row.what == fmt::format("job {}", number(bad))) {
      EXPECT_NE(row.text.find("{broken"), std::string::npos) << row.text;
    }
  }
  EXPECT_EQ(kept, (std::set<std::string>{fmt::format("job {}", number(bad)), fmt::format("job {}", number(worse)),
                                         "value energy", "value history", "value origin_us"}));
  std::size_t notes = 0;
  const auto events = q.host->store().events_after(0, 100'000);
  ASSERT_TRUE(events);
  for (const EventRow& event : *events) notes += event.line.find("\"note\":\"damaged\"") != std::string::npos;
  EXPECT_EQ(notes, kept.size());
  EXPECT_GT(q.submit(q.alice, 1), after) << "no number is given twice";
  q.host.reset();
  q.open("1xa100-40gb");  // what was put aside is put aside once
  q.daemon().step();
  EXPECT_EQ(q.host->store().damaged(100)->size(), kept.size());
}

struct Damaged : DaemonParts {
  // A row that cannot be read, of a job with an attempt that runs on this slice.
  void living(std::uint64_t job, const char* slice, bool with_origin) {
    JobRow row = store_test::row(job, JobStatus::kRunning, 1007);
    row.state = json_dump(Json{{"device", state->boards.device(0, place(slice))}});
    state->damaged_jobs.push_back({row, "no sense"});
    JobRunner::Left left{{job, 3}, std::nullopt};
    if (with_origin) {
      left.origin.emplace();
      left.origin->spec.command = {"launched"};
      left.origin->spec.directory = "/";
      left.origin->uid = left.origin->gid = 1007;
      left.origin->user = "eve";
      left.origin->device = state->boards.device(0, place(slice));
    }
    runner.left_here.push_back(left);
    runner.found.running.push_back(left.id);
  }
};

TEST(DamagedRows, AJobThatRunsKeepsItsSliceAndIsShown) {
  Damaged d;
  d.living(5, "3g@4", true);
  d.living(6, "4g@0", false);
  ASSERT_TRUE(reconcile(d.runner, *d.state, 100, false));
  end_damaged(*d.state);
  ASSERT_TRUE(find_running(d.runner, *d.state, *d.attempts, *d.ends, *d.suspensions, *d.transitions));
  d.tell_all();
  EXPECT_TRUE(d.runner.stopped.empty()) << "nothing is killed for a row";
  for (const auto& [id, slice] : {std::pair(5, "3g@4"), std::pair(6, "4g@0")}) {
    const JobRecord* job = d.state->book.find(QueueId(id));
    ASSERT_TRUE(job) << id;
    EXPECT_EQ(job->status, JobStatus::kRunning);
    EXPECT_EQ(job->attempt, 3);
    EXPECT_EQ(job->owner.uid, 1007u);
    EXPECT_NE(job->reason.find("damaged"), std::string::npos) << job->reason;
    EXPECT_EQ(d.state->attempts.holder({0, index(d.place(slice))}), QueueId(id)) << "nobody else starts there";
  }
  EXPECT_EQ(d.state->book.find(QueueId(5))->spec.command, std::vector<std::string>{"launched"});
}

TEST(DamagedRows, NoStoreBesideASpoolWithJobsIsRefused) {
  const TempDir dir;
  const std::string store = dir.path() + "/queue.db", spool_at = dir.path() + "/spool";
  EXPECT_TRUE(check_store_is_there(store, spool_at)) << "a new installation";
  const Spool spool = Spool::open(spool_at).value();
  EXPECT_TRUE(check_store_is_there(store, spool_at));
  for (const std::uint64_t job : {7, 9}) ASSERT_TRUE(spool.make({job, 1}));
  dir.file("spool/9/1/record",
           fmt::format("smartmig-attempt 1\njob 9\nattempt 1\nboot {}\npid {}\nstarted {}\ntoken t\nend\n", this_boot(),
                       ::getpid(), start_ticks_of(::getpid()).value()));
  for (const char* text : {"", static_cast<const char*>(nullptr)}) {
    if (text) dir.file("queue.db", text);
    const auto answer = check_store_is_there(store, spool_at);
    ASSERT_FALSE(answer);
    const std::string& words = answer.error().what;
    for (const std::string part : {"files of 2 jobs; 1 of them run: job 9", "smartmig restore", "--new-queue"})
      EXPECT_NE(words.find(part), std::string::npos) << words;
    std::filesystem::remove(store);
  }
  dir.file("queue.db", "something");
  EXPECT_TRUE(check_store_is_there(store, spool_at)) << "what it is worth the store finds out";
}

}  // namespace
}  // namespace smartmig
