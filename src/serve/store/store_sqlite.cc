#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "serve/daemon/job_record.h"
#include "serve/store/store_schema.h"

namespace smartmig {
namespace {

constexpr int kPruneChunk = 500;  // rows that one transaction removes: a few milliseconds

std::string select_jobs(const char* index, std::string_view where) {
  return fmt::format(
      "SELECT j.id, j.uid, j.status, j.final, j.submitted_us, j.ended_us, j.state, coalesce(s.spec,'') "
      "FROM jobs j {} LEFT JOIN specs s ON s.job=j.id WHERE {}",
      index, where);
}
constexpr const char* kLive = "INDEXED BY jobs_live";  // few rows, however long the history

JobRow job_row(const SqliteStatement& at) {
  JobRow row;
  row.id = std::uint64_t(at.integer(0));
  row.uid = std::uint32_t(at.integer(1));
  row.status = int(at.integer(2));
  row.final = at.integer(3) != 0;
  row.submitted_us = at.integer(4);
  row.ended_us = at.integer(5);
  row.state = at.text(6);
  row.spec = at.text(7);
  return row;
}

Result<std::vector<JobRow>> job_rows(SqliteStatement& statement) {
  std::vector<JobRow> rows;
  for (;;) {
    SMARTMIG_TRY(const bool more, statement.step());
    if (!more) return rows;
    rows.push_back(job_row(statement));
  }
}

struct Reader {
  SqliteDb db;
  SqliteStatement job, events;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(SqliteDb writer, const StoreOptions& options)
      : path_(writer.path()), writer_(std::move(writer)), readers_left_(std::max(1, options.readers)) {}

  Result<Ok> prepare(const StoreOptions& options) {
    SMARTMIG_TRY(const auto mode, writer_.text("PRAGMA journal_mode=WAL"));
    if (mode != "wal") return io_error("{} cannot use a write-ahead log here: put it on a local file system", path_);
    SMARTMIG_RETURN_IF_ERROR(
        writer_.run("PRAGMA synchronous=FULL; PRAGMA cache_size=-2048; PRAGMA journal_size_limit=16777216; PRAGMA "
                    "temp_store=MEMORY"));
    if (options.max_bytes > 0) {
      SMARTMIG_TRY(const auto page, writer_.number("PRAGMA page_size"));
      const auto pages = std::max<std::uint64_t>(1, options.max_bytes / std::uint64_t(page));
      SMARTMIG_RETURN_IF_ERROR(writer_.number(fmt::format("PRAGMA max_page_count={}", pages).c_str()));
    }
    const std::pair<SqliteStatement*, const char*> statements[] = {
        {&begin_, "BEGIN IMMEDIATE"},
        {&commit_, "COMMIT"},
        {&put_job_,
         "INSERT INTO jobs VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(id) DO UPDATE SET uid=?2, status=?3, final=?4, "
         "submitted_us=?5, ended_us=?6, state=?7"},
        {&put_spec_, "INSERT INTO specs VALUES(?1,?2) ON CONFLICT(job) DO UPDATE SET spec=?2"},
        {&put_event_, "INSERT INTO events VALUES(?1,?2,?3)"},
        {&put_value_, "INSERT INTO named VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET value=?2"}};
    for (const auto& [statement, sql] : statements) {
      SMARTMIG_TRY(*statement, SqliteStatement::prepare(writer_, sql));
    }
    return Ok{};
  }

  Result<StoreStart> start() override {
    const std::scoped_lock lock(writing_);
    StoreStart found;
    SMARTMIG_TRY(auto live, SqliteStatement::prepare(writer_, select_jobs(kLive, "j.final=0 ORDER BY j.id").c_str()));
    SMARTMIG_TRY(found.live, job_rows(live));
    SMARTMIG_TRY(auto named, SqliteStatement::prepare(writer_, "SELECT name, value FROM named"));
    for (;;) {
      SMARTMIG_TRY(const bool more, named.step());
      if (!more) break;
      found.values.emplace(named.text(0), named.text(1));
    }
    SMARTMIG_TRY(const auto job, writer_.number("SELECT max((SELECT coalesce(max(id),0) FROM jobs), "
                                                "(SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_job'))"));
    SMARTMIG_TRY(const auto event, writer_.number("SELECT max((SELECT coalesce(max(sequence),0) FROM events), "
                                                  "(SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_event'))"));
    found.last_job = std::uint64_t(job);
    found.last_event = std::uint64_t(event);
    return found;
  }

  Result<Ok> commit(const StoreBatch& batch) override {
    if (batch.empty()) return Ok{};
    const std::scoped_lock lock(writing_);
    const auto done = write(batch);
    if (!done) roll_back();
    return done;
  }

  Result<std::optional<JobRow>> job(std::uint64_t id) override {
    return reading<std::optional<JobRow>>([&](Reader& reader) -> Result<std::optional<JobRow>> {
      reader.job.bind(1, std::int64_t(id));
      SMARTMIG_TRY(const bool there, reader.job.step());
      std::optional<JobRow> row;
      if (there) row = job_row(reader.job);
      reader.job.reset();
      return row;
    });
  }

  Result<std::vector<JobRow>> find(const StoreFind& find) override {
    std::string where = find.newest_first ? (find.after ? "j.id < ?1" : "?1 = 0") : "j.id > ?1";
    auto final = find.final;
    if (find.status && !final) final = is_final(JobStatus(*find.status));  // lets the index of live jobs serve
    if (find.uid) where += " AND j.uid=?2";
    if (find.status) where += " AND j.status=?3";
    if (final) where += *final ? " AND j.final=1" : " AND j.final=0";
    const std::string sql =
        select_jobs(final && !*final ? kLive : "",
                    fmt::format("{} ORDER BY j.id {} LIMIT ?4", where, find.newest_first ? "DESC" : "ASC"));
    return reading<std::vector<JobRow>>([&](Reader& reader) -> Result<std::vector<JobRow>> {
      SMARTMIG_TRY(auto statement, SqliteStatement::prepare(reader.db, sql.c_str()));
      statement.bind(1, std::int64_t(std::min<std::uint64_t>(find.after, INT64_MAX)));
      if (find.uid) statement.bind(2, std::int64_t(*find.uid));
      if (find.status) statement.bind(3, std::int64_t(*find.status));
      statement.bind(4, std::int64_t(std::max(0, find.limit)));
      return job_rows(statement);
    });
  }

  Result<std::vector<EventRow>> events_after(std::uint64_t sequence, int limit) override {
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

  Result<std::vector<std::uint64_t>> prune(std::int64_t before_us, std::uint64_t max_events,
                                           std::uint64_t max_jobs) override {
    std::vector<std::uint64_t> removed;
    SMARTMIG_RETURN_IF_ERROR(keep_last_numbers());
    for (bool more = true; more;) {
      SMARTMIG_TRY(more, prune_events(before_us, max_events));
    }
    for (bool more = true; more;) {
      SMARTMIG_TRY(more, prune_jobs(before_us, max_jobs, removed));
    }
    return removed;
  }

  Result<Ok> backup(const std::string& path) override {
    return reading<Ok>([&](Reader& reader) { return copy_database(reader.db, path); });
  }

  std::uint64_t bytes() const override {
    std::uint64_t sum = 0;
    for (const char* suffix : {"", "-wal"}) {
      struct stat file {};
      if (::stat((path_ + suffix).c_str(), &file) == 0) sum += std::uint64_t(file.st_size);
    }
    return sum;
  }

 private:
  Result<Ok> write(const StoreBatch& batch) {
    SMARTMIG_RETURN_IF_ERROR(begin_.run());
    for (const JobRow& job : batch.jobs) {
      put_job_.bind(1, std::int64_t(job.id)).bind(2, std::int64_t(job.uid)).bind(3, std::int64_t(job.status));
      put_job_.bind(4, std::int64_t(job.final)).bind(5, job.submitted_us).bind(6, job.ended_us).bind(7, job.state);
      SMARTMIG_RETURN_IF_ERROR(put_job_.run());
      if (job.spec.empty()) continue;
      SMARTMIG_RETURN_IF_ERROR(put_spec_.bind(1, std::int64_t(job.id)).bind(2, job.spec).run());
    }
    for (const EventRow& event : batch.events)
      SMARTMIG_RETURN_IF_ERROR(
          put_event_.bind(1, std::int64_t(event.sequence)).bind(2, event.at_us).bind(3, event.line).run());
    for (const auto& [name, value] : batch.values)
      SMARTMIG_RETURN_IF_ERROR(put_value_.bind(1, name).bind(2, value).run());
    return commit_.run();
  }

  void roll_back() {
    for (SqliteStatement* s : {&begin_, &commit_, &put_job_, &put_spec_, &put_event_, &put_value_}) s->reset();
    if (!sqlite3_get_autocommit(writer_.handle())) (void)writer_.run("ROLLBACK");
  }

  template <class Work>
  Result<Ok> transaction(const Work& work) {
    const std::scoped_lock lock(writing_);
    Result<Ok> done = begin_.run();
    if (done) done = work();
    if (done) done = commit_.run();
    if (!done) roll_back();
    return done;
  }

  Result<Ok> keep_last_numbers() {  // numbers are never given twice, even where every row goes
    return transaction([&] {
      return writer_.run(
          "UPDATE meta SET value=max(CAST(value AS INTEGER),(SELECT coalesce(max(id),0) FROM jobs)) WHERE "
          "key='last_job';"
          "UPDATE meta SET value=max(CAST(value AS INTEGER),(SELECT coalesce(max(sequence),0) FROM events)) "
          "WHERE key='last_event'");
    });
  }

  // From the oldest on: a removed event never leaves a gap behind a kept one.
  Result<bool> prune_events(std::int64_t before_us, std::uint64_t most) {
    bool more = false;
    const auto done = transaction([&]() -> Result<Ok> {
      SMARTMIG_TRY(const auto first, writer_.number("SELECT coalesce(min(sequence),0) FROM events"));
      SMARTMIG_TRY(const auto last, writer_.number("SELECT coalesce(max(sequence),0) FROM events"));
      if (last == 0) return Ok{};
      const std::int64_t too_many =
          std::max<std::int64_t>(0, last - first + 1 - std::int64_t(std::min<std::uint64_t>(most, INT64_MAX)));
      SMARTMIG_TRY(auto old, SqliteStatement::prepare(writer_,
                                                      "SELECT at_us FROM events WHERE sequence>=?1 ORDER BY sequence "
                                                      "LIMIT ?2"));
      old.bind(1, first).bind(2, std::int64_t(kPruneChunk));
      std::int64_t count = 0;
      for (; count < kPruneChunk; ++count) {
        SMARTMIG_TRY(const bool there, old.step());
        if (!there || (count >= too_many && old.integer(0) >= before_us)) break;
      }
      old.reset();
      if (count == 0) return Ok{};
      SMARTMIG_TRY(auto remove, SqliteStatement::prepare(writer_, "DELETE FROM events WHERE sequence<?1"));
      more = count == kPruneChunk;
      return remove.bind(1, first + count).run();
    });
    if (!done) return done.error();
    return more;
  }

  Result<bool> prune_jobs(std::int64_t before_us, std::uint64_t most, std::vector<std::uint64_t>& removed) {
    bool more = false;
    const std::size_t before = removed.size();
    const auto done = transaction([&]() -> Result<Ok> {
      SMARTMIG_TRY(const auto kept, writer_.number("SELECT count(*) FROM jobs WHERE final=1"));
      const std::int64_t too_many =
          std::max<std::int64_t>(0, kept - std::int64_t(std::min<std::uint64_t>(most, INT64_MAX)));
      SMARTMIG_TRY(auto oldest, SqliteStatement::prepare(
                                    writer_, "SELECT id, ended_us FROM jobs WHERE final=1 ORDER BY ended_us LIMIT ?1"));
      oldest.bind(1, std::int64_t(kPruneChunk));
      for (std::int64_t count = 0; count < kPruneChunk; ++count) {
        SMARTMIG_TRY(const bool there, oldest.step());
        if (!there || (count >= too_many && oldest.integer(1) >= before_us)) break;
        removed.push_back(std::uint64_t(oldest.integer(0)));
      }
      oldest.reset();
      SMARTMIG_TRY(auto job, SqliteStatement::prepare(writer_, "DELETE FROM jobs WHERE id=?1"));
      SMARTMIG_TRY(auto spec, SqliteStatement::prepare(writer_, "DELETE FROM specs WHERE job=?1"));
      for (std::size_t i = before; i < removed.size(); ++i) {
        SMARTMIG_RETURN_IF_ERROR(job.bind(1, std::int64_t(removed[i])).run());
        SMARTMIG_RETURN_IF_ERROR(spec.bind(1, std::int64_t(removed[i])).run());
      }
      more = removed.size() - before == std::size_t(kPruneChunk);
      return Ok{};
    });
    if (!done) {
      removed.resize(before);
      return done.error();
    }
    return more;
  }

  Result<std::unique_ptr<Reader>> open_reader() {
    SMARTMIG_TRY(auto db, SqliteDb::open(path_, SqliteDb::kReadOnly));
    SMARTMIG_RETURN_IF_ERROR(db.run("PRAGMA cache_size=-512"));
    SMARTMIG_TRY(auto job, SqliteStatement::prepare(db, select_jobs("", "j.id=?1").c_str()));
    SMARTMIG_TRY(auto events, SqliteStatement::prepare(db,
                                                       "SELECT sequence, at_us, line FROM events WHERE sequence>?1 "
                                                       "ORDER BY sequence LIMIT ?2"));
    return std::make_unique<Reader>(Reader{std::move(db), std::move(job), std::move(events)});
  }

  template <class T, class Work>
  Result<T> reading(const Work& work) {
    std::unique_ptr<Reader> reader;
    {
      std::unique_lock lock(reading_);
      freed_.wait(lock, [&] { return !idle_.empty() || readers_left_ > 0; });
      if (!idle_.empty()) {
        reader = std::move(idle_.back());
        idle_.pop_back();
      } else {
        --readers_left_;
      }
    }
    Result<T> answer = Error{};
    if (!reader) {
      if (auto opened = open_reader())
        reader = std::move(*opened);
      else
        answer = opened.error();
    }
    if (reader) answer = work(*reader);
    const std::scoped_lock lock(reading_);
    if (answer)
      idle_.push_back(std::move(reader));
    else
      ++readers_left_;  // a connection that failed is not used again
    freed_.notify_one();
    return answer;
  }

  std::string path_;
  std::mutex writing_;
  SqliteDb writer_;
  SqliteStatement begin_, commit_, put_job_, put_spec_, put_event_, put_value_;
  std::mutex reading_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Reader>> idle_;
  int readers_left_;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const StoreOptions& options) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);  // before SQLite: its mode would be 0644
  if (fd < 0)
    return io_error("cannot open the store {}: {}; its directory must exist and be writable", path,
                    std::strerror(errno));
  ::close(fd);
  SMARTMIG_TRY(auto db, SqliteDb::open(path, SqliteDb::kReadWrite));
  SMARTMIG_TRY(const int version, schema_version(db));
  if (version > kStoreVersion) return newer_schema(path, version);
  if (version < 0) SMARTMIG_RETURN_IF_ERROR(create_schema(db));
  if (version >= 0 && version < kStoreVersion) SMARTMIG_RETURN_IF_ERROR(migrate_schema(db, version));
  auto store = std::make_unique<SqliteStore>(std::move(db), options);
  SMARTMIG_RETURN_IF_ERROR(store->prepare(options));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace smartmig
