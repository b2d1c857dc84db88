#include "queue/store/store_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "queue/store/job_rows.h"

namespace smartmig {

Result<std::unique_ptr<StoreWriter>> StoreWriter::open(SqliteDb db, const StoreOptions& options) {
  std::unique_ptr<StoreWriter> writer(new StoreWriter(std::move(db)));
  SMARTMIG_RETURN_IF_ERROR(writer->prepare(options));
  return writer;
}

Result<Ok> StoreWriter::prepare(const StoreOptions& options) {
  SMARTMIG_TRY(const auto mode, db_.text("PRAGMA journal_mode=WAL"));
  if (mode != "wal") return io_error("{} cannot use a write-ahead log; put it on a local file system", db_.path());
  SMARTMIG_RETURN_IF_ERROR(
      db_.run("PRAGMA synchronous=FULL; PRAGMA cache_size=-2048; PRAGMA journal_size_limit=16777216; PRAGMA "
              "temp_store=MEMORY"));
  if (options.max_bytes > 0) {
    SMARTMIG_TRY(const auto page, db_.number("PRAGMA page_size"));
    const auto pages = std::max<std::uint64_t>(1, options.max_bytes / std::uint64_t(page));
    SMARTMIG_RETURN_IF_ERROR(db_.number(fmt::format("PRAGMA max_page_count={}", pages).c_str()));
  }
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&put_job_,
       "INSERT INTO jobs VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT(id) DO UPDATE SET uid=?2, status=?3, final=?4, "
       "submitted_us=?5, ended_us=?6, state=?7, launch=?8"},
      {&put_spec_, "INSERT INTO specs VALUES(?1,?2) ON CONFLICT(job) DO UPDATE SET spec=?2"},
      {&put_event_, "INSERT INTO events VALUES(?1,?2,?3)"},
      {&put_damaged_, "INSERT INTO damaged(what, why, text) VALUES(?1,?2,?3)"},
      {&put_value_, "INSERT INTO named VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET value=?2"},
      {&put_launch_, "INSERT OR REPLACE INTO launches VALUES(?1,?2,?3,?4)"},
      {&get_launch_, "SELECT text FROM launches WHERE id=?1"}};
  for (const auto& [statement, sql] : statements) {
    SMARTMIG_TRY(*statement, SqliteStatement::prepare(db_, sql));
  }
  return sum_launches();
}

Result<Ok> StoreWriter::sum_launches() {
  launch_bytes_.clear();
  SMARTMIG_TRY(auto sums, SqliteStatement::prepare(db_, "SELECT uid, sum(bytes) FROM launches GROUP BY uid"));
  for (;;) {
    SMARTMIG_TRY(const bool more, sums.step());
    if (!more) return Ok{};
    launch_bytes_[std::uint32_t(sums.integer(0))] = sums.integer(1);
  }
}

bool StoreWriter::fold_log() {
  const std::scoped_lock lock(writing_);
  return sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) == SQLITE_OK;
}

Result<StoreStart> StoreWriter::start() {
  const std::scoped_lock lock(writing_);
  StoreStart found;
  SMARTMIG_TRY(auto live, SqliteStatement::prepare(db_, select_jobs(kLive, "j.final=0 ORDER BY j.id").c_str()));
  SMARTMIG_TRY(found.live, job_rows(live));
  SMARTMIG_TRY(auto named, SqliteStatement::prepare(db_, "SELECT name, value FROM named"));
  for (;;) {
    SMARTMIG_TRY(const bool more, named.step());
    if (!more) break;
    found.values.emplace(named.text(0), named.text(1));
  }
  SMARTMIG_TRY(const auto job, db_.number("SELECT max((SELECT coalesce(max(id),0) FROM jobs), "
                                          "(SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_job'))"));
  SMARTMIG_TRY(const auto event, db_.number("SELECT max((SELECT coalesce(max(sequence),0) FROM events), "
                                            "(SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_event'))"));
  found.last_job = std::uint64_t(job);
  found.last_event = std::uint64_t(event);
  return found;
}

Result<Ok> StoreWriter::commit(const StoreBatch& batch) {
  if (batch.empty()) return Ok{};
  const std::scoped_lock lock(writing_);
  const auto done = write(batch);
  if (!done) {
    roll_back();
    if (!batch.launches.empty()) (void)sum_launches();
  }
  return done;
}

// Whether anybody may write here is what the begin of a transaction tells.
Result<Ok> StoreWriter::room_for(std::uint64_t bytes) {
  const std::scoped_lock lock(writing_);
  Result<Ok> room = begin_.run();
  if (room) room = room_in_file(bytes);
  roll_back();
  if (room) room = room_on_disk(bytes);
  return room;
}

Result<Ok> StoreWriter::room_in_file(std::uint64_t bytes) {
  SMARTMIG_TRY(const auto most, db_.number("PRAGMA max_page_count"));
  SMARTMIG_TRY(const auto pages, db_.number("PRAGMA page_count"));
  SMARTMIG_TRY(const auto unused, db_.number("PRAGMA freelist_count"));
  SMARTMIG_TRY(const auto page, db_.number("PRAGMA page_size"));
  if (std::uint64_t(most - pages + unused) * std::uint64_t(page) >= bytes) return Ok{};
  return sqlite_error(SQLITE_FULL, db_.path(), "write to", "");
}

// A commit goes to the end of the log, or into a part of it that is free again: blocks beyond its end are kept for it.
Result<Ok> StoreWriter::room_on_disk(std::uint64_t bytes) const {
  const std::string log = db_.path() + "-wal";
  const int fd = ::open(log.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? Result<Ok>(Ok{}) : io_error("cannot write to {}: {}", log, std::strerror(errno));
  struct stat file {};
  struct statvfs disk {};
  int error = ::fstat(fd, &file) == 0 ? 0 : errno;
  if (error == 0 && ::fallocate(fd, FALLOC_FL_KEEP_SIZE, file.st_size, off_t(bytes)) != 0) error = errno;
  if (error == EOPNOTSUPP || error == ENOSYS) {  // this file system keeps nothing for later: what is free must do
    const bool known = ::fstatvfs(fd, &disk) == 0;
    const std::uint64_t blocks = ::geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
    error = !known || blocks * disk.f_frsize >= bytes ? 0 : ENOSPC;
  }
  ::close(fd);
  if (error == 0 || error == EINTR) return Ok{};
  return io_error("cannot write to {}: {}; free {:.0f} MiB of its disk", log, std::strerror(error),
                  std::ceil(double(bytes) / (1 << 20)));
}

Result<std::optional<std::string>> StoreWriter::launch(std::uint64_t id) {
  const std::scoped_lock lock(writing_);
  get_launch_.bind(1, std::int64_t(id));
  SMARTMIG_TRY(const bool there, get_launch_.step());
  std::optional<std::string> text;
  if (there) text = get_launch_.text(0);
  get_launch_.reset();
  return text;
}

Result<Ok> StoreWriter::write_launches(const std::vector<LaunchRow>& launches) {
  std::set<std::uint32_t> users;
  for (const LaunchRow& launch : launches) {
    put_launch_.bind(1, std::int64_t(launch.id)).bind(2, std::int64_t(launch.uid));
    put_launch_.bind(3, std::int64_t(launch.text.size())).bind(4, launch.text);
    SMARTMIG_RETURN_IF_ERROR(put_launch_.run());
    launch_bytes_[launch.uid] += std::int64_t(launch.text.size());
    users.insert(launch.uid);
  }
  for (const std::uint32_t uid : users) SMARTMIG_RETURN_IF_ERROR(trim_launches(uid));
  return Ok{};
}

// Of jobs that have ended, the oldest first.
Result<Ok> StoreWriter::trim_launches(std::uint32_t uid) {
  const auto most = std::int64_t(std::min<std::uint64_t>(most_launch_bytes_, INT64_MAX));
  std::int64_t& sum = launch_bytes_[uid];
  if (most == 0 || sum <= most) return Ok{};
  SMARTMIG_TRY(auto ended, SqliteStatement::prepare(db_,
                                                    "SELECT l.id, l.bytes FROM launches l WHERE l.uid=?1 AND NOT "
                                                    "EXISTS(SELECT 1 FROM jobs j WHERE j.launch=l.id AND j.final=0) "
                                                    "ORDER BY l.id"));
  ended.bind(1, std::int64_t(uid));
  std::vector<std::int64_t> gone;
  while (sum > most) {
    SMARTMIG_TRY(const bool there, ended.step());
    if (!there) break;
    gone.push_back(ended.integer(0));
    sum -= ended.integer(1);
  }
  ended.reset();
  SMARTMIG_TRY(auto remove, SqliteStatement::prepare(db_, "DELETE FROM launches WHERE id=?1"));
  for (const std::int64_t id : gone) SMARTMIG_RETURN_IF_ERROR(remove.bind(1, id).run());
  return Ok{};
}

Result<Ok> StoreWriter::write(const StoreBatch& batch) {
  SMARTMIG_RETURN_IF_ERROR(begin_.run());
  for (const JobRow& job : batch.jobs) {
    put_job_.bind(1, std::int64_t(job.id)).bind(2, std::int64_t(job.uid)).bind(3, std::int64_t(job.status));
    put_job_.bind(4, std::int64_t(job.final)).bind(5, job.submitted_us).bind(6, job.ended_us).bind(7, job.state);
    put_job_.bind(8, std::int64_t(job.launch));
    SMARTMIG_RETURN_IF_ERROR(put_job_.run());
    if (job.spec.empty()) continue;
    SMARTMIG_RETURN_IF_ERROR(put_spec_.bind(1, std::int64_t(job.id)).bind(2, job.spec).run());
  }
  SMARTMIG_RETURN_IF_ERROR(write_launches(batch.launches));  // after the rows: what is new is live
  for (const EventRow& event : batch.events)
    SMARTMIG_RETURN_IF_ERROR(
        put_event_.bind(1, std::int64_t(event.sequence)).bind(2, event.at_us).bind(3, event.line).run());
  for (const DamagedRow& row : batch.damaged)
    SMARTMIG_RETURN_IF_ERROR(put_damaged_.bind(1, row.what).bind(2, row.why).bind(3, row.text).run());
  for (const auto& [name, value] : batch.values)
    SMARTMIG_RETURN_IF_ERROR(put_value_.bind(1, name).bind(2, value).run());
  return commit_.run();
}

void StoreWriter::roll_back() {
  for (SqliteStatement* s :
       {&begin_, &commit_, &put_job_, &put_spec_, &put_event_, &put_value_, &put_damaged_, &put_launch_, &get_launch_})
    s->reset();
  if (!sqlite3_get_autocommit(db_.handle())) (void)db_.run("ROLLBACK");
}

}  // namespace smartmig
