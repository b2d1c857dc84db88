#include "queue/store/job_rows.h"

namespace smartmig {

std::string select_jobs(const char* index, std::string_view where) {
  return fmt::format(
      "SELECT j.id, j.uid, j.status, j.final, j.submitted_us, j.ended_us, j.state, coalesce(s.spec,''), "
      "j.launch, coalesce(l.bytes,0) "
      "FROM jobs j {} LEFT JOIN specs s ON s.job=j.id LEFT JOIN launches l ON l.id=j.launch WHERE {}",
      index, where);
}

JobRow job_row(const SqliteStatement& at) {
  JobRow row;
  row.id = std::uint64_t(at.integer(0));
  row.uid = std::uint32_t(at.integer(1));
  row.status = int(at.integer(2));
  row.final = at.integer(3) != 0;
  row.submitted_us = at.integer(4);
  row.ended_us = at.integer(5);
  row.state = at.text(6);
  row.spec = at.text(7);
  row.launch = std::uint64_t(at.integer(8));
  row.launch_bytes = std::uint64_t(at.integer(9));
  return row;
}

Result<std::vector<JobRow>> job_rows(SqliteStatement& statement) {
  std::vector<JobRow> rows;
  for (;;) {
    SMARTMIG_TRY(const bool more, statement.step());
    if (!more) return rows;
    rows.push_back(job_row(statement));
  }
}

}  // namespace smartmig
