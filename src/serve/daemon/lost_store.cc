#include "serve/daemon/lost_store.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/errors.h"
#include "live/jobs/spool.h"
#include "queue/store/store_schema.h"

namespace smartmig {

namespace {

// A database that was begun and never filled. What cannot be read is no matter of this check.
bool is_without_tables(const std::string& path) {
  auto db = SqliteDb::open(path, SqliteDb::kReadOnly);
  const auto version = db ? schema_version(*db) : Result<int>(db.error());
  return version && *version < 0;
}

}  // namespace

Result<Ok> check_store_is_there(const std::string& path, const std::string& spool_directory) {
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) > 0 && !ignored && !is_without_tables(path)) return Ok{};
  if (!std::filesystem::is_directory(spool_directory, ignored)) return Ok{};
  SMARTMIG_TRY(const Spool spool, Spool::open(spool_directory));
  std::vector<std::uint64_t> jobs = spool.jobs();
  if (jobs.empty()) return Ok{};
  std::sort(jobs.begin(), jobs.end());
  std::vector<std::string> living;
  for (const std::uint64_t job : jobs)
    for (const AttemptId id : spool.attempts(job)) {
      const auto record = spool.read_record(id);
      if (record && record->boot_id == this_boot() && start_ticks_of(record->pid) == record->start_ticks)
        living.push_back(fmt::format("job {} (supervisor {})", job, record->pid));
    }
  const std::size_t count = living.size();
  if (count > 10) living.resize(10);
  return invalid(
      "the queue {} is {}, but {} has files of {} jobs; {} of them run{}{}. Restore a backup "
      "with smartmig restore FILE --state {}. Without a backup, smartmig serve --new-queue "
      "builds a new queue from the spool: it takes over running jobs, lists ended ones, and loses waiting ones",
      path, std::filesystem::exists(path, ignored) ? "empty" : "missing", spool_directory, jobs.size(), count,
      count > 0 ? ": " : "", fmt::join(living, ", "), std::filesystem::path(path).parent_path().string());
}

}  // namespace smartmig
