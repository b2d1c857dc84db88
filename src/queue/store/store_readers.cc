#include "queue/store/store_readers.h"

#include <algorithm>

#include "queue/job_record.h"
#include "queue/store/job_rows.h"
#include "queue/store/store_schema.h"

namespace smartmig {

Result<std::unique_ptr<StoreReaders::Reader>> StoreReaders::open_reader() {
  SMARTMIG_TRY(auto db, SqliteDb::open(path_, SqliteDb::kReadOnly));
  SMARTMIG_RETURN_IF_ERROR(db.run("PRAGMA cache_size=-512"));
  SMARTMIG_TRY(auto job, SqliteStatement::prepare(db, select_jobs("", "j.id=?1").c_str()));
  SMARTMIG_TRY(auto events, SqliteStatement::prepare(db,
                                                     "SELECT sequence, at_us, line FROM events WHERE sequence>?1 "
                                                     "ORDER BY sequence LIMIT ?2"));
  return std::make_unique<Reader>(Reader{std::move(db), std::move(job), std::move(events)});
}

Result<std::optional<JobRow>> StoreReaders::job(std::uint64_t id) {
  return reading<std::optional<JobRow>>([&](Reader& reader) -> Result<std::optional<JobRow>> {
    reader.job.bind(1, std::int64_t(id));
    SMARTMIG_TRY(const bool there, reader.job.step());
    std::optional<JobRow> row;
    if (there) row = job_row(reader.job);
    reader.job.reset();
    return row;
  });
}

Result<std::vector<JobRow>> StoreReaders::find(const StoreFind& find) {
  std::string where = find.newest_first ? (find.after ? "j.id < ?1" : "?1 = 0") : "j.id > ?1";
  auto final = find.final;
  if (find.status && !final) final = is_final(JobStatus(*find.status));  // lets the index of live jobs serve
  if (find.uid) where += " AND j.uid=?2";
  if (find.status) where += " AND j.status=?3";
  if (final) where += *final ? " AND j.final=1" : " AND j.final=0";
  const std::string sql = select_jobs(final && !*final ? kLive : "", fmt::format("{} ORDER BY j.id {} LIMIT ?4", where,
                                                                                 find.newest_first ? "DESC" : "ASC"));
  return reading<std::vector<JobRow>>([&](Reader& reader) -> Result<std::vector<JobRow>> {
    SMARTMIG_TRY(auto statement, SqliteStatement::prepare(reader.db, sql.c_str()));
    statement.bind(1, std::int64_t(std::min<std::uint64_t>(find.after, INT64_MAX)));
    if (find.uid) statement.bind(2, std::int64_t(*find.uid));
    if (find.status) statement.bind(3, std::int64_t(*find.status));
    statement.bind(4, std::int64_t(std::max(0, find.limit)));
    return job_rows(statement);
  });
}

Result<std::vector<JobEnd>> StoreReaders::ended(JobEnd after, std::int64_t before_us, int limit) {
  return reading<std::vector<JobEnd>>([&](Reader& reader) -> Result<std::vector<JobEnd>> {
    SMARTMIG_TRY(auto statement,
                 SqliteStatement::prepare(reader.db,
                                          "SELECT ended_us, id FROM jobs WHERE final=1 AND ended_us<?1 AND "
                                          "(ended_us, id)>(?2, ?3) ORDER BY ended_us, id LIMIT ?4"));
    statement.bind(1, before_us).bind(2, after.at_us).bind(3, std::int64_t(after.job));
    statement.bind(4, std::int64_t(std::max(0, limit)));
    std::vector<JobEnd> rows;
    for (;;) {
      SMARTMIG_TRY(const bool more, statement.step());
      if (!more) return rows;
      rows.push_back({statement.integer(0), std::uint64_t(statement.integer(1))});
    }
  });
}

Result<std::vector<EventRow>> StoreReaders::events_after(std::uint64_t sequence, int limit) {
  return reading<std::vector<EventRow>>([&](Reader& reader) -> Result<std::vector<EventRow>> {
    std::vector<EventRow> rows;
    reader.events.bind(1, std::int64_t(std::min<std::uint64_t>(sequence, INT64_MAX)));
    reader.events.bind(2, std::int64_t(std::max(0, limit)));
    for (;;) {
      SMARTMIG_TRY(const bool more, reader.events.step());
      if (!more) break;
      rows.push_back({std::uint64_t(reader.events.integer(0)), reader.events.integer(1), reader.events.text(2)});
    }
    reader.events.reset();
    return rows;
  });
}

Result<std::vector<DamagedRow>> StoreReaders::damaged(int limit) {
  return reading<std::vector<DamagedRow>>([&](Reader& reader) -> Result<std::vector<DamagedRow>> {
    SMARTMIG_TRY(auto statement, SqliteStatement::prepare(
                                     reader.db, "SELECT what, why, text FROM damaged ORDER BY number DESC LIMIT ?1"));
    statement.bind(1, std::int64_t(std::max(0, limit)));
    std::vector<DamagedRow> rows;
    for (;;) {
      SMARTMIG_TRY(const bool more, statement.step());
      if (!more) return rows;
      rows.push_back({statement.text(0), statement.text(1), statement.text(2)});
    }
  });
}

Result<Ok> StoreReaders::backup(const std::string& path) {
  return reading<Ok>([&](Reader& reader) { return copy_database(reader.db, path); });
}

}  // namespace smartmig
