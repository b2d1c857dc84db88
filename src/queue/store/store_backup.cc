#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/errors.h"
#include "queue/store/store_schema.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

Result<Ok> make_empty(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("cannot create {}: {}", path, std::strerror(errno));
  ::close(fd);
  return Ok{};
}

Result<Ok> flush(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  const int problem = errno;
  if (fd >= 0) ::close(fd);
  if (!done && !fs::is_directory(path))
    return io_error("cannot flush {} to the disk: {}", path, std::strerror(problem));
  return Ok{};
}

std::string directory_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Result<Ok> move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return io_error("cannot rename {} to {}: {}", from, to, std::strerror(errno));
  return flush(directory_of(to));
}

void remove_all_of(const std::string& path) {
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
}

Result<Ok> copy_pages(SqliteDb& from, const std::string& to) {
  SMARTMIG_RETURN_IF_ERROR(make_empty(to));
  SMARTMIG_TRY(auto copy, SqliteDb::open(to, SqliteDb::kReadWrite));
  sqlite3_backup* work = sqlite3_backup_init(copy.handle(), "main", from.handle(), "main");
  if (!work) return copy.error("write to");
  sqlite3_backup_step(work, -1);  // in one read transaction: writers go on, and nothing makes it start again
  const int code = sqlite3_backup_finish(work);
  if (code != SQLITE_OK) return sqlite_error(code, to, "write to", sqlite3_errmsg(copy.handle()));
  return copy.run("PRAGMA journal_mode=DELETE");  // one file, whole by itself
}

Result<Ok> check_whole(const std::string& path) {
  SMARTMIG_TRY(auto db, SqliteDb::open(path, SqliteDb::kReadOnly));
  SMARTMIG_TRY(const int version, schema_version(db));
  if (version < 0) return invalid("{} is empty, so it is not a smartmig store", path);
  if (version > kStoreVersion) return newer_schema(path, version);
  SMARTMIG_TRY(const auto answer, db.text("PRAGMA integrity_check(1)"));
  if (answer != "ok") return io_error("{} is damaged and was not used: {}", path, answer);
  return Ok{};
}

// The last number that a job of this store was given; 0: it does not tell.
std::int64_t last_number_in(const std::string& path) {
  auto db = SqliteDb::open(path, SqliteDb::kReadOnly);
  if (!db) return 0;
  std::int64_t last = 0;
  for (const char* asked :
       {"SELECT coalesce(max(id),0) FROM jobs", "SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_job'"})
    if (const auto number = db->number(asked)) last = std::max(last, *number);
  return last;
}

// Says in the copy that it is one: the next daemon then compares it with everything that runs. No number is given that
// the store before gave: what lies in the spool under it would be taken for the other job's.
Result<Ok> mark_restored(const std::string& path, std::int64_t last_number) {
  SMARTMIG_TRY(auto db, SqliteDb::open(path, SqliteDb::kReadWrite));
  SMARTMIG_RETURN_IF_ERROR(
      db.run(fmt::format("INSERT OR IGNORE INTO meta VALUES('last_job','0');"
                         "UPDATE meta SET value=max(CAST(value AS INTEGER),{}) WHERE key='last_job'",
                         last_number)
                 .c_str()));
  return db.run("INSERT INTO named VALUES('restored','1') ON CONFLICT(name) DO UPDATE SET value='1'");
}

// Folds the write-ahead log of a store that nobody uses into its file. A damaged one is left as it is.
Result<Ok> close_down(const std::string& path) {
  auto db = SqliteDb::open(path, SqliteDb::kReadWrite);
  if (!db) return Ok{};
  sqlite3_busy_timeout(db->handle(), 200);
  const auto mode = db->text("PRAGMA journal_mode=DELETE");
  const bool busy = mode ? *mode != "delete" : mode.error().code == Error::kBusy;
  if (busy) return busy_error("{} is in use; stop the daemon first", path);
  return Ok{};
}

// Of restores that were killed.
void remove_remains(const std::string& path) {
  std::error_code error;
  const std::string begin = fs::path(path).filename().string() + ".tmp-";
  for (const auto& entry : fs::directory_iterator(directory_of(path), error))
    if (entry.path().filename().string().starts_with(begin)) ::unlink(entry.path().c_str());
}

// Under a second name: at no instant is there no store. A log or a journal is left only where the store could not be
// closed down, and would be applied to the next file of this name.
Result<Ok> keep_replaced(const std::string& path) {
  const std::string kept = path + ".replaced";
  remove_all_of(kept);
  for (const char* suffix : {"-wal", "-journal"})
    if (fs::exists(path + suffix)) SMARTMIG_RETURN_IF_ERROR(move(path + suffix, kept + suffix));
  ::unlink((path + "-shm").c_str());
  ::unlink((path + kOpenMark).c_str());
  if (::link(path.c_str(), kept.c_str()) == 0) return Ok{};
  return move(path, kept);  // a file system without links
}

}  // namespace

Result<Ok> copy_database(SqliteDb& from, const std::string& to) {
  if (fs::exists(fs::symlink_status(to))) return busy_error("{} exists; choose another name for the copy", to);
  const std::string temporary = fmt::format("{}.tmp-{}", to, ::getpid());
  auto done = copy_pages(from, temporary);
  if (done) done = flush(temporary);
  if (done) done = move(temporary, to);
  if (!done) remove_all_of(temporary);
  return done;
}

Result<Ok> restore_store(const std::string& backup, const std::string& path) {
  if (!fs::is_regular_file(backup)) return not_found("backup {} does not exist", backup);
  std::error_code same;
  if (fs::equivalent(backup, path, same)) return invalid("{} and {} are the same file", backup, path);
  const std::string temporary = fmt::format("{}.tmp-{}", path, ::getpid());
  remove_remains(path);
  SMARTMIG_RETURN_IF_ERROR(make_empty(temporary));
  std::error_code problem;
  fs::copy_file(backup, temporary, fs::copy_options::overwrite_existing, problem);
  Result<Ok> done = Ok{};
  if (problem) done = io_error("cannot copy {} to {}: {}", backup, temporary, problem.message());
  ::chmod(temporary.c_str(), 0600);
  if (done) done = check_whole(temporary);
  if (!done) done = Error{done.error().code, fmt::format("{} cannot be restored: {}", backup, done.error().what)};
  if (done && fs::exists(path)) done = close_down(path);
  if (done) done = mark_restored(temporary, fs::exists(path) ? last_number_in(path) : 0);
  for (const char* suffix : {"-wal", "-shm"}) ::unlink((temporary + suffix).c_str());
  if (done) done = flush(temporary);
  if (done && fs::exists(path)) done = keep_replaced(path);
  if (done) done = move(temporary, path);
  if (!done) remove_all_of(temporary);
  return done;
}

}  // namespace smartmig
