// The daemon's memory on disk: one SQLite file (WAL, synchronous=FULL). A job's row and the event that changed it are
// written in one transaction, so after any crash the rows are the state and the events its history. Rows of live jobs
// are all that a start has to read, whatever the history's length. The schema carries a version: a newer one is refused
// by name, an older one is migrated after a backup beside it. The file is readable by its owner alone: specs hold the
// environments of users.
// Thread rule: commit() from the owner thread; everything else from any thread. Readers (find, job, events_after,
// backup) have connections of their own; prune() gives way to commit() between its chunks.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

inline constexpr int kStoreVersion = 1;

struct JobRow {
  std::uint64_t id = 0;
  std::uint32_t uid = 0;
  int status = 0;  // JobStatus
  bool final = false;
  std::int64_t submitted_us = 0, ended_us = -1;
  std::string spec;   // JSON, written once: empty in a commit leaves what is stored
  std::string state;  // JSON: all else of the record
};

struct EventRow {
  std::uint64_t sequence = 0;  // increasing without gaps
  std::int64_t at_us = 0;
  std::string line;  // one JSON line of the journal, without newline
};

struct StoreBatch {
  std::vector<JobRow> jobs;
  std::vector<EventRow> events;
  std::map<std::string, std::string> values;  // small named values: clock origin, energy meters, history of kinds
  bool empty() const { return jobs.empty() && events.empty() && values.empty(); }
  void clear() {
    jobs.clear();
    events.clear();
    values.clear();
  }
};

struct StoreFind {
  std::optional<std::uint32_t> uid;
  std::optional<int> status;
  std::optional<bool> final;
  std::uint64_t after = 0;  // ids above (oldest first) or below (newest first, 0: no limit) this one
  bool newest_first = false;
  int limit = 1000;
};

struct StoreStart {
  std::vector<JobRow> live;  // by id, with specs
  std::map<std::string, std::string> values;
  std::uint64_t last_job = 0, last_event = 0;  // ever given, whatever was pruned since
};

struct StoreOptions {
  std::uint64_t max_bytes = 0;  // of the file; a commit beyond it fails as on a full disk. 0: no limit
  int readers = 4;              // connections for readers, opened when needed
};

class Store {
 public:
  // kInvalid: not ours, or of a newer schema. kIo: cannot be read or written, names the file.
  static Result<std::unique_ptr<Store>> open(const std::string& path, const StoreOptions& options = {});
  virtual ~Store() = default;
  virtual Result<StoreStart> start() = 0;
  // All or nothing, on the disk when it returns. kIo (full disk, read-only): nothing of it was stored.
  virtual Result<Ok> commit(const StoreBatch& batch) = 0;
  virtual Result<std::optional<JobRow>> job(std::uint64_t id) = 0;
  virtual Result<std::vector<JobRow>> find(const StoreFind& find) = 0;
  virtual Result<std::vector<EventRow>> events_after(std::uint64_t sequence, int limit) = 0;
  // Removes events and final jobs older than `before_us`, and the oldest beyond these counts. Live jobs stay. Returns
  // the ids of removed jobs, so that their logs can go too.
  virtual Result<std::vector<std::uint64_t>> prune(std::int64_t before_us, std::uint64_t max_events,
                                                   std::uint64_t max_jobs) = 0;
  virtual Result<Ok> backup(const std::string& path) = 0;  // a whole, consistent copy, while work goes on; a new file
  virtual std::uint64_t bytes() const = 0;                 // on the disk, with the write-ahead log
};

// Puts a checked copy of `backup` in the place of `path`; what was there is kept as PATH.replaced. kBusy: a daemon has
// `path` open. Any other error: `path` is as it was.
Result<Ok> restore_store(const std::string& backup, const std::string& path);

}  // namespace smartmig
