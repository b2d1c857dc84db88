// The one connection that writes: transactions of the owner, and the pruning of what is too old, which gives way to
// them between its chunks. Thread rule: any thread; transactions take turns.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "queue/store/sqlite_db.h"
#include "queue/store/store_rows.h"

namespace smartmig {

class StoreWriter {
 public:
  static Result<std::unique_ptr<StoreWriter>> open(SqliteDb db, const StoreOptions& options);
  bool fold_log();  // all commits into the file. False: somebody reads, or the disk fails
  Result<StoreStart> start();
  Result<Ok> commit(const StoreBatch& batch);
  Result<Ok> room_for(std::uint64_t bytes);
  Result<std::optional<std::string>> launch(std::uint64_t id);
  void keep_launches(std::uint64_t bytes_of_user) { most_launch_bytes_ = bytes_of_user; }
  Result<std::vector<std::uint64_t>> prune(const StoreKeep& keep);

 private:
  explicit StoreWriter(SqliteDb db) : db_(std::move(db)) {}
  Result<Ok> prepare(const StoreOptions& options);
  Result<Ok> write(const StoreBatch& batch);
  Result<Ok> write_launches(const std::vector<LaunchRow>& launches);
  Result<Ok> trim_launches(std::uint32_t uid);
  Result<Ok> sum_launches();
  Result<Ok> room_in_file(std::uint64_t bytes);
  Result<Ok> room_on_disk(std::uint64_t bytes) const;
  void roll_back();
  template <class Work>
  Result<Ok> transaction(const Work& work);
  // store_prune.cc
  Result<Ok> keep_last_numbers();
  Result<bool> prune_events(std::int64_t before_us, std::uint64_t most);  // true: there may be more to remove
  Result<bool> prune_jobs(std::int64_t before_us, std::uint64_t most, std::vector<std::uint64_t>& removed);

  std::mutex writing_;
  SqliteDb db_;
  SqliteStatement begin_, commit_, put_job_, put_spec_, put_event_, put_value_, put_damaged_, put_launch_, get_launch_;
  std::atomic<std::uint64_t> most_launch_bytes_ = 0;
  std::map<std::uint32_t, std::int64_t> launch_bytes_;  // of each user, as stored
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
