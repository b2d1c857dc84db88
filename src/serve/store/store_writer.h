// The one connection that writes: transactions of the owner, and the pruning of what is too old, which gives way to
// them between its chunks. Thread rule: any thread; transactions take turns.
#pragma once
#include <mutex>

#include "serve/store/sqlite_db.h"
#include "serve/store/store_rows.h"

namespace smartmig {

class StoreWriter {
 public:
  static Result<std::unique_ptr<StoreWriter>> open(SqliteDb db, const StoreOptions& options);
  bool fold_log();  // all commits into the file. False: somebody reads, or the disk fails
  Result<StoreStart> start();
  Result<Ok> commit(const StoreBatch& batch);
  Result<std::vector<std::uint64_t>> prune(const StoreKeep& keep);

 private:
  explicit StoreWriter(SqliteDb db) : db_(std::move(db)) {}
  Result<Ok> prepare(const StoreOptions& options);
  Result<Ok> write(const StoreBatch& batch);
  void roll_back();
  template <class Work>
  Result<Ok> transaction(const Work& work);
  // store_prune.cc
  Result<Ok> keep_last_numbers();
  Result<bool> prune_events(std::int64_t before_us, std::uint64_t most);  // true: there may be more to remove
  Result<bool> prune_jobs(std::int64_t before_us, std::uint64_t most, std::vector<std::uint64_t>& removed);

  std::mutex writing_;
  SqliteDb db_;
  SqliteStatement begin_, commit_, put_job_, put_spec_, put_event_, put_value_, put_damaged_;
};

template <class Work>
Result<Ok> StoreWriter::transaction(const Work& work) {
  const std::scoped_lock lock(writing_);
  Result<Ok> done = begin_.run();
  if (done) done = work();
  if (done) done = commit_.run();
  if (!done) roll_back();
  return done;
}

}  // namespace smartmig
