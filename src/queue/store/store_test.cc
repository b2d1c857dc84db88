#include "queue/store/store.h"

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "queue/store/job_rows.h"
#include "support/store_rows.h"

namespace smartmig {
namespace {

using namespace store_test;

TEST(Store, KeepsJobsEventsAndValues) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  {
    auto store = must_open(path);
    StoreBatch batch;
    batch.jobs = {row(1, JobStatus::kQueued), row(2, JobStatus::kQueued)};
    batch.events = {event(1), event(2)};
    batch.values["clock"] = "17";
    ASSERT_TRUE(store->commit(batch));
    batch.clear();
    batch.jobs = {row(1, JobStatus::kDone)};
    batch.jobs[0].spec.clear();
    batch.values["clock"] = "18";
    ASSERT_TRUE(store->commit(batch));
    EXPECT_GT(store->bytes(), 4096u);
  }
  auto store = must_open(path);
  const auto start = store->start();
  ASSERT_TRUE(start);
  ASSERT_EQ(start->live.size(), 1u);
  EXPECT_EQ(start->live[0].id, 2u);
  EXPECT_EQ(start->live[0].spec, row(2, JobStatus::kQueued).spec);
  EXPECT_EQ(start->values.at("clock"), "18");
  EXPECT_EQ(start->last_job, 2u);
  EXPECT_EQ(start->last_event, 2u);
  const auto one = store->job(1);
  ASSERT_TRUE(one && *one);
  EXPECT_EQ((*one)->spec, row(1, JobStatus::kDone).spec);  // kept from the first commit
  EXPECT_EQ((*one)->state, row(1, JobStatus::kDone).state);
  EXPECT_TRUE((*one)->final);
  EXPECT_EQ((*one)->ended_us, 1500);
  const auto none = store->job(77);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto events = store->events_after(1, 10);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].line, "{\"seq\":2}");
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST(Store, FindsByUserStatusAndPage) {
  const TempDir dir;
  auto store = must_open(dir.path() + "/store.db");
  StoreBatch batch;
  for (std::uint64_t id = 1; id <= 8; ++id)
    batch.jobs.push_back(row(id, id % 2 ? JobStatus::kQueued : JobStatus::kDone, id <= 4 ? 10 : 20));
  ASSERT_TRUE(store->commit(batch));
  StoreFind find;
  EXPECT_EQ(found_ids(store->find(find)), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  find.uid = 10;
  EXPECT_EQ(found_ids(store->find(find)), (Ids{1, 2, 3, 4}));
  find.final = false;
  EXPECT_EQ(found_ids(store->find(find)), (Ids{1, 3}));
  find = {};
  find.status = int(JobStatus::kDone);
  find.newest_first = true;
  find.limit = 2;
  EXPECT_EQ(found_ids(store->find(find)), (Ids{8, 6}));
  find.after = 6;
  EXPECT_EQ(found_ids(store->find(find)), (Ids{4, 2}));
  find = {};
  find.after = 5;
  find.final = false;
  EXPECT_EQ(found_ids(store->find(find)), (Ids{7}));
}

TEST(Store, ACommitIsAllOrNothing) {
  const TempDir dir;
  auto store = must_open(dir.path() + "/store.db");
  StoreBatch batch;
  batch.events = {event(1)};
  ASSERT_TRUE(store->commit(batch));
  batch.jobs = {row(5, JobStatus::kQueued)};  // the event's number was given before
  EXPECT_FALSE(store->commit(batch));
  EXPECT_FALSE(store->job(5).value());
  batch.events = {event(2)};
  EXPECT_TRUE(store->commit(batch));
  EXPECT_TRUE(store->job(5).value());
}

TEST(Store, StartReadsLiveJobsOnly) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  {
    auto store = must_open(path);
    std::uint64_t id = 0;
    for (int chunk = 0; chunk < 101; ++chunk) {
      StoreBatch batch;
      for (int i = 0; i < 1000; ++i) {
        ++id;
        batch.jobs.push_back(row(id, chunk == 50 ? JobStatus::kQueued : JobStatus::kDone));
        batch.jobs.back().spec += std::string(400, ' ');
        batch.events.push_back(event(id));
      }
      ASSERT_TRUE(store->commit(batch));
    }
  }
  auto store = must_open(path);
  const auto start = store->start();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->live.size(), 1000u);
  EXPECT_EQ(start->last_job, 101'000u);
  auto db = SqliteDb::open(path, SqliteDb::kReadOnly);
  ASSERT_TRUE(db);
  const std::string sql = "EXPLAIN QUERY PLAN " + select_jobs(kLive, "j.final=0 ORDER BY j.id");
  auto prepared = SqliteStatement::prepare(*db, sql.c_str());
  ASSERT_TRUE(prepared);
  SqliteStatement& plan = *prepared;
  ASSERT_TRUE(plan.step().value());
  EXPECT_NE(plan.text(3).find("jobs_live"), std::string::npos) << "ended jobs are not looked at: " << plan.text(3);
  StoreFind find;
  find.final = false;
  find.limit = 100'000;
  EXPECT_EQ(found_ids(store->find(find)).size(), 1000u);

  const auto removed = store->prune({0, 0, 2'500, 90'000});
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->size(), 10'000u);
  EXPECT_EQ(removed->front(), 1u);
  EXPECT_EQ(removed->back(), 10'000u);
  EXPECT_EQ(store->events_after(0, 10'000)->size(), 2'500u);
  EXPECT_EQ(store->events_after(0, 1)->front().sequence, 98'501u);
}

TEST(Store, PruningGivesNoNumberTwice) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  {
    auto store = must_open(path);
    StoreBatch batch;
    for (std::uint64_t id = 1; id <= 1200; ++id) {
      batch.jobs.push_back(row(id, id == 7 ? JobStatus::kRunning : JobStatus::kFailed));
      batch.events.push_back(event(id));
    }
    ASSERT_TRUE(store->commit(batch));
    const auto removed = store->prune({INT64_MAX, INT64_MAX});
    ASSERT_TRUE(removed);
    EXPECT_EQ(removed->size(), 1199u);
    EXPECT_EQ(found_ids(store->find({})), (Ids{7}));
    EXPECT_TRUE(store->events_after(0, 10)->empty());
  }
  const auto start = must_open(path)->start();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->last_job, 1200u);
  EXPECT_EQ(start->last_event, 1200u);
}

TEST(Store, DamageDeepInsideIsNoticedAtTheStart) {
  TempDir dir;
  const std::string path = dir.path() + "/queue.db";
  {
    auto store = std::move(Store::open(path).value());
    StoreBatch batch;
    for (std::uint64_t i = 1; i <= 500; ++i)
      batch.events.push_back({i, 1, "{\"words\":\"" + std::string(200, 'x') + "\"}"});
    ASSERT_TRUE(store->commit(batch));
  }
  std::string bytes = read_file(path).value();
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 8192; ++at) bytes[at] = '\x5a';
  ASSERT_TRUE(write_file(path, bytes));
  const auto opened = Store::open(path);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("smartmig restore"), std::string::npos) << opened.error().what;
}

TEST(Store, ThreadsReadWhileOneWrites) {
  const TempDir dir;
  auto store = must_open(dir.path() + "/store.db");
  std::vector<std::thread> readers;
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  for (int r = 0; r < 6; ++r)
    readers.emplace_back([&] {
      while (!stop) {
        const auto rows = store->find({});
        const auto events = store->events_after(0, 10'000);
        if (!rows || !events || events->size() < rows->size()) std::abort();  // both came in one transaction
        ++reads;
      }
    });
  for (std::uint64_t id = 1; id <= 200; ++id) {
    StoreBatch batch;
    batch.jobs = {row(id, JobStatus::kQueued)};
    batch.events = {event(id)};
    ASSERT_TRUE(store->commit(batch));
  }
  stop = true;
  for (auto& t : readers) t.join();
  EXPECT_GT(reads, 0);
}

TEST(Store, ALogThatSomebodyRemovedIsNamed) {
  namespace fs = std::filesystem;
  const TempDir dir;
  const auto copy = [&](const std::string& to, std::initializer_list<const char*> suffixes) {
    fs::create_directory(dir.path() + "/" + to);
    for (const char* suffix : suffixes)
      fs::copy_file(dir.path() + "/queue.db" + suffix, fmt::format("{}/{}/queue.db{}", dir.path(), to, suffix));
    return dir.path() + "/" + to + "/queue.db";
  };
  auto store = must_open(dir.path() + "/queue.db");
  StoreBatch batch;
  batch.jobs = {row(1, JobStatus::kQueued)};
  ASSERT_TRUE(store->commit(batch));
  const std::string killed = copy("killed", {"", "-wal", "-open"}), robbed = copy("robbed", {"", "-open"});
  EXPECT_EQ(must_open(killed)->start()->trouble, "");
  EXPECT_EQ(must_open(killed)->start()->live.size(), 1u);
  const std::string trouble = must_open(robbed)->start()->trouble;
  EXPECT_NE(trouble.find(robbed + "-wal"), std::string::npos) << trouble;
  EXPECT_NE(trouble.find("smartmig restore"), std::string::npos) << trouble;
  store.reset();
  EXPECT_FALSE(fs::exists(dir.path() + "/queue.db-open")) << "an orderly end leaves all in the file";
  EXPECT_FALSE(fs::exists(dir.path() + "/queue.db-wal"));
  EXPECT_EQ(must_open(dir.path() + "/queue.db")->start()->trouble, "");
}

TEST(Store, WhatIsPutAsideIsKept) {
  const TempDir dir;
  auto store = must_open(dir.path() + "/queue.db");
  EXPECT_TRUE(store->damaged(10)->empty());
  StoreBatch batch;
  batch.damaged = {{"job 3", "no JSON", "{"}, {"value energy", "no number", "x"}};
  ASSERT_TRUE(store->commit(batch));
  const auto rows = store->damaged(10);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].what, "value energy");
  EXPECT_EQ((*rows)[1].text, "{");
}

JobRow task(std::uint64_t id, JobStatus status, std::uint64_t launch, std::uint32_t uid = 1000) {
  JobRow job = row(id, status, uid);
  job.launch = launch;
  return job;
}

TEST(Store, AnArraysEnvironmentIsStoredOnceAndGoesWithItsLastRow) {
  const TempDir dir;
  auto store = must_open(dir.path() + "/store.db");
  StoreBatch batch;
  for (std::uint64_t id = 1; id <= 300; ++id) batch.jobs.push_back(task(id, JobStatus::kQueued, 1));
  batch.launches = {{1, 1000, std::string(1 << 20, 'e')}};
  ASSERT_TRUE(store->commit(batch));
  EXPECT_LT(store->bytes(), std::uint64_t(5) << 20) << "of the file and of its log";
  const auto start = store->start();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->live[299].launch, 1u);
  EXPECT_EQ(start->live[299].launch_bytes, std::uint64_t(1) << 20);
  batch.clear();
  for (std::uint64_t id = 1; id <= 300; ++id) batch.jobs.push_back(task(id, JobStatus::kDone, 1));
  ASSERT_TRUE(store->commit(batch));
  StoreKeep keep;
  keep.max_jobs = 1;
  ASSERT_TRUE(store->prune(keep));
  EXPECT_TRUE(store->launch(1).value()) << "the last task still has it";
  keep.max_jobs = 0;
  ASSERT_TRUE(store->prune(keep));
  EXPECT_FALSE(store->launch(1).value());
}

TEST(Store, OldEnvironmentsOfEndedJobsMakeRoomForNewOnes) {
  const TempDir dir;
  auto store = must_open(dir.path() + "/store.db");
  store->keep_launches(1000);
  const auto accept = [&](std::uint64_t id, JobStatus status, std::uint32_t uid = 1000) {
    StoreBatch batch;
    batch.jobs = {task(id, status, id, uid)};
    batch.launches = {{id, uid, std::string(400, 'e')}};
    return bool(store->commit(batch));
  };
  ASSERT_TRUE(accept(1, JobStatus::kQueued));
  ASSERT_TRUE(accept(2, JobStatus::kDone));
  ASSERT_TRUE(accept(3, JobStatus::kDone));
  ASSERT_TRUE(accept(4, JobStatus::kDone, 1001));
  EXPECT_TRUE(store->launch(1).value()) << "its job lives";
  EXPECT_FALSE(store->launch(2).value()) << "the oldest of an ended job";
  EXPECT_TRUE(store->launch(3).value());
  EXPECT_TRUE(store->launch(4).value()) << "another user's";
  EXPECT_EQ(store->job(2).value()->launch, 2u);
  EXPECT_EQ(store->job(2).value()->launch_bytes, 0u);
}

}  // namespace
}  // namespace smartmig
