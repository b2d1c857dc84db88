#include "report/run_dir.h"

#include "base/file.h"
#include "base/json.h"
#include "report/html_report.h"
#include "report/journal.h"
#include "report/tables.h"
#include "report/trace.h"

namespace smartmig {

Result<Ok> write_run_dir(const std::string& path, const RunRecord& run, const RunDirOptions& options) {
  if (options.report && !run.events)
    return invalid(
        "{}: a report needs the journal, which fleets of more than {} GPUs keep only with "
        "--journal",
        path, kMaxJournalGpus);
  SMARTMIG_TRY(OutputDir dir, OutputDir::create(path, options.force));
  std::string rules;
  for (const std::string& rule : run.jobs->workload().rules) rules += valid_utf8(rule) + "\n";
  SMARTMIG_RETURN_IF_ERROR(dir.add("config.toml", config_toml(run)));
  SMARTMIG_RETURN_IF_ERROR(dir.add("rules.txt", rules));
  SMARTMIG_RETURN_IF_ERROR(dir.add("jobs.csv", jobs_csv(run)));
  SMARTMIG_RETURN_IF_ERROR(dir.add("schedule.json", schedule_json(run)));
  SMARTMIG_RETURN_IF_ERROR(dir.add("timing.json", timing_json(run)));
  if (run.events) {
    const Timeline line = timeline_of(run);
    SMARTMIG_RETURN_IF_ERROR(dir.add("journal.jsonl", journal_text(run)));
    SMARTMIG_RETURN_IF_ERROR(dir.add("trace.json", trace_json(run, line)));
    SMARTMIG_RETURN_IF_ERROR(dir.add("partition_changes.csv", partition_changes_csv(run, line)));
    SMARTMIG_RETURN_IF_ERROR(dir.add("machine_states.csv", machine_states_csv(run, line)));
    SMARTMIG_RETURN_IF_ERROR(dir.add("consumed_energy.csv", consumed_energy_csv(run, line)));
    if (options.report) SMARTMIG_RETURN_IF_ERROR(dir.add("report.html", html_report(run, line, options.extras)));
  }
  return dir.commit();
}

}  // namespace smartmig
