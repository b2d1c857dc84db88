// What ended jobs used, added up by SQLite itself, so that a million of them take a second and no memory.
#include "queue/job_record.h"
#include "queue/store/store_readers.h"

namespace smartmig {
namespace {

std::string usage_sql(const StoreUsage& usage) {
  const char* key = usage.by == "day"       ? "date(j.ended_us / 1000000, 'unixepoch', 'localtime')"
                    : usage.by == "kind"    ? "coalesce(json_extract(s.spec, '$.kind'), '')"
                    : usage.by == "project" ? "coalesce(json_extract(s.spec, '$.project'), '')"
                    : usage.by == "group"   ? "json_extract(j.state, '$.gid')"
                                            : "coalesce(json_extract(j.state, '$.user'), j.uid)";
  // A slice is named "3g.20gb@4": as a number that is its compute slices.
  return fmt::format(
      "SELECT {} AS key, count(*), sum(j.status = {}), "
      "CAST(round(1e3 * sum(json_extract(j.state, '$.joules'))) AS INTEGER), "
      "CAST(sum(1e6 * coalesce(json_extract(j.state, '$.slice_s'), 0) + CASE WHEN json_extract(j.state, '$.started') > 0 THEN "
      "max(0, j.ended_us - json_extract(j.state, '$.started')) * CAST(json_extract(j.state, '$.slice') AS INTEGER) "
      "ELSE 0 END) AS INTEGER), "
      "CAST(sum(max(0, j.ended_us - 1e6 * coalesce(json_extract(s.spec, '$.deadline_at'), j.ended_us))) AS INTEGER) "
      "FROM jobs j LEFT JOIN specs s ON s.job = j.id "
      "WHERE j.final = 1 AND j.ended_us >= ?1 AND j.ended_us < ?2 {} GROUP BY 1 ORDER BY 1",
      key, int(JobStatus::kDone), usage.uid ? "AND j.uid = ?3" : "");
}

std::int64_t in_us(std::int64_t seconds) { return seconds > INT64_MAX / 1'000'000 ? INT64_MAX : seconds * 1'000'000; }

}  // namespace

Result<std::vector<UsageRow>> StoreReaders::usage(const StoreUsage& usage) {
  return reading<std::vector<UsageRow>>([&](Reader& reader) -> Result<std::vector<UsageRow>> {
    SMARTMIG_TRY(auto statement, SqliteStatement::prepare(reader.db, usage_sql(usage).c_str()));
    statement.bind(1, in_us(usage.since_s)).bind(2, in_us(usage.until_s));
    if (usage.uid) statement.bind(3, std::int64_t(*usage.uid));
    std::vector<UsageRow> rows;
    for (;;) {
      SMARTMIG_TRY(const bool more, statement.step());
      if (!more) return rows;
      UsageRow row;
      row.key = statement.text(0);
      row.jobs = statement.integer(1);
      row.done = statement.integer(2);
      row.joules = 1e-3 * double(statement.integer(3));
      row.slice_s = 1e-6 * double(statement.integer(4));
      row.late_s = 1e-6 * double(statement.integer(5));
      rows.push_back(std::move(row));
    }
  });
}

}  // namespace smartmig
