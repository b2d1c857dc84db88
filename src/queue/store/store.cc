#include "queue/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "queue/store/store_readers.h"
#include "queue/store/store_schema.h"
#include "queue/store/store_writer.h"

namespace smartmig {
namespace {

std::uint64_t file_bytes(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? std::uint64_t(file.st_size) : 0;
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const StoreOptions& options) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);  // before SQLite: its mode would be 0644
  if (fd < 0)
    return io_error("cannot open the store {}: {}; its directory must exist and be writable", path,
                    std::strerror(errno));
  ::close(fd);
  const bool log_lost = ::access((path + kOpenMark).c_str(), F_OK) == 0 && file_bytes(path + "-wal") == 0;
  SMARTMIG_TRY(auto db, SqliteDb::open(path, SqliteDb::kReadWrite));
  const auto found = schema_version(db);
  if (!found && found.error().code == Error::kInvalid)
    return invalid("{}; restore a backup with smartmig restore FILE --state {}", found.error().what,
                   path.substr(0, path.rfind('/')));
  if (!found) return found.error();
  const int version = *found;
  if (version > kStoreVersion) return newer_schema(path, version);
  if (version >= 0) {
    const auto whole = db.text("PRAGMA quick_check(1)");
    if (!whole || *whole != "ok")
      return io_error("the store {} is damaged ({}); restore a backup with smartmig restore FILE --state {}", path,
                      whole ? *whole : whole.error().what, path.substr(0, path.rfind('/')));
  }
  if (version < 0) SMARTMIG_RETURN_IF_ERROR(create_schema(db));
  if (version >= 0 && version < kStoreVersion) SMARTMIG_RETURN_IF_ERROR(migrate_schema(db, version));
  SMARTMIG_TRY(auto writer, StoreWriter::open(std::move(db), options));
  auto readers = std::make_unique<StoreReaders>(path, std::max(1, options.readers));
  std::unique_ptr<Store> store(new Store(path, std::move(writer), std::move(readers)));
  if (log_lost)
    store->lost_ = fmt::format(
        "{0}-wal, which contained the last commits of the store, is missing. smartmig uses the queue in {0} and compares it with the running jobs. Unless another program merged the log into that file, jobs and results of the last minutes may be missing; smartmig restore restores a backup",
        path);
  return store;
}

Store::Store(std::string path, std::unique_ptr<StoreWriter> writer, std::unique_ptr<StoreReaders> readers)
    : path_(std::move(path)), writer_(std::move(writer)), readers_(std::move(readers)) {}

// The log goes into the file first, then the mark, then the log.
Store::~Store() {
  readers_.reset();
  if (marked_ && writer_->fold_log()) ::unlink((path_ + kOpenMark).c_str());
}

Result<StoreStart> Store::start() {
  SMARTMIG_TRY(StoreStart found, writer_->start());
  found.trouble = lost_;
  return found;
}

Result<Ok> Store::commit(const StoreBatch& batch) {
  const auto done = writer_->commit(batch);
  if (done && !marked_) mark_open();
  return done;
}

Result<Ok> Store::room_for(std::uint64_t bytes) { return writer_->room_for(bytes); }

// After the first commit the log is there and stays as long as this process. Without room for the mark there is none.
void Store::mark_open() {
  const std::string mark = path_ + kOpenMark;
  const int fd = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  ::close(fd);
  marked_ = true;
}

Result<std::vector<DamagedRow>> Store::damaged(int limit) { return readers_->damaged(limit); }
Result<std::vector<std::uint64_t>> Store::prune(const StoreKeep& keep) { return writer_->prune(keep); }

Result<std::optional<std::string>> Store::launch(std::uint64_t id) { return writer_->launch(id); }
void Store::keep_launches(std::uint64_t bytes_of_user) { writer_->keep_launches(bytes_of_user); }

Result<std::optional<JobRow>> Store::job(std::uint64_t id) { return readers_->job(id); }
Result<std::vector<JobRow>> Store::find(const StoreFind& find) { return readers_->find(find); }
Result<std::vector<JobEnd>> Store::ended(JobEnd after, std::int64_t before_us, int limit) {
  return readers_->ended(after, before_us, limit);
}
Result<std::vector<UsageRow>> Store::usage(const StoreUsage& usage) { return readers_->usage(usage); }

Result<std::vector<EventRow>> Store::events_after(std::uint64_t sequence, int limit) {
  return readers_->events_after(sequence, limit);
}
Result<Ok> Store::backup(const std::string& path) { return readers_->backup(path); }

std::uint64_t Store::bytes() const {
  std::uint64_t sum = 0;
  for (const char* suffix : {"", "-wal"}) sum += file_bytes(path_ + suffix);
  return sum;
}

}  // namespace smartmig
