// A state directory of the program of 2026-11-19, taken as its daemon was killed with jobs in every state: the queue
// goes on, nothing in it counts as damaged, and its journal can be replayed. The attempts themselves were not kept. Its
// instants count from the start of its hour.
#include "base/file.h"
#include "report/journal_runs.h"
#include "support/daemon_queue.h"
#include "support/paths.h"
#include "support/store_rows.h"

namespace smartmig {
namespace {

TEST(OlderStore, DaemonGoesOnWithItsJobsAndItsJournal) {
  TestQueue q;
  q.daemon().step();
  q.host->clock().wait_until(from_unix_us(600'000'000));  // it was killed at 357 s
  q.host.reset();
  const std::string path = q.dir.path() + "/queue.db";
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part);
  const auto sql = read_file(source_dir() + "/tests/data/store_2026_11_19.sql");
  ASSERT_TRUE(sql) << sql.error().what;
  store_test::run_sql(path, sql->c_str());
  q.open("1xa100-40gb");
  ASSERT_TRUE(q.host);
  EXPECT_TRUE(q.host->store().damaged(100).value().empty());

  std::map<std::string, const JobRecord*> live;
  for (const auto& [id, job] : q.daemon().live_jobs()) live[fmt::format("{} {}", number(id), job.spec.name)] = &job;
  ASSERT_EQ(live.size(), 12u);
  const JobRecord& waits = *live.at("6 waits");
  EXPECT_EQ(waits.status, JobStatus::kQueued);
  EXPECT_EQ(waits.spec.group, "g");
  EXPECT_EQ(waits.spec.max_slices, 4);
  EXPECT_EQ(waits.spec.priority, 3);
  EXPECT_EQ(waits.spec.mail_user, "a@example.org");
  EXPECT_EQ(live.at("8 held")->held_by, HeldBy::kOwner);
  EXPECT_TRUE(live.at("9 later")->spec.begin);
  EXPECT_TRUE(live.at("9 later")->spec.once);
  EXPECT_EQ(live.at("7 profile")->spec.profile, "1g.5gb");
  EXPECT_EQ(live.at("12 sweep")->array.index, 6);
  EXPECT_EQ(live.at("13 after")->spec.dependencies.size(), 2u);
  EXPECT_EQ(q.ended(QueueId(1)).status, JobStatus::kDone);
  EXPECT_EQ(q.ended(QueueId(2)).exit.code, 1);

  EXPECT_TRUE(q.daemon().jobs().release(QueueId(8), false));
  q.run(24 * 60);
  std::map<std::uint64_t, JobStatus> ends;
  for (std::uint64_t id = 3; id <= 14; ++id) ends[id] = q.ended(QueueId(id)).status;
  EXPECT_EQ(ends[3], JobStatus::kDone) << "it may run again";
  EXPECT_EQ(ends[4], JobStatus::kFailed) << "it may not";
  for (const std::uint64_t id : {5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
    EXPECT_EQ(ends[id], JobStatus::kDone) << id << ": " << q.ended(QueueId(id)).reason;

  std::string text;
  const auto events = q.host->store().events_after(0, 100'000);
  ASSERT_TRUE(events);
  for (const EventRow& event : *events) text += event.line + "\n";
  const auto runs = read_journal_runs(LineReader::over("journal", text));
  ASSERT_TRUE(runs) << runs.error().what;
  EXPECT_GE(runs->size(), 2u) << "the older program's and this one's";
  for (const JournalRun& run : *runs) {
    const auto replayed = replay_journal(LineReader::over("journal", run.text));
    EXPECT_TRUE(replayed) << replayed.error().what;
  }
}

}  // namespace
}  // namespace smartmig
