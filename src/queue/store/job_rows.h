// Reading rows of the table of jobs, for the writer's connection and for the readers'.
#pragma once
#include "queue/store/sqlite_db.h"
#include "queue/store/store_rows.h"

namespace smartmig {

inline constexpr const char* kLive = "INDEXED BY jobs_live";  // few rows, however long the history

std::string select_jobs(const char* index, std::string_view where);
JobRow job_row(const SqliteStatement& at);  // of a statement made by select_jobs()
Result<std::vector<JobRow>> job_rows(SqliteStatement& statement);

}  // namespace smartmig
