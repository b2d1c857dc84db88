// What is too old, or too much, goes in chunks of a few milliseconds.
#include "queue/store/store_writer.h"

namespace smartmig {
namespace {

constexpr int kPruneChunk = 500;  // rows that one transaction removes

}  // namespace

Result<std::vector<std::uint64_t>> StoreWriter::prune(const StoreKeep& keep) {
  std::vector<std::uint64_t> removed;
  SMARTMIG_RETURN_IF_ERROR(keep_last_numbers());
  for (bool more = true; more;) {
    SMARTMIG_TRY(more, prune_events(keep.events_from_us, keep.max_events));
  }
  for (bool more = true; more;) {
    SMARTMIG_TRY(more, prune_jobs(keep.jobs_from_us, keep.max_jobs, removed));
  }
  return removed;
}

Result<Ok> StoreWriter::keep_last_numbers() {  // numbers are never given twice, even where every row goes
  return transaction([&] {
    return db_.run(
        "UPDATE meta SET value=max(CAST(value AS INTEGER),(SELECT coalesce(max(id),0) FROM jobs)) WHERE "
        "key='last_job';"
        "UPDATE meta SET value=max(CAST(value AS INTEGER),(SELECT coalesce(max(sequence),0) FROM events)) "
        "WHERE key='last_event'");
  });
}

// From the oldest on: a removed event never leaves a gap behind a kept one.
Result<bool> StoreWriter::prune_events(std::int64_t before_us, std::uint64_t most) {
  bool more = false;
  const auto done = transaction([&]() -> Result<Ok> {
    SMARTMIG_TRY(const auto first, db_.number("SELECT coalesce(min(sequence),0) FROM events"));
    SMARTMIG_TRY(const auto last, db_.number("SELECT coalesce(max(sequence),0) FROM events"));
    if (last == 0) return Ok{};
    const std::int64_t too_many =
        std::max<std::int64_t>(0, last - first + 1 - std::int64_t(std::min<std::uint64_t>(most, INT64_MAX)));
    SMARTMIG_TRY(auto old, SqliteStatement::prepare(db_,
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
    SMARTMIG_TRY(auto remove, SqliteStatement::prepare(db_, "DELETE FROM events WHERE sequence<?1"));
    more = count == kPruneChunk;
    return remove.bind(1, first + count).run();
  });
  if (!done) return done.error();
  return more;
}

Result<bool> StoreWriter::prune_jobs(std::int64_t before_us, std::uint64_t most, std::vector<std::uint64_t>& removed) {
  bool more = false;
  const std::size_t before = removed.size();
  const auto done = transaction([&]() -> Result<Ok> {
    SMARTMIG_TRY(const auto kept, db_.number("SELECT count(*) FROM jobs WHERE final=1"));
    const std::int64_t too_many =
        std::max<std::int64_t>(0, kept - std::int64_t(std::min<std::uint64_t>(most, INT64_MAX)));
    SMARTMIG_TRY(auto oldest, SqliteStatement::prepare(
                                  db_, "SELECT id, ended_us FROM jobs WHERE final=1 ORDER BY ended_us LIMIT ?1"));
    oldest.bind(1, std::int64_t(kPruneChunk));
    for (std::int64_t count = 0; count < kPruneChunk; ++count) {
      SMARTMIG_TRY(const bool there, oldest.step());
      if (!there || (count >= too_many && oldest.integer(1) >= before_us)) break;
      removed.push_back(std::uint64_t(oldest.integer(0)));
    }
    oldest.reset();
    SMARTMIG_TRY(auto job, SqliteStatement::prepare(db_, "DELETE FROM jobs WHERE id=?1"));
    // Of an array the last row takes it along.
    SMARTMIG_TRY(auto launch,
                 SqliteStatement::prepare(db_,
                                          "DELETE FROM launches WHERE id=(SELECT launch FROM jobs WHERE id=?1) AND NOT "
                                          "EXISTS(SELECT 1 FROM jobs j WHERE j.launch=launches.id AND j.id<>?1)"));
    SMARTMIG_TRY(auto spec, SqliteStatement::prepare(db_, "DELETE FROM specs WHERE job=?1"));
    for (std::size_t i = before; i < removed.size(); ++i) {
      SMARTMIG_RETURN_IF_ERROR(launch.bind(1, std::int64_t(removed[i])).run());
      SMARTMIG_RETURN_IF_ERROR(job.bind(1, std::int64_t(removed[i])).run());
      SMARTMIG_RETURN_IF_ERROR(spec.bind(1, std::int64_t(removed[i])).run());
    }
    more = removed.size() - before == std::size_t(kPruneChunk);
    return removed.size() == before ? Result<Ok>(Ok{}) : sum_launches();
  });
  if (!done) {
    removed.resize(before);
    return done.error();
  }
  return more;
}

}  // namespace smartmig
