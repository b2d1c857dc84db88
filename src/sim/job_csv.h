// Reads and writes the project's own job file. The header is exactly
//   job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s
// followed by ,log_slowdown,beside if neighbours slow jobs (Job::crowding).
// Times are absolute seconds, to the microsecond. An empty field is unknown or none; an empty work field says that the
// job does not run on that size. Comment lines before the header may say "# gpu=a100-40gb" and "# days=1". Reading a
// written file gives the same jobs.
#pragma once
#include <string>

#include "base/file.h"
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> read_job_csv(LineReader lines, const LoadOptions& options = {});

// Refuses work on a size without a column, and names that a CSV line cannot hold.
Result<std::string> to_job_csv(const Workload& workload);

}  // namespace smartmig
