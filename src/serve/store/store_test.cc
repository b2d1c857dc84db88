#include "serve/store/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/file.h"
#include "serve/daemon/job_record.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

JobRow row(std::uint64_t id, JobStatus status, std::uint32_t uid = 1000) {
  JobRow job;
  job.id = id;
  job.uid = uid;
  job.status = int(status);
  job.final = is_final(status);
  job.submitted_us = std::int64_t(id) * 1000;
  job.ended_us = job.final ? job.submitted_us + 500 : -1;
  job.spec = fmt::format("{{\"command\":[\"job\",\"{}\"]}}", id);
  job.state = fmt::format("{{\"status\":{}}}", int(status));
  return job;
}

EventRow event(std::uint64_t sequence) {
  return {sequence, std::int64_t(sequence) * 10, fmt::format("{{\"seq\":{}}}", sequence)};
}

std::unique_ptr<Store> must_open(const std::string& path, const StoreOptions& options = {}) {
  auto store = Store::open(path, options);
  EXPECT_TRUE(store) << (store ? "" : store.error().what);
  return store ? std::move(*store) : nullptr;
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_close(db);
}

std::vector<std::uint64_t> found_ids(const Result<std::vector<JobRow>>& rows) {
  std::vector<std::uint64_t> list;
  EXPECT_TRUE(rows);
  if (rows)
    for (const JobRow& r : *rows) list.push_back(r.id);
  return list;
}

using Ids = std::vector<std::uint64_t>;

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
  const auto before = std::chrono::steady_clock::now();
  auto store = must_open(path);
  const auto start = store->start();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->live.size(), 1000u);
  EXPECT_EQ(start->last_job, 101'000u);
  EXPECT_LT(took, 2.0);
  RecordProperty("start_seconds", fmt::format("{:.4f}", took));
  StoreFind find;
  find.final = false;
  find.limit = 100'000;
  EXPECT_EQ(found_ids(store->find(find)).size(), 1000u);

  const auto removed = store->prune(0, 2'500, 90'000);
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
    const auto removed = store->prune(INT64_MAX, 1'000'000, 1'000'000);
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

TEST(Store, RefusesWhatIsNotOursOrNewer) {
  const TempDir dir;
  const auto text = Store::open(dir.file("text.db", std::string(5000, 'x')));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Error::kInvalid);
  const std::string other = dir.path() + "/other.db";
  run_sql(other, "CREATE TABLE songs(id)");
  const auto stranger = Store::open(other);
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().what.find("not a store of smartmig"), std::string::npos);
  const std::string newer = dir.path() + "/newer.db";
  must_open(newer);
  run_sql(newer, "UPDATE meta SET value='9' WHERE key='version'");
  const auto refused = Store::open(newer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kInvalid);
  EXPECT_NE(refused.error().what.find("schema version 9"), std::string::npos);
  const auto nowhere = Store::open(dir.path() + "/no/such/store.db");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Error::kIo);
}

constexpr const char* kVersion0 = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, status INTEGER NOT NULL, final INTEGER NOT NULL,
                  submitted_us INTEGER NOT NULL, spec TEXT NOT NULL, state TEXT NOT NULL);
CREATE INDEX jobs_live ON jobs(id) WHERE final=0;
CREATE TABLE events(sequence INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, line TEXT NOT NULL);
CREATE TABLE named(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('program','smartmig'),('version','0');
INSERT INTO jobs VALUES(3,1000,5,1,111,'{"command":["a"]}','{"s":1}'),(4,1001,1,0,222,'{"command":["b"]}','{"s":2}');
INSERT INTO events VALUES(1,5,'{"seq":1}');
INSERT INTO named VALUES('clock','99');
)";

TEST(Store, MigratesAnOlderSchemaAfterABackup) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  run_sql(path, kVersion0);
  auto store = must_open(path);
  const auto start = store->start();
  ASSERT_TRUE(start);
  ASSERT_EQ(start->live.size(), 1u);
  EXPECT_EQ(start->live[0].id, 4u);
  EXPECT_EQ(start->live[0].uid, 1001u);
  EXPECT_EQ(start->live[0].spec, "{\"command\":[\"b\"]}");
  EXPECT_EQ(start->live[0].ended_us, -1);
  EXPECT_EQ(start->values.at("clock"), "99");
  EXPECT_EQ(start->last_event, 1u);
  const auto done = store->job(3).value();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->ended_us, 111);
  EXPECT_EQ(done->spec, "{\"command\":[\"a\"]}");
  StoreBatch batch;
  batch.jobs = {row(5, JobStatus::kQueued)};
  EXPECT_TRUE(store->commit(batch));
  store.reset();

  const std::string kept = path + ".v0-backup";
  ASSERT_TRUE(std::filesystem::exists(kept));
  ASSERT_TRUE(restore_store(kept, path));  // the old form comes back and is migrated again
  EXPECT_EQ(found_ids(must_open(path)->find({})), (Ids{3, 4}));
}

TEST(Store, BackupAndRestore) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db", copy = dir.path() + "/copy.db";
  auto store = must_open(path);
  StoreBatch batch;
  batch.jobs = {row(1, JobStatus::kQueued)};
  ASSERT_TRUE(store->commit(batch));
  ASSERT_TRUE(store->backup(copy));
  const auto again = store->backup(copy);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Error::kBusy);
  batch.jobs = {row(2, JobStatus::kQueued)};
  ASSERT_TRUE(store->commit(batch));
  const auto busy = restore_store(copy, path);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Error::kBusy) << busy.error().what;
  EXPECT_EQ(found_ids(store->find({})), (Ids{1, 2}));
  store.reset();
  const auto restored = restore_store(copy, path);
  ASSERT_TRUE(restored) << restored.error().what;
  EXPECT_EQ(found_ids(must_open(path)->find({})), (Ids{1}));
  EXPECT_EQ(found_ids(must_open(path + ".replaced")->find({})), (Ids{1, 2}));

  const auto text = read_file(copy);
  ASSERT_TRUE(text);
  std::string damaged = *text;
  for (std::size_t i = 5000; i < damaged.size() && i < 9000; ++i) damaged[i] = char(i * 7);
  const auto refused = restore_store(dir.file("damaged.db", damaged), path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(found_ids(must_open(path)->find({})), (Ids{1}));
  EXPECT_FALSE(restore_store(dir.file("text.db", std::string(3000, 'q')), path));
  EXPECT_FALSE(restore_store(dir.path() + "/missing.db", path));
}

void fill_until_refused(Store& store, const std::string& path) {
  std::uint64_t id = 0;
  Result<Ok> done = Ok{};
  while (done && id < 20'000) {
    StoreBatch batch;
    batch.jobs = {row(++id, JobStatus::kQueued)};
    batch.jobs[0].state += std::string(2000, ' ');
    batch.events = {event(id)};
    done = store.commit(batch);
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Error::kIo);
  EXPECT_NE(done.error().what.find(path), std::string::npos);
  EXPECT_FALSE(store.job(id).value());
  EXPECT_TRUE(store.job(id - 1).value());
  EXPECT_EQ(store.events_after(id - 2, 10)->size(), 1u);
}

TEST(Store, AFullStoreRefusesAndKeepsWhatItHas) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  StoreOptions options;
  options.max_bytes = 400'000;
  auto store = must_open(path, options);
  fill_until_refused(*store, path);
  ASSERT_TRUE(store->prune(INT64_MAX, 10, 10));  // room again
  StoreBatch batch;
  batch.values["x"] = "y";
  EXPECT_TRUE(store->commit(batch));
}

TEST(Store, AFullDiskRefusesAndKeepsWhatItHas) {
  const TempDir dir;
  const std::string disk = dir.path() + "/disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  if (::geteuid() != 0 || ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  {
    const std::string path = disk + "/store.db";
    auto store = must_open(path);
    fill_until_refused(*store, path);
    store.reset();
    if (::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=4m") == 0) {
      store = must_open(path);
      StoreBatch batch;
      batch.values["x"] = "y";
      EXPECT_TRUE(store->commit(batch));
      store.reset();
      if (::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0) {
        const auto refused = Store::open(path);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Error::kIo);
      }
    }
  }
  ::umount(disk.c_str());
}

TEST(Store, AFileThatMayNotGrowIsAnError) {  // the same without rights: a limit on the size of any file
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  must_open(path);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{300'000, 300'000};
    ::setrlimit(RLIMIT_FSIZE, &most);
    auto store = must_open(path);
    fill_until_refused(*store, path);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
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

}  // namespace
}  // namespace smartmig
