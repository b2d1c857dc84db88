// The daemon's memory on disk: one SQLite file (WAL, synchronous=FULL). A job's row and the event that changed it are
// written in one transaction, so after any crash the rows are the state and the events its history. Rows of live jobs
// are all that a start has to read, whatever the history's length. The schema carries a version: a newer one is refused
// by name, an older one is migrated after a backup next to it. The file is readable by its owner alone: launches hold
// the environments of users. While commits may exist only in the write-ahead log, the file PATH-open exists; a start
// that finds it without the log reports this (StoreStart::trouble). Launches of ended jobs are kept up to a number of
// bytes for each user; above it, the commit of a new one removes the oldest. Thread rule: commit() from the owner
// thread; everything else from any thread. Readers (store_readers.h) have connections of their own; prune() gives way
// to commit() between its chunks (store_writer.h).
#pragma once
#include <memory>

#include "base/result.h"
#include "queue/store/store_rows.h"

namespace smartmig {

inline constexpr int kStoreVersion = 2;

class StoreReaders;
class StoreWriter;

class Store {
 public:
  // kInvalid: not ours, or of a newer schema. kIo: cannot be read or written, names the file.
  static Result<std::unique_ptr<Store>> open(const std::string& path, const StoreOptions& options = {});
  ~Store();
  Result<StoreStart> start();
  // All or nothing, on the disk when it returns. kIo (full disk, read-only): nothing of it was stored.
  Result<Ok> commit(const StoreBatch& batch);
  // There is room for a commit of this many bytes: room is made, as far as the file system can, and kept. kIo, kBusy:
  // it would not, and nothing was changed.
  Result<Ok> room_for(std::uint64_t bytes);
  Result<std::optional<std::string>> launch(std::uint64_t id);
  void keep_launches(std::uint64_t bytes_of_user);  // 0: any number, as before the first call
  Result<std::optional<JobRow>> job(std::uint64_t id);
  Result<std::vector<JobRow>> find(const StoreFind& find);
  // Final jobs that ended after `after` and before this instant, the oldest first.
  Result<std::vector<JobEnd>> ended(JobEnd after, std::int64_t before_us, int limit);
  Result<std::vector<EventRow>> events_after(std::uint64_t sequence, int limit);
  Result<std::vector<UsageRow>> usage(const StoreUsage& usage);
  // Removes events and final jobs that `keep` does not keep. Live jobs stay. Returns the ids of removed jobs, so that
  // their logs can go too.
  Result<std::vector<std::uint64_t>> prune(const StoreKeep& keep);
  Result<Ok> backup(const std::string& path);  // writes a complete, consistent copy to a new file while the daemon runs
  // Rows of the table `damaged`, the newest first.
  Result<std::vector<DamagedRow>> damaged(int limit);
  std::uint64_t bytes() const;  // on the disk, with the write-ahead log

 private:
  Store(std::string path, std::unique_ptr<StoreWriter> writer, std::unique_ptr<StoreReaders> readers);
  void mark_open();

  std::string path_;
  std::string lost_;     // what an earlier process committed and somebody removed, in words
  bool marked_ = false;  // PATH-open exists: the write-ahead log holds commits
  std::unique_ptr<StoreWriter> writer_;
  std::unique_ptr<StoreReaders> readers_;
};

// Puts a checked copy of `backup` in the place of `path`; what was there is kept as PATH.replaced. kBusy: a daemon has
// `path` open. Any other error: `path` is as it was.
Result<Ok> restore_store(const std::string& backup, const std::string& path);

}  // namespace smartmig
