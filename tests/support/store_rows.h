// Rows and stores for tests of the daemon's store.
#pragma once
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "queue/job_record.h"
#include "queue/store/store.h"
#include "support/temp_dir.h"

namespace smartmig::store_test {

inline JobRow row(std::uint64_t id, JobStatus status, std::uint32_t uid = 1000) {
  JobRow job;
  job.id = id;
  job.uid = uid;
  job.status = int(status);
  job.final = is_final(status);
  job.submitted_us = std::int64_t(id) * 1000;
  job.ended_us = job.final ? job.submitted_us + 500 : -1;
  job.spec = fmt::format("{{\"command\":[\"job\",\"{}\"]}}", id);
  job.state = fmt::format("{{\"status\":{}}}", int(status));
  return job;
}

inline EventRow event(std::uint64_t sequence) {
  return {sequence, std::int64_t(sequence) * 10, fmt::format("{{\"seq\":{}}}", sequence)};
}

inline std::unique_ptr<Store> must_open(const std::string& path, const StoreOptions& options = {}) {
  auto store = Store::open(path, options);
  EXPECT_TRUE(store) << (store ? "" : store.error().what);
  return store ? std::move(*store) : nullptr;
}

inline void run_sql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_close(db);
}

inline std::vector<std::uint64_t> found_ids(const Result<std::vector<JobRow>>& rows) {
  std::vector<std::uint64_t> list;
  EXPECT_TRUE(rows);
  if (rows)
    for (const JobRow& r : *rows) list.push_back(r.id);
  return list;
}

using Ids = std::vector<std::uint64_t>;

}  // namespace smartmig::store_test
