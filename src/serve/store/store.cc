#include "serve/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "serve/store/store_readers.h"
#include "serve/store/store_schema.h"
#include "serve/store/store_writer.h"

namespace smartmig {

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const StoreOptions& options) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);  // before SQLite: its mode would be 0644
  if (fd < 0)
    return io_error("cannot open the store {}: {}; its directory must exist and be writable", path,
                    std::strerror(errno));
  ::close(fd);
  SMARTMIG_TRY(auto db, SqliteDb::open(path, SqliteDb::kReadWrite));
  SMARTMIG_TRY(const int version, schema_version(db));
  if (version > kStoreVersion) return newer_schema(path, version);
  if (version >= 0) {
    const auto whole = db.text("PRAGMA quick_check(1)");
    if (!whole || *whole != "ok")
      return io_error("the store {} is damaged ({}): put a backup in its place with smartmig restore FILE --state {}",
                      path, whole ? *whole : whole.error().what, path.substr(0, path.rfind('/')));
  }
  if (version < 0) SMARTMIG_RETURN_IF_ERROR(create_schema(db));
  if (version >= 0 && version < kStoreVersion) SMARTMIG_RETURN_IF_ERROR(migrate_schema(db, version));
  SMARTMIG_TRY(auto writer, StoreWriter::open(std::move(db), options));
  auto readers = std::make_unique<StoreReaders>(path, std::max(1, options.readers));
  return std::unique_ptr<Store>(new Store(path, std::move(writer), std::move(readers)));
}

Store::Store(std::string path, std::unique_ptr<StoreWriter> writer, std::unique_ptr<StoreReaders> readers)
    : path_(std::move(path)), writer_(std::move(writer)), readers_(std::move(readers)) {}
Store::~Store() = default;

Result<StoreStart> Store::start() { return writer_->start(); }
Result<Ok> Store::commit(const StoreBatch& batch) { return writer_->commit(batch); }
Result<std::vector<std::uint64_t>> Store::prune(const StoreKeep& keep) { return writer_->prune(keep); }

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
  for (const char* suffix : {"", "-wal"}) {
    struct stat file {};
    if (::stat((path_ + suffix).c_str(), &file) == 0) sum += std::uint64_t(file.st_size);
  }
  return sum;
}

}  // namespace smartmig
