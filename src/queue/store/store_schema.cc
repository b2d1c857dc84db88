#include "queue/store/store_schema.h"

#include <unistd.h>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr const char* kSchema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, status INTEGER NOT NULL, final INTEGER NOT NULL,
                  submitted_us INTEGER NOT NULL, ended_us INTEGER NOT NULL, state TEXT NOT NULL,
                  launch INTEGER NOT NULL DEFAULT 0);
CREATE INDEX jobs_live ON jobs(id) WHERE final=0;
CREATE INDEX jobs_ended ON jobs(ended_us) WHERE final=1;
CREATE INDEX jobs_user ON jobs(uid, id);
CREATE INDEX jobs_launch ON jobs(launch, final);
CREATE TABLE launches(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, bytes INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX launches_user ON launches(uid, id, bytes);
CREATE TABLE specs(job INTEGER PRIMARY KEY, spec TEXT NOT NULL);
CREATE TABLE events(sequence INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, line TEXT NOT NULL);
CREATE TABLE named(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE damaged(number INTEGER PRIMARY KEY, found_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
                     what TEXT NOT NULL, why TEXT NOT NULL, text TEXT NOT NULL);
INSERT INTO meta VALUES('program','smartmig'),('version','2'),('last_job','0'),('last_event','0');
)";

// An ended job of version 0 has no instant of its end: its submission is the latest one known.
constexpr const char* kFrom0 = R"(
CREATE TABLE specs(job INTEGER PRIMARY KEY, spec TEXT NOT NULL);
INSERT INTO specs SELECT id, spec FROM jobs;
ALTER TABLE jobs RENAME TO jobs_0;
DROP INDEX IF EXISTS jobs_live;
CREATE TABLE jobs(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, status INTEGER NOT NULL, final INTEGER NOT NULL,
                  submitted_us INTEGER NOT NULL, ended_us INTEGER NOT NULL, state TEXT NOT NULL);
INSERT INTO jobs SELECT id, uid, status, final, submitted_us, CASE WHEN final THEN submitted_us ELSE -1 END, state
                 FROM jobs_0;
DROP TABLE jobs_0;
CREATE INDEX jobs_live ON jobs(id) WHERE final=0;
CREATE INDEX jobs_ended ON jobs(ended_us) WHERE final=1;
CREATE INDEX jobs_user ON jobs(uid, id);
INSERT OR IGNORE INTO meta VALUES('last_job','0'),('last_event','0');
)";

// A store of version 1 may have the table `damaged`. Its specs hold the environments. Scripts stay where they are: a job without a hash of its script is known by the text.
constexpr const char* kFrom1 = R"(
CREATE TABLE IF NOT EXISTS damaged(number INTEGER PRIMARY KEY, found_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
                     what TEXT NOT NULL, why TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE launches(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, bytes INTEGER NOT NULL, text TEXT NOT NULL);
ALTER TABLE jobs ADD COLUMN launch INTEGER NOT NULL DEFAULT 0;
INSERT INTO launches
  SELECT id, uid, length(CAST(launch AS BLOB)), launch FROM
    (SELECT j.id AS id, j.uid AS uid, json_object('environment', json(json_extract(s.spec,'$.environment'))) AS launch
     FROM jobs j JOIN specs s ON s.job=j.id
     WHERE CASE WHEN json_valid(s.spec) THEN json_type(s.spec,'$.environment')='array' ELSE 0 END);
UPDATE jobs SET launch=id WHERE id IN (SELECT id FROM launches);
UPDATE specs SET spec=json_remove(spec,'$.environment') WHERE job IN (SELECT id FROM launches);
CREATE INDEX jobs_launch ON jobs(launch, final);
CREATE INDEX launches_user ON launches(uid, id, bytes);
)";

constexpr const char* kMigrations[kStoreVersion] = {kFrom0, kFrom1};  // [v]: from v to v + 1

Result<Ok> in_transaction(SqliteDb& db, const std::string& sql) {
  const auto done = db.run(("BEGIN IMMEDIATE;" + sql + "COMMIT;").c_str());
  if (!done && !sqlite3_get_autocommit(db.handle())) (void)db.run("ROLLBACK");
  return done;
}

}  // namespace

Error newer_schema(const std::string& path, int version) {
  return invalid(
      "{} has schema version {}, but this program reads only up to {}; run a newer smartmig, "
      "or restore a backup",
      path, version, kStoreVersion);
}

Result<int> schema_version(SqliteDb& db) {
  SMARTMIG_TRY(const auto tables, db.number("SELECT count(*) FROM sqlite_master"));
  if (tables == 0) return -1;
  const Error stranger = invalid("{} is an SQLite file, but not a smartmig store", db.path());
  SMARTMIG_TRY(const auto meta, db.number("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='meta'"));
  if (meta == 0) return stranger;
  const auto program = db.text("SELECT value FROM meta WHERE key='program'");
  if (!program || *program != "smartmig") return stranger;
  SMARTMIG_TRY(const auto text, db.text("SELECT value FROM meta WHERE key='version'"));
  const auto version = parse_int(text);
  if (!version || *version < 0) return invalid("the schema version of {} cannot be read: \"{}\"", db.path(), text);
  return int(std::min<std::int64_t>(*version, 1'000'000'000));
}

Result<Ok> create_schema(SqliteDb& db) { return in_transaction(db, kSchema); }

Result<Ok> migrate_schema(SqliteDb& db, int from) {
  const std::string kept = fmt::format("{}.v{}-backup", db.path(), from);
  if (::access(kept.c_str(), F_OK) != 0) SMARTMIG_RETURN_IF_ERROR(copy_database(db, kept));
  std::string sql;
  for (int v = from; v < kStoreVersion; ++v) sql += kMigrations[v];
  sql += fmt::format("UPDATE meta SET value='{}' WHERE key='version';", kStoreVersion);
  if (const auto done = in_transaction(db, sql); !done)
    return Error{done.error().code,
                 fmt::format("{} (while migrating it from schema version {} to {}; it is unchanged, and {} is a copy)",
                             done.error().what, from, kStoreVersion, kept)};
  return Ok{};
}

}  // namespace smartmig
