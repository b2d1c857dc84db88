// What is opened: our files of any version, never others'; copies and their return.
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "support/store_rows.h"

namespace smartmig {
namespace {

using namespace store_test;

TEST(Store, RefusesWhatIsNotOursOrNewer) {
  const TempDir dir;
  const auto text = Store::open(dir.file("text.db", std::string(5000, 'x')));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Error::kInvalid);
  const std::string other = dir.path() + "/other.db";
  run_sql(other, "CREATE TABLE songs(id)");
  const auto stranger = Store::open(other);
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().what.find("not a smartmig store"), std::string::npos);
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

TEST(Store, TakesEnvironmentsOutOfTheSpecsOfVersion1) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db";
  must_open(path);
  run_sql(path,
          "DROP INDEX jobs_launch; DROP TABLE launches; ALTER TABLE jobs DROP COLUMN launch;"
          "INSERT INTO jobs VALUES(1,1000,1,0,111,-1,'{}'),(2,1000,1,0,111,-1,'{}'),(3,1000,1,0,111,-1,'{}');"
          "INSERT INTO specs VALUES(1,'{\"command\":[\"a\"],\"environment\":[\"A=\\\"1\\\"\"],\"name\":\"x\"}'),"
          "(2,'{\"command\":[\"b\"]}'),(3,'damaged');"
          "UPDATE meta SET value='1' WHERE key='version'");
  auto store = must_open(path);
  const auto start = store->start();
  ASSERT_TRUE(start) << start.error().what;
  ASSERT_EQ(start->live.size(), 3u);
  EXPECT_EQ(start->live[0].spec, R"({"command":["a"],"name":"x"})");
  EXPECT_EQ(start->live[0].launch, 1u);
  EXPECT_EQ(store->launch(1).value(), R"({"environment":["A=\"1\""]})");
  EXPECT_EQ(start->live[0].launch_bytes, store->launch(1).value()->size());
  EXPECT_EQ(start->live[1].launch, 0u);
  EXPECT_EQ(start->live[2].spec, "damaged");
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
  EXPECT_EQ(must_open(path)->start()->last_job, 2U);  // no other job is given the number of one that may have run

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

TEST(Store, NothingOfTheReplacedStoreIsAppliedToTheRestoredOne) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.db", copy = dir.path() + "/copy.db";
  {
    auto store = must_open(path);
    StoreBatch batch;
    batch.jobs = {row(1, JobStatus::kQueued)};
    ASSERT_TRUE(store->commit(batch));
    ASSERT_TRUE(store->backup(copy));
  }
  dir.file("store.db", "damaged beyond all opening");
  for (const char* left : {"store.db-wal", "store.db-journal", "store.db.tmp-1", "store.db.tmp-1-journal"})
    dir.file(left, "left");
  const auto restored = restore_store(copy, path);
  ASSERT_TRUE(restored) << restored.error().what;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) names.insert(entry.path().filename());
  for (const char* suffix : {"-wal", "-journal"}) names.erase("store.db.replaced" + std::string(suffix));
  EXPECT_EQ(names, (std::set<std::string>{"copy.db", "store.db", "store.db.replaced"}))
      << "SQLite may end a log itself";
  EXPECT_EQ(found_ids(must_open(path)->find({})), (Ids{1}));
}

}  // namespace
}  // namespace smartmig
