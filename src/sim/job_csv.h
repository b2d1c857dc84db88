// The project's own job file, in and out. Header exactly
//   job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s
// and, where neighbours slow jobs (Job::crowding), ,log_slowdown,beside after it.
// Times are absolute seconds, to the microsecond; an empty field is unknown or none, an empty work field says that the
// job does not run on that size. Comment lines before the header may say "# gpu=a100-40gb" and "# days=1". Reading what
// was written gives the same jobs.
#pragma once
#include <string>

#include "base/file.h"
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> read_job_csv(LineReader lines, const LoadOptions& options = {});

// Refuses work on a size that has no column, and names no CSV line can hold.
Result<std::string> to_job_csv(const Workload& workload);

}  // namespace smartmig
